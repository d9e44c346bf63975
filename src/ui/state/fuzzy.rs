//! How well a few typed letters fit a name.

/// What a letter is worth: at the start of a word, right behind the letter before it, or anywhere.
const WORD: i32 = 8;
const BEHIND: i32 = 6;
const ANYWHERE: i32 = 1;
/// For a name that begins with what was typed, and for one that is it.
const PREFIX: i32 = 12;
const WHOLE: i32 = 20;

/// How well `typed` fits `name`: its letters stand in it in this order. `None` when they do not; nothing
/// typed fits everything alike.
pub fn score(typed: &str, name: &str) -> Option<i32> {
    let letters: Vec<char> = letters_of(typed);
    if letters.is_empty() {
        return Some(0);
    }
    let name: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
    let places = places(&letters, &name)?;
    let mut score = 0;
    for (at, place) in places.iter().enumerate() {
        score += match (starts_word(&name, *place), at > 0 && places[at - 1] + 1 == *place) {
            (true, _) => WORD,
            (false, true) => BEHIND,
            (false, false) => ANYWHERE,
        };
    }
    if name.starts_with(&letters) {
        score += if name.len() == letters.len() { WHOLE } else { PREFIX };
    }
    // Of two names that fit alike the shorter one.
    Some(score * 64 - i32::try_from(name.len().min(63)).unwrap_or(63))
}

/// Which characters of `name` are the typed ones.
pub fn letters(typed: &str, name: &str) -> Vec<usize> {
    let typed = letters_of(typed);
    // By characters of the name as it is shown, whose lower case may be longer.
    let lower: Vec<char> =
        name.chars().map(|letter| letter.to_lowercase().next().unwrap_or(letter)).collect();
    places(&typed, &lower).unwrap_or_default()
}

fn letters_of(typed: &str) -> Vec<char> {
    typed.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Places of the letters: at the start of a word where one is left, for each run of letters that can be
/// found there, and else as early as can be.
fn places(letters: &[char], name: &[char]) -> Option<Vec<usize>> {
    let mut places = Vec::with_capacity(letters.len());
    let mut from = 0;
    for (at, letter) in letters.iter().enumerate() {
        let rest = |from: usize| fits(&letters[at + 1..], &name[(from + 1).min(name.len())..]);
        let all = (from..name.len()).filter(|place| name[*place] == *letter);
        let mut here = None;
        for place in all {
            let is_behind = places.last().is_some_and(|last| last + 1 == place);
            if !rest(place) {
                break;
            }
            if is_behind || starts_word(name, place) {
                here = Some(place);
                break;
            }
            here = here.or(Some(place));
        }
        let place = here?;
        places.push(place);
        from = place + 1;
    }
    Some(places)
}

/// Whether the letters stand in this order.
fn fits(letters: &[char], name: &[char]) -> bool {
    let mut name = name.iter();
    letters.iter().all(|letter| name.any(|held| held == letter))
}

fn starts_word(name: &[char], at: usize) -> bool {
    at == 0 || !name[at - 1].is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn better(typed: &str, one: &str, other: &str) {
        let (a, b) = (score(typed, one), score(typed, other));
        assert!(a > b, "{typed}: {one} {a:?}, {other} {b:?}");
    }

    #[test]
    fn starts_of_words_and_runs_are_worth_more() {
        better("lib", "Library", "Calibrate");
        better("it", "Index this", "Editing");
        better("set", "Settings", "Show every test");
        better("web", "Web", "Web sites of old");
        assert_eq!(score("ba", "ab"), None);
        assert_eq!(score("", "anything"), Some(0));
        assert_eq!(letters("it", "Index this"), [0, 6]);
    }

    proptest! {
        #[test]
        fn what_fits_is_there_in_this_order(typed in "[a-cÄ ]{0,6}", name in "[a-cÄ /]{0,12}") {
            let wanted: Vec<char> = letters_of(&typed);
            let held: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
            prop_assert_eq!(score(&typed, &name).is_some(), fits(&wanted, &held));
            let found = letters(&typed, &name);
            if score(&typed, &name).is_some() {
                let there: Vec<char> = found.iter().map(|at| held[*at]).collect();
                prop_assert_eq!(there, wanted);
                prop_assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
