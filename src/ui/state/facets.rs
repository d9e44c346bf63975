use lodestone::engine::{FacetValue, Facets, qualifiers};

/// Values that are offered of each qualifier at most.
const OFFERED_MAX: usize = 4;

/// A qualifier that the query holds, or that would narrow its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chip {
    /// With a dash in front where it must not hold.
    pub name: String,
    pub value: String,
    /// Whether the query holds it: pressing takes it out.
    pub on: bool,
    /// Documents that it would leave, where that was counted.
    pub documents: Option<u64>,
}

/// The chips over an answer to `query`: those that it holds in their order, then what would narrow it. They
/// are read off the text, so the two cannot differ.
pub fn chips(query: &str, facets: Option<&Facets>) -> Vec<Chip> {
    let written = qualifiers(query);
    let mut chips: Vec<Chip> = Vec::new();
    for qualifier in &written {
        let dash = if qualifier.negated { "-" } else { "" };
        chips.extend(qualifier.values.iter().map(|value| Chip {
            name: format!("{dash}{}", qualifier.name),
            value: value.clone(),
            on: true,
            documents: None,
        }));
    }
    let Some(facets) = facets else { return chips };
    let groups = [
        ("type", &facets.types),
        ("in", &facets.folders),
        ("site", &facets.sites),
        ("after", &facets.dates),
    ];
    for (name, values) in groups {
        let is_on = |value: &&FacetValue| {
            let same = |qualifier: &&lodestone::engine::WrittenQualifier| {
                qualifier.name == name && !qualifier.negated && qualifier.has(&value.value)
            };
            written.iter().any(|qualifier| same(&qualifier))
        };
        let offered = values.iter().filter(|value| !is_on(value)).take(OFFERED_MAX);
        chips.extend(offered.map(|FacetValue { value, documents }| Chip {
            name: name.to_owned(),
            value: value.clone(),
            on: false,
            documents: Some(*documents),
        }));
    }
    chips
}

#[cfg(test)]
mod tests {
    use lodestone::engine::toggled;

    use super::*;

    fn facets() -> Facets {
        let value = |value: &str, documents| FacetValue { value: value.to_owned(), documents };
        Facets {
            documents: 9,
            types: vec![value("pdf", 5), value("markdown", 4)],
            folders: vec![value("/h/notes", 6)],
            ..Facets::default()
        }
    }

    fn told(query: &str) -> Vec<String> {
        let chips = chips(query, Some(&facets()));
        let mark = |chip: &Chip| if chip.on { "*" } else { "" };
        chips.iter().map(|chip| format!("{}{}:{}", mark(chip), chip.name, chip.value)).collect()
    }

    #[test]
    fn chips_are_what_the_text_holds_and_then_what_would_narrow() {
        assert_eq!(told("locks"), ["type:pdf", "type:markdown", "in:/h/notes"]);
        let on = ["*type:PDF", "*-ext:md", "type:markdown", "in:/h/notes"];
        assert_eq!(told("type:PDF -ext:md locks"), on);
        assert_eq!(chips("before:1d,7d", None).len(), 2);
    }

    #[test]
    fn every_chip_that_is_on_can_be_taken_out_of_the_text() {
        let mut text = "-in:\"/a b\" lock type:pdf,code after:7d state".to_owned();
        for chip in chips(&text, None) {
            text = toggled(&text, &chip.name, &chip.value);
        }
        assert_eq!(text, "lock state");
    }
}
