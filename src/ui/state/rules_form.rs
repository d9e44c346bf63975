use lodestone::data::{CrawlRules, Reach};
use lodestone::engine::{EngineError, ScopeError};

const DAY_S: u64 = 86_400;

/// How far from its start a site is read, without the hosts, which have a box of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReachChoice {
    #[default]
    Folder,
    Site,
    Hosts,
}

impl ReachChoice {
    pub const ALL: [Self; 3] = [Self::Folder, Self::Site, Self::Hosts];
}

/// How often a site is looked through for changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recrawl {
    #[default]
    Never,
    Daily,
    Weekly,
    Monthly,
    /// Chosen on the command line, in seconds.
    Other(u64),
}

impl Recrawl {
    const USUAL: [Self; 4] = [Self::Never, Self::Daily, Self::Weekly, Self::Monthly];

    /// What can be chosen, with what is chosen.
    pub fn choices(self) -> Vec<Self> {
        let other = (!Self::USUAL.contains(&self)).then_some(self);
        Self::USUAL.into_iter().chain(other).collect()
    }

    pub fn of(after_s: Option<u64>) -> Self {
        let Some(after_s) = after_s else { return Self::Never };
        let usual = Self::USUAL.into_iter().find(|usual| usual.after_s() == Some(after_s));
        usual.unwrap_or(Self::Other(after_s))
    }

    pub fn after_s(self) -> Option<u64> {
        match self {
            Self::Never => None,
            Self::Daily => Some(DAY_S),
            Self::Weekly => Some(7 * DAY_S),
            Self::Monthly => Some(30 * DAY_S),
            Self::Other(after_s) => Some(after_s),
        }
    }
}

/// A box of the form that something can be wrong with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Address,
    Hosts,
    Depth,
    Pages,
    Include,
    Exclude,
    Delay,
}

/// What is wrong with what was typed, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTrouble {
    pub field: Field,
    pub text: String,
}

impl FieldTrouble {
    fn new(field: Field, text: &str) -> Self {
        Self { field, text: text.to_owned() }
    }

    /// Trouble of no other box.
    pub fn of_address(text: String) -> Self {
        Self { field: Field::Address, text }
    }

    pub fn is_of_address(&self) -> bool {
        self.field == Field::Address
    }

    /// The box that an error of the engine is about.
    pub fn of(error: &EngineError, rules: &CrawlRules) -> Self {
        let field = match error {
            EngineError::Scope(ScopeError::Host { .. }) => Field::Hosts,
            EngineError::Scope(ScopeError::Pattern { pattern, .. }) => {
                if rules.include.contains(pattern) { Field::Include } else { Field::Exclude }
            }
            _ => Field::Address,
        };
        Self { field, text: error.to_string() }
    }
}

/// Rules of a site as they are typed.
#[derive(Clone, Debug, PartialEq)]
pub struct RulesForm {
    pub reach: ReachChoice,
    pub hosts: String,
    pub depth: String,
    pub pages: String,
    /// One a line.
    pub include: String,
    pub exclude: String,
    /// In seconds.
    pub delay: String,
    pub recrawl: Recrawl,
    /// What has no box stays as it is.
    rest: CrawlRules,
}

impl Default for RulesForm {
    fn default() -> Self {
        Self::of(&CrawlRules::default())
    }
}

impl RulesForm {
    pub fn of(rules: &CrawlRules) -> Self {
        let (reach, hosts) = match &rules.reach {
            Reach::Prefix => (ReachChoice::Folder, String::new()),
            Reach::Origin => (ReachChoice::Site, String::new()),
            Reach::Hosts(hosts) => (ReachChoice::Hosts, hosts.join("\n")),
        };
        Self {
            reach,
            hosts,
            depth: rules.depth_max.to_string(),
            pages: rules.pages_max.to_string(),
            include: rules.include.join("\n"),
            exclude: rules.exclude.join("\n"),
            delay: (rules.delay_ms as f64 / 1000.0).to_string(),
            recrawl: Recrawl::of(rules.recrawl_after_s),
            rest: rules.clone(),
        }
    }

    /// The rules that were typed.
    ///
    /// # Errors
    /// When a number is none, or hosts are wanted and none is named.
    pub fn rules(&self) -> Result<CrawlRules, FieldTrouble> {
        let hosts = words(&self.hosts);
        let reach = match self.reach {
            ReachChoice::Folder => Reach::Prefix,
            ReachChoice::Site => Reach::Origin,
            ReachChoice::Hosts if hosts.is_empty() => {
                let text = "Name at least one host, such as docs.example.org.";
                return Err(FieldTrouble::new(Field::Hosts, text));
            }
            ReachChoice::Hosts => Reach::Hosts(hosts),
        };
        let depth = || FieldTrouble::new(Field::Depth, "Type a whole number, such as 16.");
        let pages = || FieldTrouble::new(Field::Pages, "Type a whole number above 0.");
        let delay = || FieldTrouble::new(Field::Delay, "Type seconds from 0 to 3600, such as 0.2.");
        let seconds: f64 = self.delay.trim().replace(',', ".").parse().map_err(|_| delay())?;
        if !(0.0..=3600.0).contains(&seconds) {
            return Err(delay());
        }
        Ok(CrawlRules {
            reach,
            depth_max: digits(&self.depth).parse().map_err(|_| depth())?,
            pages_max: digits(&self.pages).parse().ok().filter(|n| *n > 0).ok_or_else(pages)?,
            include: lines(&self.include),
            exclude: lines(&self.exclude),
            delay_ms: (seconds * 1000.0).round() as u64,
            recrawl_after_s: self.recrawl.after_s(),
            ..self.rest.clone()
        })
    }
}

/// People group digits in more ways than one.
fn digits(typed: &str) -> String {
    typed.chars().filter(|c| !c.is_whitespace() && *c != ',').collect()
}

fn lines(typed: &str) -> Vec<String> {
    typed.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn words(typed: &str) -> Vec<String> {
    let between = |c: char| c.is_whitespace() || c == ',';
    typed.split(between).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_out_as_they_went_in() {
        let known = CrawlRules {
            reach: Reach::Hosts(vec!["a.test".to_owned(), "*.b.test".to_owned()]),
            depth_max: 3,
            pages_max: 12_000,
            include: vec!["/docs/**".to_owned()],
            exclude: vec!["**/old/*".to_owned(), "*.zip".to_owned()],
            delay_ms: 1_500,
            connections_max: 2,
            recrawl_after_s: Some(12 * 3_600),
        };
        for rules in [CrawlRules::default(), known] {
            assert_eq!(RulesForm::of(&rules).rules(), Ok(rules));
        }
    }

    #[test]
    fn what_a_person_types_is_read_kindly() {
        let form = RulesForm {
            reach: ReachChoice::Hosts,
            hosts: "a.test, b.test\nc.test".to_owned(),
            pages: " 12,000 ".to_owned(),
            include: "\n /docs/** \n\n".to_owned(),
            delay: "0,5".to_owned(),
            recrawl: Recrawl::Weekly,
            ..RulesForm::default()
        };
        let rules = form.rules().unwrap();
        let hosts = ["a.test", "b.test", "c.test"].map(str::to_owned).to_vec();
        assert_eq!(rules.reach, Reach::Hosts(hosts));
        assert_eq!((rules.pages_max, rules.delay_ms), (12_000, 500));
        assert_eq!(rules.include, ["/docs/**"]);
        assert_eq!(rules.recrawl_after_s, Some(604_800));
    }

    #[test]
    fn a_wrong_number_is_told_of_at_its_box() {
        let field = |form: RulesForm| form.rules().unwrap_err().field;
        let usual = RulesForm::default;
        assert_eq!(field(RulesForm { depth: "deep".into(), ..usual() }), Field::Depth);
        assert_eq!(field(RulesForm { pages: "0".into(), ..usual() }), Field::Pages);
        assert_eq!(field(RulesForm { delay: "-1".into(), ..usual() }), Field::Delay);
        assert_eq!(field(RulesForm { delay: "NaN".into(), ..usual() }), Field::Delay);
        assert_eq!(field(RulesForm { reach: ReachChoice::Hosts, ..usual() }), Field::Hosts);
    }

    #[test]
    fn an_error_of_the_engine_finds_its_box() {
        let rules = CrawlRules { include: vec!["[".to_owned()], ..CrawlRules::default() };
        let pattern = |pattern: &str| {
            let (pattern, why) = (pattern.to_owned(), "unclosed".to_owned());
            FieldTrouble::of(&EngineError::Scope(ScopeError::Pattern { pattern, why }), &rules)
        };
        assert_eq!(pattern("[").field, Field::Include);
        assert_eq!(pattern("{").field, Field::Exclude);
        assert!(pattern("{").text.contains("cannot be read"));
        let host = EngineError::Scope(ScopeError::Host { host: "a b".to_owned() });
        assert_eq!(FieldTrouble::of(&host, &rules).field, Field::Hosts);
        assert_eq!(FieldTrouble::of(&EngineError::Closed, &rules).field, Field::Address);
    }

    #[test]
    fn an_unusual_interval_can_be_kept() {
        assert_eq!(Recrawl::of(Some(7 * DAY_S)), Recrawl::Weekly);
        let other = Recrawl::of(Some(43_200));
        assert_eq!(other, Recrawl::Other(43_200));
        assert_eq!(other.choices().last(), Some(&other));
        assert_eq!(Recrawl::Never.choices().len(), 4);
    }
}
