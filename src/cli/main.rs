//! `lode`: the command line. It parses, asks the engine and prints; everything else is the library's.

mod arguments;
mod chat;
mod crawl;
mod doctor;
mod embed;
mod eval;
mod failure;
mod figures;
mod folders;
mod golden;
mod index;
mod models;
mod output;
mod progress;
mod remove;
mod search;
mod status;
mod transfer;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use lodestone::engine::{LimitedAllocator, READER_ARGUMENT, serve_reader, telemetry};

use arguments::{Arguments, Command};
use failure::{Exit, Failure};
use output::Output;

#[global_allocator]
static ALLOCATOR: LimitedAllocator = LimitedAllocator;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == READER_ARGUMENT) {
        let memory = arguments.next();
        return serve_reader(memory.as_deref().and_then(|memory| memory.to_str()));
    }
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(),
    }
}

fn run(arguments: Arguments) -> Result<Exit, Failure> {
    let Arguments { common, command } = arguments;
    // Who runs a command sees its log; one that stays has nobody who looks.
    let log_dir = match command {
        Command::Daemon => Some(common.data_dir()?),
        _ => None,
    };
    let _telemetry = telemetry::init(log_dir.as_deref()).map_err(Failure::usage)?;
    let output = Output::new(common.json);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime cannot be started")
        .map_err(Failure::environment)?;
    runtime.block_on(async {
        match command {
            Command::Index(arguments) => index::run(&common, &output, arguments).await,
            Command::Crawl(arguments) => crawl::run(&common, &output, arguments).await,
            Command::Search(arguments) => search::run(&common, &output, arguments).await,
            Command::Similar(arguments) => search::similar(&common, &output, arguments).await,
            Command::Status => status::run(&common, &output).await,
            Command::Export(arguments) => transfer::export(&common, &output, arguments).await,
            Command::Import(arguments) => transfer::import(&common, &output, arguments).await,
            Command::Remove(arguments) => remove::run(&common, &output, arguments).await,
            Command::Watch(arguments) => folders::watch(&common, &output, arguments, true).await,
            Command::Unwatch(arguments) => folders::watch(&common, &output, arguments, false).await,
            Command::Daemon => folders::daemon(&common, &output).await,
            Command::Pause => folders::pause(&common, &output, true).await,
            Command::Resume => folders::pause(&common, &output, false).await,
            Command::Retry(arguments) => folders::retry(&common, &output, arguments).await,
            Command::Exclude(arguments) => folders::exclude(&common, &output, arguments),
            Command::Models { command } => {
                models::run(&common, &output, command.unwrap_or_default()).await
            }
            Command::Embed(arguments) => embed::run(&common, &output, arguments).await,
            Command::Chat(arguments) => chat::run(&common, &output, arguments).await,
            Command::Eval(arguments) => eval::run(&common, &output, arguments).await,
            Command::Golden { command } => {
                golden::run(&common, &output, command.unwrap_or_default()).await
            }
            Command::Doctor { recall } => doctor::run(recall, &common, &output).await,
        }
    })
}
