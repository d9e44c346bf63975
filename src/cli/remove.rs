//! `lode remove`: forget files and folders.

use lodestone::engine::RemoveReport;

use crate::arguments::{Common, RemoveArguments};
use crate::failure::{Exit, Failure};
use crate::figures::counted;
use crate::output::{Output, Style, one_line};

pub async fn run(
    common: &Common,
    output: &Output,
    arguments: RemoveArguments,
) -> Result<Exit, Failure> {
    let engine = common.open()?;
    let report = engine.remove(arguments.sources).await?;
    engine.close().await;
    output.print(&report, render)?;
    for unknown in &report.unknown {
        eprintln!("lode: {} is not indexed; lode status lists what is", one_line(unknown));
    }
    Ok(if report.unknown.is_empty() { Exit::Done } else { Exit::Partly })
}

fn render(report: &RemoveReport, _style: Style) -> String {
    format!("{} forgotten\n", counted(report.removed, "document"))
}
