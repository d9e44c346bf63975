use lodestone::engine::{EndedJob, KnownModelKind, ModelEntry};

use super::{bytes, counted};

/// The languages of a model as far as its name tells them.
pub fn languages(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let is_word = |word: &str| name.split(['-', '_', '/', '@', '.']).any(|part| part == word);
    let is_many = ["multilingual", "xlm", "m3"];
    Some(if is_many.iter().any(|word| is_word(word) || name.contains("multilingual")) {
        "many languages"
    } else if is_word("en") || name.starts_with("all-minilm") || name.contains("/all-minilm") {
        "English"
    } else if is_word("de") {
        "German and English"
    } else if is_word("zh") {
        "Chinese and English"
    } else if is_word("es") {
        "Spanish and English"
    } else {
        return None;
    })
}

/// `384 numbers a passage · English · 45 MB`.
pub fn model_facts(model: &ModelEntry) -> String {
    let kind = match (model.kind, model.dim) {
        (KnownModelKind::Embedding, Some(dim)) => format!("{dim} numbers a passage"),
        (KnownModelKind::Embedding, None) => "for search".to_owned(),
        (KnownModelKind::Language, _) => "for chat".to_owned(),
        (KnownModelKind::Unknown, _) => "of no known kind".to_owned(),
    };
    let languages = languages(&model.name).map(str::to_owned);
    let parts = [Some(kind), languages, Some(bytes(model.bytes))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// What changing the model costs, by what indexing cost before.
pub fn switch_cost(passages: u64, history: &[EndedJob]) -> String {
    if passages == 0 {
        return "Nothing is indexed yet, so it is in use at once.".to_owned();
    }
    let measured = history.iter().find_map(|job| {
        let seconds = job.ended_at - job.started_at;
        // Shorter jobs are mostly loading and looking through folders.
        (job.tokens > 0 && job.passages >= 100 && seconds >= 5)
            .then(|| job.passages as f64 / seconds as f64)
    });
    let time = measured.map_or("how long that takes is not known yet".to_owned(), |speed| {
        let minutes = (passages as f64 / speed / 60.0).ceil() as u64;
        format!("about {} at the speed of the last job", counted(minutes.max(1), "minute"))
    });
    format!(
        "{} will be embedded anew, {time}. Searches go on with the model before until then.",
        counted(passages, "passage")
    )
}

#[cfg(test)]
mod tests {
    use lodestone::engine::JobEnd;

    use super::*;

    #[test]
    fn names_tell_languages() {
        for (name, told) in [
            ("all-MiniLM-L6-v2", Some("English")),
            ("BAAI/bge-small-en-v1.5", Some("English")),
            ("intfloat/multilingual-e5-small", Some("many languages")),
            ("BAAI/bge-m3", Some("many languages")),
            ("jinaai/jina-embeddings-v2-base-de", Some("German and English")),
            ("mine", None),
        ] {
            assert_eq!(languages(name), told, "{name}");
        }
    }

    #[test]
    fn a_switch_costs_what_indexing_did() {
        let job = EndedJob {
            label: String::new(),
            started_at: 0,
            ended_at: 100,
            end: JobEnd::Done,
            documents: 10,
            passages: 1_000,
            tokens: 90_000,
            trouble: 0,
            reason: None,
        };
        assert!(switch_cost(6_000, std::slice::from_ref(&job)).contains("about 10 minutes"));
        let short = EndedJob { ended_at: 1, ..job };
        assert!(switch_cost(6_000, &[short]).contains("not known yet"));
        assert!(switch_cost(0, &[]).contains("at once"));
    }
}
