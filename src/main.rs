//! The desktop application. Everything but the window is the library; see `docs/ARCHITECTURE.md`.

mod ui;

use lodestone::engine::telemetry;

fn main() -> anyhow::Result<()> {
    let telemetry = telemetry::init()?;
    ui::run(telemetry);
    Ok(())
}
