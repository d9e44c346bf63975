//! The desktop application. Everything but the window is the library; see `docs/ARCHITECTURE.md`.

mod ui;

use std::process::ExitCode;

use lodestone::engine::{LimitedAllocator, READER_ARGUMENT, serve_reader, telemetry};

#[global_allocator]
static ALLOCATOR: LimitedAllocator = LimitedAllocator;

fn main() -> anyhow::Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == READER_ARGUMENT) {
        let memory = arguments.next();
        return Ok(serve_reader(memory.as_deref().and_then(|memory| memory.to_str())));
    }
    let telemetry = telemetry::init()?;
    ui::run(telemetry);
    Ok(ExitCode::SUCCESS)
}
