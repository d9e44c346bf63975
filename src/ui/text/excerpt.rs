use std::ops::Range;

use lodestone::data::{MediaType, Passage};

use super::markdown;
use super::node::{Kind, Node};

/// Characters of prose on a card: about four lines.
const PROSE_CHARS: usize = 420;
/// Lines of code on a card.
const CODE_LINES: usize = 7;
/// Text before the best place that is still shown from the start.
const LEAD_BYTES: usize = 140;

/// The part of a passage that a card shows, with the words and the best sentence marked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Excerpt {
    pub is_code: bool,
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    pub matched: bool,
    pub sentence: bool,
}

impl Excerpt {
    pub fn of(passage: &Passage, media_type: MediaType) -> Self {
        match media_type {
            MediaType::Code => Self { is_code: true, pieces: code(passage) },
            MediaType::Markdown
            | MediaType::Html
            | MediaType::Document
            | MediaType::Presentation
            | MediaType::Book
            | MediaType::Notebook => {
                let mut leaves = Vec::new();
                let blocks = markdown::blocks(&passage.text);
                flatten(skip_headings(&blocks), &mut leaves);
                Self { is_code: false, pieces: prose(passage, &leaves) }
            }
            MediaType::Text
            | MediaType::Pdf
            | MediaType::Spreadsheet
            | MediaType::Email
            | MediaType::Archive => {
                let leaves = [Leaf { range: 0..passage.text.len(), shown: None }];
                Self { is_code: false, pieces: prose(passage, &leaves) }
            }
        }
    }
}

/// Bytes of the passage in the order they are shown; `shown` stands for them where it differs.
struct Leaf {
    range: Range<usize>,
    shown: Option<String>,
}

/// Headings above the first words repeat what the card already names.
fn skip_headings(blocks: &[Node]) -> &[Node] {
    let words = blocks.iter().position(|block| {
        !matches!(block.kind, Kind::Heading(_) | Kind::Rule) && block.anchor(0).is_some()
    });
    &blocks[words.unwrap_or(0)..]
}

fn flatten(nodes: &[Node], leaves: &mut Vec<Leaf>) {
    for node in nodes {
        match &node.kind {
            Kind::Text => leaves.push(Leaf { range: node.range.clone(), shown: None }),
            Kind::Shown(shown) => {
                leaves.push(Leaf { range: node.range.clone(), shown: Some(shown.clone()) });
            }
            _ => flatten(&node.children, leaves),
        }
        if !node.is_inline() || node.kind == Kind::Break {
            let end = node.range.end;
            leaves.push(Leaf { range: end..end, shown: Some(" ".to_owned()) });
        }
    }
}

fn prose(passage: &Passage, leaves: &[Leaf]) -> Vec<Piece> {
    let first = leaves.first().map_or(0, |leaf| leaf.range.start);
    let start = start_of(passage, first);
    let mut pieces = Pieces::new(passage);
    if start > first {
        pieces.push("… ", start..start);
    }
    for leaf in leaves.iter().filter(|leaf| leaf.range.end > start || leaf.range.is_empty()) {
        if pieces.chars >= PROSE_CHARS {
            break;
        }
        match &leaf.shown {
            Some(shown) => pieces.push(shown, leaf.range.clone()),
            None => pieces.push_text(leaf.range.start.max(start)..leaf.range.end),
        }
    }
    pieces.done
}

/// Where the excerpt starts so that the best sentence, or else the first word, is in sight.
fn start_of(passage: &Passage, first: usize) -> usize {
    let text = &passage.text;
    let word = passage.matches.first().map(|word| word.start);
    match (passage.sentence, word) {
        (Some(sentence), _) if sentence.start > first + LEAD_BYTES => sentence.start,
        (None, Some(word)) if word > first + 2 * LEAD_BYTES => {
            let from = text.floor_char_boundary(word.saturating_sub(LEAD_BYTES / 2));
            let space = text[from..word].find(char::is_whitespace);
            space.map_or(word, |at| text.ceil_char_boundary(from + at + 1))
        }
        _ => first,
    }
}

/// Lines around the best place with their common indentation taken off.
fn code(passage: &Passage) -> Vec<Piece> {
    let text = &passage.text;
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        lines.push(start..start + line.trim_end_matches(['\n', '\r']).len());
        start += line.len();
    }
    let focus = passage.sentence.or_else(|| passage.matches.first().copied());
    let focus = focus.map_or(0, |focus| {
        lines.partition_point(|line| line.end < focus.start).min(lines.len().saturating_sub(1))
    });
    let blank = |line: &Range<usize>| text[line.clone()].trim().is_empty();
    let mut first = focus.saturating_sub(1).min(lines.len().saturating_sub(CODE_LINES / 2));
    while first < focus && blank(&lines[first]) {
        first += 1;
    }
    let shown = &lines[first..(first + CODE_LINES).min(lines.len())];
    let indent = |line: &Range<usize>| line.len() - text[line.clone()].trim_start().len();
    // The first line of a passage has lost its indentation, so it has no say.
    let counted = |line: &&Range<usize>| !blank(line) && line.start > 0;
    let common = shown.iter().filter(counted).map(indent).min().unwrap_or(0);
    let mut pieces = Pieces::new(passage);
    for (at, line) in shown.iter().enumerate() {
        if at > 0 {
            pieces.push("\n", line.start..line.start);
        }
        if !blank(line) {
            pieces.push_text(line.start + common.min(indent(line))..line.end);
        }
    }
    pieces.done
}

struct Pieces<'a> {
    passage: &'a Passage,
    /// A passage from the middle of a table is rows without a head, which no parser takes for a
    /// table; its bars are shown as dots.
    is_rows: bool,
    done: Vec<Piece>,
    chars: usize,
}

impl<'a> Pieces<'a> {
    fn new(passage: &'a Passage) -> Self {
        let is_rows = passage.text.trim_start().starts_with('|');
        Self { passage, is_rows, done: Vec::new(), chars: 0 }
    }

    /// Bytes of the passage as they are, cut at every mark.
    fn push_text(&mut self, range: Range<usize>) {
        let marks = self.passage.matches.iter().chain(&self.passage.sentence);
        let mut cuts: Vec<usize> = marks
            .flat_map(|mark| [mark.start, mark.end])
            .filter(|cut| range.start < *cut && *cut < range.end)
            .collect();
        cuts.extend([range.start, range.end]);
        cuts.sort_unstable();
        cuts.dedup();
        for cut in cuts.windows(2) {
            // A mark that splits a character is not ours to trust; the text is shown unmarked.
            match self.passage.text.get(cut[0]..cut[1]) {
                Some(text) => self.push(text, cut[0]..cut[1]),
                None => return self.push(&self.passage.text[range.clone()], range),
            }
        }
    }

    fn push(&mut self, text: &str, range: Range<usize>) {
        let holds = |mark: &lodestone::data::TextRange| {
            !range.is_empty() && mark.start <= range.start && range.end <= mark.end
        };
        let text = if text.contains('\n') && text.trim().is_empty() { "\n" } else { text };
        let text = if self.is_rows { text.replace('|', "·") } else { text.to_owned() };
        let text = if self.done.is_empty() { text.trim_start_matches(['·', ' ']) } else { &text };
        let matched = self.passage.matches.iter().any(holds);
        // A space between blocks belongs to the sentence when it goes on after it.
        let sentence = self.passage.sentence.as_ref().is_some_and(holds);
        self.chars += text.chars().count();
        match self.done.last_mut() {
            Some(last) if last.matched == matched && last.sentence == sentence => {
                last.text.push_str(text);
            }
            _ => self.done.push(Piece { text: text.to_owned(), matched, sentence }),
        }
    }
}

#[cfg(test)]
mod tests {
    use lodestone::data::TextRange;

    use super::*;
    use crate::ui::fixture;

    fn passage(text: &str, sentence: Option<&str>, matches: &[&str]) -> Passage {
        let find = |needle: &str| {
            let start = text.find(needle).unwrap();
            TextRange { start, end: start + needle.len() }
        };
        let mut passage = fixture::passage(0);
        passage.text = text.to_owned();
        passage.range = TextRange { start: 0, end: text.len() };
        passage.sentence = sentence.map(find);
        passage.matches = matches.iter().map(|word| find(word)).collect();
        passage
    }

    /// `[…]` around the sentence, `*…*` around words.
    fn shown(passage: &Passage, media_type: MediaType) -> String {
        let mut out = String::new();
        for piece in Excerpt::of(passage, media_type).pieces {
            let word = if piece.matched { "*" } else { "" };
            let (open, close) = if piece.sentence { ("[", "]") } else { ("", "") };
            out.extend([open, word, &piece.text, word, close]);
        }
        out.replace("][", "")
    }

    #[test]
    fn markup_goes_and_marks_stay() {
        let text = "## Owners\n\nUse `Rc<T>` for *many* owners. It counts.\n\n- one\n- two";
        let passage = passage(text, Some("It counts."), &["owners"]);
        assert_eq!(
            shown(&passage, MediaType::Markdown).trim_end(),
            "Use Rc<T> for many *owners*. [It counts.] one two"
        );
    }

    #[test]
    fn an_excerpt_starts_near_the_best_sentence() {
        let text = format!("{} Here it is told. And more.", "Filler words go on. ".repeat(20));
        let passage = passage(&text, Some("Here it is told."), &["told"]);
        assert_eq!(shown(&passage, MediaType::Text), "… [Here it is *told*.] And more.");
    }

    #[test]
    fn an_excerpt_of_a_heading_alone_shows_the_heading() {
        let passage = passage("# Only a title", None, &["title"]);
        assert_eq!(shown(&passage, MediaType::Markdown).trim_end(), "Only a *title*");
    }

    #[test]
    fn code_keeps_lines_around_the_match_without_common_indentation() {
        let text = (0..20).fold(String::new(), |text, at| text + &format!("    step{at:02}();\n"));
        let passage = passage(&text, None, &["step10"]);
        let shown = shown(&passage, MediaType::Code);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), CODE_LINES);
        assert_eq!(lines[..2], ["step09();", "*step10*();"]);
    }

    #[test]
    fn rows_of_a_table_read_as_a_line() {
        let passage = passage("| tensors | candle |\n| text | tokens |", None, &["candle"]);
        assert_eq!(
            shown(&passage, MediaType::Markdown).trim_end(),
            "tensors · *candle* · · text · tokens ·"
        );
    }

    #[test]
    fn a_long_passage_is_cut() {
        let text = "One sentence after another. ".repeat(200);
        let excerpt = Excerpt::of(&passage(&text, None, &[]), MediaType::Markdown);
        assert!(!excerpt.pieces.is_empty());
    }
}
