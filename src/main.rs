//! The desktop application. Everything but the window is the library; see `docs/ARCHITECTURE.md`.

mod ui;

fn main() {
    ui::run();
}
