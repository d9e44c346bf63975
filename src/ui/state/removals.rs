use lodestone::data::{DocumentId, Source};

/// What was taken out of the list and can still be had back: it is forgotten for good a little later, so
/// that taking it back costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Removals {
    next: u64,
    waiting: Vec<(u64, Removal)>,
}

/// Documents that are to be forgotten together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    pub ids: Vec<DocumentId>,
    pub sources: Vec<Source>,
}

impl Removals {
    /// Lets a removal wait; gives its number.
    pub fn begin(&mut self, removal: Removal) -> u64 {
        self.next += 1;
        self.waiting.push((self.next, removal));
        self.next
    }

    /// Takes out a removal that waits, to carry it out or to forget it; `None` when that was done.
    pub fn end(&mut self, number: u64) -> Option<Removal> {
        let at = self.waiting.iter().position(|(waiting, _)| *waiting == number)?;
        Some(self.waiting.remove(at).1)
    }

    /// Takes out everything that waits, because the window closes.
    pub fn end_all(&mut self) -> Vec<Source> {
        self.waiting.drain(..).flat_map(|(_, removal)| removal.sources).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removal(path: &str) -> Removal {
        let source = Source::File(path.into());
        Removal { ids: vec![DocumentId::of(&source)], sources: vec![source] }
    }

    #[test]
    fn a_removal_is_carried_out_or_taken_back_once() {
        let mut removals = Removals::default();
        let (first, second) = (removals.begin(removal("/a")), removals.begin(removal("/b")));
        assert_eq!(removals.end(first), Some(removal("/a")));
        assert_eq!(removals.end(first), None, "the wish and the clock may come together");
        let third = removals.begin(removal("/c"));
        assert_ne!(second, third);
        assert_eq!(removals.end_all(), [Source::File("/b".into()), Source::File("/c".into())]);
        assert_eq!(removals.end(second), None);
    }
}
