use lodestone::data::{Hit, Why};

use super::count;

/// Why a hit stands where it stands, a sentence a line. `by_words` tells whether words were asked for.
pub fn why_lines(hit: &Hit, by_words: bool) -> Vec<String> {
    let ordinal = u64::from(hit.passage.chunk.ordinal) + 1;
    let shown = format!("Shown is passage {} of the document.", count(ordinal));
    let Why { semantic, keyword } = &hit.why;
    if semantic.is_none() && keyword.is_none() {
        let listed = "Listed by its date: the query holds no words, only what narrows it.";
        return vec![listed.to_owned(), shown];
    }
    let sum: f32 = semantic.iter().map(|why| why.evidence).sum::<f32>()
        + keyword.iter().map(|why| why.evidence).sum::<f32>();
    // Of one kind of evidence there is nothing to divide.
    let share = |evidence: f32| {
        let percent = evidence / sum.max(f32::EPSILON) * 100.0;
        let both = semantic.is_some() && keyword.is_some();
        if both { format!("; {percent:.0} % of its score") } else { String::new() }
    };
    let meaning = semantic.as_ref().map_or_else(
        || "By meaning: not among the closest passages.".to_owned(),
        |why| {
            let (closeness, share) = (closeness(why.score), share(why.evidence));
            format!("By meaning: {}, {closeness} ({:.2}){share}.", place(why.rank), why.score)
        },
    );
    let words = keyword.as_ref().map_or_else(
        || "By words: no word of the query stands here.".to_owned(),
        |why| {
            let terms: Vec<String> = why.terms.iter().map(|term| format!("“{term}”")).collect();
            let holds = if terms.is_empty() {
                String::new()
            } else {
                format!(", holds {}", terms.join(", "))
            };
            format!("By words: {}{holds}{}.", place(why.rank), share(why.evidence))
        },
    );
    let weak = "Too far from the question to be counted as an answer.";
    let lines = std::iter::once(meaning).chain(by_words.then_some(words));
    lines.chain(hit.is_weak.then(|| weak.to_owned())).chain([shown]).collect()
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
        let mut hit = fixture::hit("a.md", "Rc counts its owners.");
        let lines = why_lines(&hit, true);
        let meaning = "By meaning: 1st of all passages, close (0.52); 74 % of its score.";
        let words = "By words: 2nd of all passages, holds “owners”; 26 % of its score.";
        assert_eq!(lines, [meaning, words, "Shown is passage 1 of the document."]);
        hit.why.keyword = None;
        hit.is_weak = true;
        let alone = why_lines(&hit, false);
        assert_eq!(alone[0], "By meaning: 1st of all passages, close (0.52).");
        assert!(alone[1].starts_with("Too far") && alone.len() == 3, "no words were asked for");
        hit.why.semantic = None;
        assert!(why_lines(&hit, true)[0].starts_with("Listed by its date"));
    }
}
