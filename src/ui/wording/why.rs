use lodestone::data::Hit;

use super::count;

/// Why a hit stands where it stands, a sentence a line.
pub fn why_lines(hit: &Hit) -> Vec<String> {
    let by_meaning = hit.why.semantic.as_ref().map_or_else(
        || "By meaning: not among the closest passages.".to_owned(),
        |why| {
            let closeness = closeness(why.score);
            format!("By meaning: {}, {closeness} ({:.2}).", place(why.rank), why.score)
        },
    );
    let by_words = hit.why.keyword.as_ref().map_or_else(
        || "By words: no word of the query stands here.".to_owned(),
        |why| {
            let terms: Vec<String> = why.terms.iter().map(|term| format!("“{term}”")).collect();
            let holds = if terms.is_empty() {
                String::new()
            } else {
                format!(", holds {}", terms.join(", "))
            };
            format!("By words: {}{holds}.", place(why.rank))
        },
    );
    let ordinal = u64::from(hit.passage.chunk.ordinal) + 1;
    vec![by_meaning, by_words, format!("Shown is passage {} of the document.", count(ordinal))]
}

/// Cosine similarity in words; the steps are where all-MiniLM-L6-v2 separates paraphrases, same
/// topic and chance.
fn closeness(cosine: f32) -> &'static str {
    match cosine {
        0.6.. => "very close",
        0.45..0.6 => "close",
        0.3..0.45 => "related",
        _ => "loosely related",
    }
}

fn place(rank: Option<usize>) -> String {
    rank.map_or_else(
        || "further down than was looked".to_owned(),
        |rank| format!("{} of all passages", nth(rank)),
    )
}

fn nth(rank: usize) -> String {
    let ending = match (rank % 10, rank % 100) {
        (1, tens) if tens != 11 => "st",
        (2, tens) if tens != 12 => "nd",
        (3, tens) if tens != 13 => "rd",
        _ => "th",
    };
    format!("{}{ending}", count(rank as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture;

    #[test]
    fn ranks_take_their_endings() {
        let all: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 112].into_iter().map(nth).collect();
        assert_eq!(all, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th"]);
    }

    #[test]
    fn both_lists_are_told_in_plain_words() {
        let lines = why_lines(&fixture::hit("a.md", "Rc counts its owners."));
        assert_eq!(lines[0], "By meaning: 1st of all passages, close (0.52).");
        assert_eq!(lines[1], "By words: 2nd of all passages, holds “owners”.");
        assert_eq!(lines[2], "Shown is passage 1 of the document.");
    }
}
