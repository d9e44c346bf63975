//! Which language a text is in, as far as words are cut down to their stems.

mod function_words;

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use tantivy::tokenizer::Language as Stemming;

/// A language that has a stemmer. A text in any other is stemmed as English, which leaves words that
/// are not English nearly as they are; so are names, numbers and source code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Language {
    Arabic,
    Danish,
    Dutch,
    #[default]
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
}

use Language::{
    Arabic, Danish, Dutch, English, Finnish, French, German, Greek, Hungarian, Italian, Norwegian,
    Portuguese, Romanian, Russian, Spanish, Swedish, Tamil, Turkish,
};

/// Different function words that show a language. Fewer are a quotation, a name, or variables of a
/// program; a sentence has more.
const DIFFERENT_MIN: usize = 4;

/// In prose of any of these languages a quarter to a half of the words are function words.
const SHARE_MIN: f32 = 0.08;

/// Words from the beginning of a text that are looked at.
const WORDS_MAX: usize = 400;

impl Language {
    pub const ALL: [Self; 18] = [
        Arabic, Danish, Dutch, English, Finnish, French, German, Greek, Hungarian, Italian,
        Norwegian, Portuguese, Romanian, Russian, Spanish, Swedish, Tamil, Turkish,
    ];

    /// The code of ISO 639-1, under which the index knows it.
    pub fn code(self) -> &'static str {
        match self {
            Arabic => "ar",
            Danish => "da",
            Dutch => "nl",
            English => "en",
            Finnish => "fi",
            French => "fr",
            German => "de",
            Greek => "el",
            Hungarian => "hu",
            Italian => "it",
            Norwegian => "no",
            Portuguese => "pt",
            Romanian => "ro",
            Russian => "ru",
            Spanish => "es",
            Swedish => "sv",
            Tamil => "ta",
            Turkish => "tr",
        }
    }

    pub fn stemming(self) -> Stemming {
        match self {
            Arabic => Stemming::Arabic,
            Danish => Stemming::Danish,
            Dutch => Stemming::Dutch,
            English => Stemming::English,
            Finnish => Stemming::Finnish,
            French => Stemming::French,
            German => Stemming::German,
            Greek => Stemming::Greek,
            Hungarian => Stemming::Hungarian,
            Italian => Stemming::Italian,
            Norwegian => Stemming::Norwegian,
            Portuguese => Stemming::Portuguese,
            Romanian => Stemming::Romanian,
            Russian => Stemming::Russian,
            Spanish => Stemming::Spanish,
            Swedish => Stemming::Swedish,
            Tamil => Stemming::Tamil,
            Turkish => Stemming::Turkish,
        }
    }

    fn function_words(self) -> &'static str {
        match self {
            Arabic => function_words::ARABIC,
            Danish => function_words::DANISH,
            Dutch => function_words::DUTCH,
            English => function_words::ENGLISH,
            Finnish => function_words::FINNISH,
            French => function_words::FRENCH,
            German => function_words::GERMAN,
            Greek => function_words::GREEK,
            Hungarian => function_words::HUNGARIAN,
            Italian => function_words::ITALIAN,
            Norwegian => function_words::NORWEGIAN,
            Portuguese => function_words::PORTUGUESE,
            Romanian => function_words::ROMANIAN,
            Russian => function_words::RUSSIAN,
            Spanish => function_words::SPANISH,
            Swedish => function_words::SWEDISH,
            Tamil => function_words::TAMIL,
            Turkish => function_words::TURKISH,
        }
    }

    /// Whether `word`, in lower case and without accents, says nothing of what is asked.
    pub fn has_function_word(self, word: &str) -> bool {
        WORDS.get(word).is_some_and(|languages| languages.contains(&self))
    }

    /// The language of a text by its function words; English unless another one shows clearly.
    pub fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut all, mut telling) = (0_u32, [0_u32; Self::ALL.len()]);
        let mut different = [const { Vec::new() }; Self::ALL.len()];
        // Single letters are the variables of programs and formulas.
        let words = words.into_iter().filter(|word| word.chars().nth(1).is_some());
        for word in words.take(WORDS_MAX) {
            all += 1;
            for language in WORDS.get(word).into_iter().flatten() {
                let at = *language as usize;
                telling[at] += 1;
                if !different[at].contains(&word) {
                    different[at].push(word);
                }
            }
        }
        let more = |best: Self, language: &Self| {
            if telling[*language as usize] > telling[best as usize] { *language } else { best }
        };
        let best = Self::ALL.iter().fold(English, more);
        let is_clear = different[best as usize].len() >= DIFFERENT_MIN
            && telling[best as usize] as f32 >= all as f32 * SHARE_MIN;
        if is_clear { best } else { English }
    }

    /// The language that a query is in, of those that the index holds: what its function words say
    /// outweighs what most of the index is in. `None` for an empty index.
    pub fn of_query<'a>(
        words: &(impl Iterator<Item = &'a str> + Clone),
        held: &[(Self, f32)],
    ) -> Option<Self> {
        let told = |language: Self| {
            words.clone().filter(|word| language.has_function_word(word)).count() as f32
        };
        let weighed =
            held.iter().map(|(language, share)| (*language, share + 0.5 * told(*language)));
        weighed.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(language, _)| language)
    }
}

/// Function words with the languages that have them.
static WORDS: LazyLock<HashMap<&'static str, HashSet<Language>>> = LazyLock::new(|| {
    let mut words: HashMap<_, HashSet<_>> = HashMap::new();
    for language in Language::ALL {
        for word in language.function_words().split_whitespace() {
            words.entry(word).or_default().insert(language);
        }
    }
    words
});

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Language) {
        let lowered = text.to_lowercase();
        let words = lowered.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        assert_eq!(Language::of(words), expected, "{text}");
    }

    #[test]
    fn function_words_tell_the_language() {
        check("The key is under the mat, and it has been there for years.", English);
        check(
            "Der Schlussel liegt unter der Matte und ist seit Jahren nicht dort gewesen.",
            German,
        );
        check("La cle est sous le tapis et elle y est depuis des annees.", French);
        check(
            "La llave esta debajo de la alfombra y no se ha movido en los ultimos meses.",
            Spanish,
        );
        check(
            "De sleutel ligt onder de mat en het is niet duidelijk wie hem daar heeft gelegd.",
            Dutch,
        );
        check("Ключ лежит под ковриком, и он не был там уже много лет.", Russian);
        check("Nyckeln ligger under mattan och det var inte jag som lade den dar.", Swedish);
    }

    #[test]
    fn what_shows_no_language_is_english() {
        check("", English);
        check("fn main() { let de = la(le); y = a + e; o = y; }", English);
        check("日本語の文書", English);
        check("Wien, die Stadt", English);
    }

    #[test]
    fn a_query_is_in_the_language_that_its_words_or_the_index_are_in() {
        let of =
            |query: &str, held: &[(Language, f32)]| Language::of_query(&query.split(' '), held);
        assert_eq!(of("dateien kopieren", &[(English, 0.1), (German, 0.9)]), Some(German));
        assert_eq!(of("how do i copy files", &[(English, 0.1), (German, 0.9)]), Some(English));
        assert_eq!(of("die casting", &[(English, 0.9), (German, 0.1)]), Some(English));
        assert_eq!(of("die casting", &[]), None);
    }

    #[test]
    fn codes_and_lists_belong_to_one_language_each() {
        let codes: HashSet<_> = Language::ALL.iter().map(|language| language.code()).collect();
        assert_eq!(codes.len(), Language::ALL.len());
        for (at, language) in Language::ALL.iter().enumerate() {
            assert_eq!(*language as usize, at);
            assert!(language.function_words().split_whitespace().count() > 20, "{language:?}");
        }
    }
}
