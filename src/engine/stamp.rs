use crate::chunking::ChunkSize;

/// Everything that decides a passage and its vector, as the store names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelStamp {
    /// The name under which the model's files are known.
    pub name: String,
    /// Tells two versions of the files from each other; `None` for the model in the binary.
    pub files: Option<String>,
    pub chunk_size: ChunkSize,
    /// Tokens of title and headings before a passage at most; what was indexed before there were any has
    /// none.
    pub context_tokens_max: usize,
}

const FILES: &str = ", files ";
const CHUNKS: &str = ", chunks of ";
const OVERLAPPING: &str = " overlapping ";
const UNDER: &str = " under headings of ";

impl ModelStamp {
    pub fn parse(text: &str) -> Option<Self> {
        let (model, chunks) = text.rsplit_once(CHUNKS)?;
        let (chunks, context) = chunks.split_once(UNDER).unwrap_or((chunks, "0"));
        let (tokens_max, overlap) = chunks.split_once(OVERLAPPING)?;
        let context_tokens_max = context.parse().ok()?;
        let chunk_size =
            ChunkSize { tokens_max: tokens_max.parse().ok()?, overlap: overlap.parse().ok()? };
        let (name, files) = match model.rsplit_once(FILES) {
            Some((name, files)) => (name, Some(files.to_owned())),
            None => (model, None),
        };
        Some(Self { name: name.to_owned(), files, chunk_size, context_tokens_max })
    }

    /// Whether a query by the one can be compared with vectors by the other.
    pub fn same_vectors(&self, other: &Self) -> bool {
        self.name == other.name && self.files == other.files
    }
}

impl std::fmt::Display for ModelStamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, files, chunk_size: ChunkSize { tokens_max, overlap }, .. } = self;
        f.write_str(name)?;
        if let Some(files) = files {
            write!(f, "{FILES}{files}")?;
        }
        write!(f, "{CHUNKS}{tokens_max}{OVERLAPPING}{overlap}")?;
        if self.context_tokens_max > 0 {
            write!(f, "{UNDER}{}", self.context_tokens_max)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_stamp_reads_back(
            name in "[a-z/@, -]{1,20}( chunks of 3)?",
            files in proptest::option::of("[0-9a-f]{8}"),
            tokens_max in 1_usize..9_999,
            overlap in 0_usize..99,
            context_tokens_max in 0_usize..99,
        ) {
            let chunk_size = ChunkSize { tokens_max, overlap };
            let stamp = ModelStamp { name, files, chunk_size, context_tokens_max };
            prop_assert_eq!(ModelStamp::parse(&stamp.to_string()), Some(stamp));
        }
    }

    #[test]
    fn the_bundled_model_keeps_the_name_it_had() {
        let stamp = ModelStamp::parse("all-MiniLM-L6-v2, chunks of 254 overlapping 0").unwrap();
        assert_eq!((stamp.name.as_str(), &stamp.files), ("all-MiniLM-L6-v2", &None));
        assert_eq!(stamp.context_tokens_max, 0);
        assert_eq!(ModelStamp::parse("words"), None);
    }
}
