//! The desktop application. Everything but the window is the library; see `docs/ARCHITECTURE.md`.

mod ui;

use std::process::ExitCode;

use lodestone::config;
use lodestone::engine::{LimitedAllocator, READER_ARGUMENT, serve_reader, telemetry};

#[global_allocator]
static ALLOCATOR: LimitedAllocator = LimitedAllocator;

fn main() -> anyhow::Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|first| first == READER_ARGUMENT).is_some() {
        let memory = arguments.next();
        return Ok(serve_reader(memory.as_deref().and_then(|memory| memory.to_str())));
    }
    // Without a place for data the window opens all the same, and says what to do.
    let telemetry = telemetry::init(config::data_dir().ok().as_deref())?;
    ui::run(arguments, telemetry)?;
    Ok(ExitCode::SUCCESS)
}
