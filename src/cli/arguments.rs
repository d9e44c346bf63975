use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand};
use lodestone::config::{self, Config};
use lodestone::data::{CrawlRules, Reach};
use lodestone::engine::{Engine, SearchMode};

use crate::failure::Failure;

/// Search your own files by meaning and by words, wholly on your machine.
#[derive(Debug, Parser)]
#[command(name = "lode", version, arg_required_else_help = true)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

const DATA_DIR_HELP: &str =
    "Where the index lies [default: LODESTONE_DATA_DIR, else the platform's data directory]";

/// What every command takes.
#[derive(Debug, Args)]
pub struct Common {
    #[arg(long, global = true, value_name = "DIR", help = DATA_DIR_HELP)]
    pub data_dir: Option<PathBuf>,
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    pub json: bool,
}

impl Common {
    /// The settings that the engine is opened with.
    pub fn config(&self) -> Result<Config, Failure> {
        let config = Config::load(self.data_dir()?).map_err(Failure::environment)?;
        // A switch of the model is for the window and for `lode models use`.
        Ok(Config { switches_model: false, ..config })
    }

    /// Where everything lies, made absolute.
    pub fn data_dir(&self) -> Result<PathBuf, Failure> {
        match &self.data_dir {
            Some(dir) => std::path::absolute(dir).map_err(Failure::usage),
            None => config::data_dir().map_err(Failure::environment),
        }
    }

    pub fn open(&self) -> Result<Engine, Failure> {
        Ok(Engine::open(self.config()?)?)
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make files and folders searchable; what has not changed is skipped
    Index(IndexArguments),
    /// Make the pages of a web site searchable; again reads only what has changed
    Crawl(CrawlArguments),
    /// Find passages by meaning and by words
    Search(SearchArguments),
    /// Find passages of other documents that are near a passage in meaning
    Similar(SimilarArguments),
    /// Show what is indexed, with which model, and its size on disk
    Status,
    /// Write the whole index into one file, from which another machine can take it
    Export(ExportArguments),
    /// Take the index of such a file in place of the one that is here
    Import(ImportArguments),
    /// Forget files, folders and sites, entirely
    Remove(RemoveArguments),
    /// Keep files and folders up to date while the application or `lode daemon` runs
    Watch(WatchArguments),
    /// Leave files and folders as they are until `lode index`
    Unwatch(WatchArguments),
    /// Keep watched folders up to date until Ctrl-C, as the application does
    Daemon,
    /// Stop indexing after what is in hand, in the application and the daemon
    Pause,
    /// Let indexing go on
    Resume,
    /// Try once more what could not be indexed
    Retry(RetryArguments),
    /// Show or change what is left out of every folder
    Exclude(ExcludeArguments),
    /// List the models on this machine, add, choose and remove them
    Models {
        #[command(subcommand)]
        command: Option<ModelsCommand>,
    },
    /// Turn the texts of a JSONL file into vectors
    Embed(EmbedArguments),
    /// Ask a language model on this machine
    Chat(ChatArguments),
    /// Measure retrieval on a judged collection in BEIR layout, in a temporary index
    Eval(EvalArguments),
    /// Star right answers, and see over time how well search finds them
    Golden {
        #[command(subcommand)]
        command: Option<GoldenCommand>,
    },
    /// Check the store, the indexes, the model and the device
    Doctor {
        /// Measure recall@10 of the vector index against an exact scan, on a sample
        #[arg(long)]
        recall: bool,
    },
}

#[derive(Debug, Default, Subcommand)]
pub enum ModelsCommand {
    /// Show every model: kind, dimension, size, place, and which one searches use
    #[default]
    List,
    /// Make a model known: a folder, or a name on the hub, which is fetched
    Add {
        /// A folder, or owner/name or owner/name@revision on the hub
        #[arg(value_name = "FOLDER|OWNER/NAME")]
        model: String,
    },
    /// Search with another embedding model; the one before answers until all is embedded anew
    Use {
        name: String,
        /// Leave the work to the window, or to the next time
        #[arg(long)]
        no_wait: bool,
    },
    /// Forget a model; what was fetched is deleted, a folder stays
    Remove { name: String },
}

#[derive(Debug, Default, Subcommand)]
pub enum GoldenCommand {
    /// Show the starred answers and what measuring by them gave
    #[default]
    List,
    /// Star a document as a right answer to a query
    Star {
        query: String,
        /// A file or the address of a page that is indexed
        source: String,
    },
    /// Take a star away
    Unstar { query: String, source: String },
    /// Ask every starred query: recall, what the vector index misses, and how long it takes
    Measure,
}

#[derive(Debug, Args)]
pub struct IndexArguments {
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

/// What is not given stays as it was, of a site that is known.
#[derive(Debug, Args)]
pub struct CrawlArguments {
    /// Where to start, as docs.rs/tokio or in full
    #[arg(value_name = "URL")]
    pub url: String,
    /// Links from the start at most [default: 16]
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// Pages to read at most [default: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_pages: Option<u64>,
    /// How far from the start: the same host, or only below the folder of the start [default: prefix]
    #[arg(long, value_name = "origin|prefix", value_parser = reaches())]
    pub reach: Option<Reach>,
    /// Also this host; may be given again
    #[arg(long = "host", value_name = "HOST", conflicts_with = "reach")]
    pub hosts: Vec<String>,
    /// Only pages whose path matches, such as '/docs/**'; may be given again
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// No pages whose path matches; may be given again
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Least time between two requests to one host, in milliseconds [default: 200]
    #[arg(long, value_name = "MS")]
    pub delay_ms: Option<u64>,
    /// Requests at once to one host [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub connections: Option<u32>,
    /// Crawl again by itself so long after: 12h, 7d; `never` for not
    #[arg(long, value_name = "DURATION", value_parser = parse_interval)]
    pub every: Option<Interval>,
}

impl CrawlArguments {
    /// `known` with what was given in its place.
    pub fn rules(self, known: CrawlRules) -> CrawlRules {
        let or = |given: Vec<String>, known| if given.is_empty() { known } else { given };
        let hosts = (!self.hosts.is_empty()).then_some(Reach::Hosts(self.hosts));
        CrawlRules {
            reach: hosts.or(self.reach).unwrap_or(known.reach),
            depth_max: self.depth.unwrap_or(known.depth_max),
            pages_max: self.max_pages.unwrap_or(known.pages_max),
            include: or(self.include, known.include),
            exclude: or(self.exclude, known.exclude),
            delay_ms: self.delay_ms.unwrap_or(known.delay_ms),
            connections_max: self.connections.unwrap_or(known.connections_max),
            recrawl_after_s: self.every.map_or(known.recrawl_after_s, |Interval(every)| every),
        }
    }
}

fn reaches() -> impl clap::builder::TypedValueParser<Value = Reach> {
    PossibleValuesParser::new(["origin", "prefix"])
        .map(|name| if name == "origin" { Reach::Origin } else { Reach::Prefix })
}

/// Seconds between two crawls; `None` for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval(pub Option<u64>);

#[derive(Debug, thiserror::Error)]
#[error("write a number and m, h, d or w, such as 12h, or never")]
struct NoInterval;

fn parse_interval(text: &str) -> Result<Interval, NoInterval> {
    if text == "never" {
        return Ok(Interval(None));
    }
    let unit = text.chars().last().ok_or(NoInterval)?;
    let seconds = match unit {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(NoInterval),
    };
    let number: u64 =
        text.strip_suffix(unit).unwrap_or_default().parse().map_err(|_| NoInterval)?;
    let seconds = number.checked_mul(seconds).filter(|seconds| *seconds > 0);
    seconds.map(|seconds| Interval(Some(seconds))).ok_or(NoInterval)
}

#[derive(Debug, Args)]
pub struct SearchArguments {
    /// Words or a question; also type: ext: in: site: before: after:, "exact phrase" and -not
    pub query: String,
    /// Documents to show at most
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub limit: u16,
    /// Which lists the answer is made from
    #[arg(long, default_value = SearchMode::default().name(), value_parser = modes())]
    pub mode: SearchMode,
    /// Show copies and versions of a document once, with the number of the others
    #[arg(long)]
    pub fold: bool,
}

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Gets the index as it is now; it holds the text of what is indexed
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub struct ImportArguments {
    /// What lode export has written
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Forget what is indexed here
    #[arg(long)]
    pub replace: bool,
}

#[derive(Debug, Args)]
pub struct SimilarArguments {
    /// A file or the address of a page that is indexed
    pub source: String,
    /// Which passage of it, counted from 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub passage: u32,
    /// Qualifiers that narrow the answer: type: ext: in: site: before: after:
    #[arg(long, value_name = "QUALIFIERS", default_value = "")]
    pub only: String,
    /// Documents to show at most
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub limit: u16,
}

#[derive(Debug, Args)]
pub struct RemoveArguments {
    /// Files, folders, sites by their start or host, or addresses of pages
    #[arg(required = true, value_name = "SOURCE")]
    pub sources: Vec<String>,
}

#[derive(Debug, Args)]
pub struct WatchArguments {
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct RetryArguments {
    /// Files as `lode status --json` names them [default: all]
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<String>,
}

#[derive(Debug, Args)]
pub struct ExcludeArguments {
    /// Patterns as in a .gitignore: `node_modules/`, `*.tmp`
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<String>,
    /// Take these patterns off the list instead
    #[arg(long, requires = "patterns")]
    pub remove: bool,
    /// Go back to the list that Lodestone comes with
    #[arg(long, conflicts_with = "patterns")]
    pub reset: bool,
}

#[derive(Debug, Args)]
pub struct EmbedArguments {
    /// JSONL file, each line an object with "text"
    #[arg(long, value_name = "FILE.jsonl")]
    pub input: PathBuf,
    /// Gets one row of little-endian f32 for each line, of unit length
    #[arg(long, value_name = "FILE.f32")]
    pub output: PathBuf,
    /// Threads of the computation [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

#[derive(Debug, Args)]
pub struct ChatArguments {
    /// What to ask
    pub question: String,
    /// GGUF file with a model of the Llama family
    #[arg(long, value_name = "FILE.gguf")]
    pub model: PathBuf,
    /// How the model is to behave: "Answer in one sentence."
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Tokens of the answer at most
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub tokens_max: u32,
    /// 0 always takes the likeliest word, 1 is as varied as the model learned
    #[arg(long, value_name = "T", default_value_t = 0.0)]
    pub temperature: f32,
    /// The same seed gives the same answer
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

#[derive(Debug, Args)]
pub struct EvalArguments {
    /// Folder with corpus.jsonl, queries.jsonl and qrels/test.tsv
    #[arg(value_name = "BEIR_DIR")]
    pub folder: PathBuf,
    /// Measure this mode; may be given again [default: all]
    #[arg(long = "mode", value_parser = modes())]
    pub modes: Vec<SearchMode>,
    /// Cutoff of nDCG and MRR
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub k: u16,
    /// Keep the index in this folder; one that is there already is used as it is
    #[arg(long, value_name = "DIR")]
    pub index: Option<PathBuf>,
    /// Write what each query scored, to test a later run against
    #[arg(long, value_name = "FILE.json")]
    pub save: Option<PathBuf>,
    /// Test against an earlier run, query by query
    #[arg(long, value_name = "FILE.json")]
    pub against: Option<PathBuf>,
    /// Write the rankings as TREC run files into this folder, one for each mode
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
}

fn modes() -> impl clap::builder::TypedValueParser<Value = SearchMode> {
    PossibleValuesParser::new(SearchMode::ALL.map(SearchMode::name)).map(|name| {
        SearchMode::ALL.into_iter().find(|mode| mode.name() == name).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(line.split(' '))
    }

    #[test]
    fn the_definition_holds_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn common_options_stand_anywhere() {
        for line in ["lode --json status --data-dir /d", "lode status --data-dir /d --json"] {
            let arguments = parse(line).unwrap();
            assert!(arguments.common.json, "{line}");
            assert_eq!(arguments.common.config().unwrap().data_dir, PathBuf::from("/d"));
        }
    }

    #[test]
    fn a_search_has_a_mode_and_a_limit() {
        let Command::Search(arguments) =
            parse("lode search x -n 3 --mode keyword").unwrap().command
        else {
            panic!()
        };
        assert_eq!((arguments.mode, arguments.limit), (SearchMode::Keyword, 3));
    }

    #[test]
    fn a_crawl_changes_the_rules_that_are_given() {
        let rules = |line: &str, known: &CrawlRules| {
            let Command::Crawl(arguments) = parse(line).unwrap().command else { panic!() };
            arguments.rules(known.clone())
        };
        let first = rules(
            "lode crawl docs.rs --depth 3 --host a.org --host b.org --exclude /x/** --every 12h",
            &CrawlRules::default(),
        );
        let expected = CrawlRules {
            reach: Reach::Hosts(vec!["a.org".into(), "b.org".into()]),
            depth_max: 3,
            exclude: vec!["/x/**".into()],
            recrawl_after_s: Some(43_200),
            ..CrawlRules::default()
        };
        assert_eq!(first, expected);
        assert_eq!(rules("lode crawl docs.rs", &first), first);
        let again = rules("lode crawl docs.rs --reach origin --every never --max-pages 7", &first);
        let changed =
            CrawlRules { reach: Reach::Origin, pages_max: 7, recrawl_after_s: None, ..expected };
        assert_eq!(again, changed);
    }

    #[test]
    fn wrong_use_is_exit_code_2() {
        for line in [
            "lode",
            "lode index",
            "lode search",
            "lode search x -n 0",
            "lode search x --mode best",
            "lode crawl",
            "lode crawl x --reach web",
            "lode crawl x --reach origin --host a",
            "lode crawl x --max-pages 0",
            "lode crawl x --every 0h",
            "lode crawl x --every soon",
            "lode crawl x --every 99999999999999999999w",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }
}
