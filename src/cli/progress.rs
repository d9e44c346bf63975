use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lodestone::engine::{CrawlFigures, FetchProgress, JobProgress};

use crate::figures;
use crate::output::one_line;

/// A bar on stderr while it is a terminal; nothing elsewhere.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{bar:30} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.set_message("loading the model");
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    pub fn show(&self, progress: &JobProgress) {
        // By bytes: one long file takes as long as many short ones.
        let (done, total) = match progress.bytes_total {
            // A switch of the model knows documents only.
            0 => (progress.files_done, progress.files_total),
            total => (progress.bytes_done, total),
        };
        self.bar.set_length(total);
        self.bar.set_position(done);
        self.bar.set_message(describe(progress));
    }

    pub fn show_crawl(&self, figures: &CrawlFigures) {
        self.bar.set_length(figures.done + figures.queued);
        self.bar.set_position(figures.done);
        self.bar.set_message(describe_crawl(figures));
    }

    /// Prints a line above the bar.
    pub fn say(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How far a model is fetched, on stderr while it is a terminal.
#[derive(Debug)]
pub struct FetchBar {
    bar: ProgressBar,
}

impl FetchBar {
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {eta} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        Self { bar }
    }

    pub fn show(&self, progress: &FetchProgress) {
        self.bar.set_length(progress.bytes_total);
        self.bar.set_position(progress.bytes_done);
        self.bar.set_message(one_line(&progress.file));
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Files, speed, time left and the file in hand.
fn describe(progress: &JobProgress) -> String {
    let JobProgress { files_done, files_total, tokens_per_second, seconds_left, .. } = progress;
    // A transfer has no files.
    if *files_total == 0 && progress.bytes_total > 0 {
        let [done, total] = [progress.bytes_done, progress.bytes_total].map(figures::bytes);
        return format!("{done} of {total}");
    }
    // While folders are being listed the total still grows.
    let growing = if progress.scanning { "+" } else { "" };
    let mut parts = vec![format!(
        "{}/{}{growing} files",
        figures::count(*files_done),
        figures::count(*files_total)
    )];
    if *tokens_per_second >= 1.0 {
        parts.push(format!("{} tokens/s", figures::count(tokens_per_second.round() as u64)));
    }
    if let Some(left) = seconds_left {
        parts.push(format!("{} left", figures::seconds(left.ceil())));
    }
    if let Some(name) = progress.in_hand.as_deref().and_then(|path| path.file_name()) {
        parts.push(one_line(&name.to_string_lossy()));
    }
    parts.join(", ")
}

/// Pages, speed, what failed and the page in hand.
fn describe_crawl(figures: &CrawlFigures) -> String {
    let CrawlFigures { done, queued, failed, bytes, pages_per_second, .. } = figures;
    let known = figures::count(done + queued);
    let mut parts = vec![
        format!("{}/{known}+ pages", figures::count(*done)),
        format!("{pages_per_second:.1}/s"),
        figures::bytes(*bytes),
    ];
    if *failed > 0 {
        parts.push(format!("{} failed", figures::count(*failed)));
    }
    if let Some(url) = &figures.in_hand {
        parts.push(one_line(url.path()));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawl_says_pages_speed_and_size() {
        let mut figures = CrawlFigures {
            done: 34,
            queued: 1_200,
            bytes: 2_500_000,
            pages_per_second: 4.25,
            ..CrawlFigures::default()
        };
        assert_eq!(describe_crawl(&figures), "34/1,234+ pages, 4.2/s, 2.5 MB");
        figures.failed = 2;
        figures.in_hand = "https://example.org/guide/".parse().ok();
        assert_eq!(describe_crawl(&figures), "34/1,234+ pages, 4.2/s, 2.5 MB, 2 failed, /guide/");
    }

    #[test]
    fn progress_says_files_speed_and_time_left() {
        let mut progress =
            JobProgress { scanning: true, files_total: 1200, ..JobProgress::default() };
        assert_eq!(describe(&progress), "0/1,200+ files");
        progress.scanning = false;
        progress.files_done = 7;
        progress.tokens_per_second = 4321.4;
        progress.seconds_left = Some(61.2);
        progress.in_hand = Some("/a/b c.md".into());
        assert_eq!(describe(&progress), "7/1,200 files, 4,321 tokens/s, 1 min 02 s left, b c.md");
    }
}
