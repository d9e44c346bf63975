use std::cmp::Ordering;

use lodestone::engine::LibraryEntry;

use crate::ui::wording::type_name;

/// What the documents can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Column {
    #[default]
    Title,
    Status,
    Kind,
    Passages,
    Size,
    Indexed,
}

impl Column {
    pub const ALL: [Self; 6] =
        [Self::Title, Self::Status, Self::Kind, Self::Passages, Self::Size, Self::Indexed];

    /// Whether the first press puts the largest first: most, biggest, newest, and what has trouble.
    fn begins_descending(self) -> bool {
        matches!(self, Self::Passages | Self::Size | Self::Indexed | Self::Status)
    }
}

/// The order of the documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sort {
    pub column: Column,
    pub descending: bool,
}

impl Sort {
    /// The order after a press on the head of a column.
    pub fn pressed(self, column: Column) -> Self {
        let descending =
            if column == self.column { !self.descending } else { column.begins_descending() };
        Self { column, descending }
    }

    /// Puts positions in `entries` into this order. Equal rows are in the order of their titles.
    pub fn apply(
        self,
        entries: &[LibraryEntry],
        rows: &mut [usize],
        is_outdated: &dyn Fn(&LibraryEntry) -> bool,
    ) {
        // Keys are made once: a title in lower case is a text of its own.
        let mut keyed: Vec<(String, usize)> =
            rows.iter().map(|at| (entries[*at].title.to_lowercase(), *at)).collect();
        keyed.sort_by(|(a_title, a), (b_title, b)| {
            let (a, b) = (&entries[*a], &entries[*b]);
            let by_column = match self.column {
                Column::Title => Ordering::Equal,
                Column::Status => is_outdated(a).cmp(&is_outdated(b)),
                Column::Kind => type_name(a.media_type).cmp(type_name(b.media_type)),
                Column::Passages => a.passages.cmp(&b.passages),
                Column::Size => a.bytes.cmp(&b.bytes),
                Column::Indexed => a.indexed_at.cmp(&b.indexed_at),
            };
            let by_title = a_title.cmp(b_title).then_with(|| a.source.cmp(&b.source));
            match (self.column, self.descending) {
                (Column::Title, true) => by_title.reverse(),
                (_, true) => by_column.reverse().then(by_title),
                (_, false) => by_column.then(by_title),
            }
        });
        for (row, (_, at)) in rows.iter_mut().zip(keyed) {
            *row = at;
        }
    }
}
