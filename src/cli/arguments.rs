use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand};
use lodestone::config::{self, Config};
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
        let data_dir = match &self.data_dir {
            Some(dir) => std::path::absolute(dir).map_err(Failure::usage)?,
            None => config::data_dir().map_err(Failure::environment)?,
        };
        let config = Config::load(data_dir).map_err(Failure::environment)?;
        // A switch of the model is for the window and for `lode models use`.
        Ok(Config { switches_model: false, ..config })
    }

    pub fn open(&self) -> Result<Engine, Failure> {
        Ok(Engine::open(self.config()?)?)
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make files and folders searchable; what has not changed is skipped
    Index(IndexArguments),
    /// Find passages by meaning and by words
    Search(SearchArguments),
    /// Show what is indexed, with which model, and its size on disk
    Status,
    /// Forget files and folders, entirely
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
pub struct RemoveArguments {
    /// Files, folders or addresses of pages
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
    /// Patterns of the kind that .gitignore files hold, such as *.tmp
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
    fn wrong_use_is_exit_code_2() {
        for line in
            ["lode", "lode index", "lode search", "lode search x -n 0", "lode search x --mode best"]
        {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }
}
