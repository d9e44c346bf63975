//! Well-known models whose files leave out what their authors' pages say.

use crate::inference::Pooling;
use crate::tokenization::Prompts;

/// What is known of a model by its name alone; used only where its files are silent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Familiar {
    /// Parts that the name has, in lower case.
    name_has: &'static [&'static str],
    pub pooling: Pooling,
    query: &'static str,
    passage: &'static str,
}

/// The first that fits counts. Sources: the model cards of `intfloat/*e5*`, `BAAI/bge-*`.
const FAMILIAR: &[Familiar] = &[
    Familiar {
        name_has: &["e5-", "instruct"],
        pooling: Pooling::Mean,
        query: "Instruct: Given a web search query, retrieve relevant passages that answer the query\n\
                Query: ",
        passage: "",
    },
    Familiar { name_has: &["e5-"], pooling: Pooling::Mean, query: "query: ", passage: "passage: " },
    Familiar {
        name_has: &["bge-", "-en"],
        pooling: Pooling::Cls,
        query: "Represent this sentence for searching relevant passages: ",
        passage: "",
    },
    Familiar {
        name_has: &["bge-", "-zh"],
        pooling: Pooling::Cls,
        query: "为这个句子生成表示以用于检索相关文章：",
        passage: "",
    },
    Familiar { name_has: &["bge-"], pooling: Pooling::Cls, query: "", passage: "" },
];

const STRANGER: Familiar =
    Familiar { name_has: &[], pooling: Pooling::Mean, query: "", passage: "" };

impl Familiar {
    pub fn find(name: &str) -> &'static Self {
        let name = name.to_lowercase();
        let fits = |familiar: &&Self| familiar.name_has.iter().all(|part| name.contains(part));
        FAMILIAR.iter().find(fits).unwrap_or(&STRANGER)
    }

    pub fn prompts(&self) -> Prompts {
        Prompts { query: self.query.to_owned(), passage: self.passage.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_with_and_without_their_maker() {
        let query = |name| Familiar::find(name).query;
        assert_eq!(query("intfloat/multilingual-e5-small"), "query: ");
        assert_eq!(Familiar::find("e5-base-v2").passage, "passage: ");
        assert!(query("multilingual-e5-large-instruct").ends_with("\nQuery: "));
        assert!(query("bge-small-en-v1.5").starts_with("Represent this sentence"));
        assert_eq!(Familiar::find("BAAI/bge-m3").pooling, Pooling::Cls);
        assert_eq!(query("bge-m3"), "");
        assert_eq!(Familiar::find("all-MiniLM-L6-v2"), &STRANGER);
    }
}
