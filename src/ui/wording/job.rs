use lodestone::engine::{EndedJob, JobEnd, Latency};

use super::{count, counted};

/// What came of a job: `34 documents, 2 not indexed`, or why it failed.
pub fn job_result(job: &EndedJob) -> String {
    let end = match job.end {
        JobEnd::Done => None,
        JobEnd::Cancelled => Some("Cancelled"),
        JobEnd::Paused => Some("Goes on later"),
        JobEnd::Failed => Some("Failed"),
    };
    if let (JobEnd::Failed | JobEnd::Paused, Some(reason)) = (job.end, &job.reason) {
        return format!("{}: {reason}", end.unwrap_or_default());
    }
    let documents = (job.documents > 0).then(|| counted(job.documents, "document"));
    let trouble = (job.trouble > 0).then(|| format!("{} not indexed", count(job.trouble)));
    let parts: Vec<String> =
        end.map(str::to_owned).into_iter().chain(documents).chain(trouble).collect();
    if parts.is_empty() { "Done".to_owned() } else { parts.join(", ") }
}

/// `8 s`, `3 min`, `2 h 7 min`.
pub fn took(seconds: i64) -> String {
    match seconds.max(0) {
        0 => "under 1 s".to_owned(),
        seconds @ 1..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A time as it is read off a chart or a table: `0.4 ms`, `12 ms`, `1.3 s`.
pub fn milliseconds(ms: f64) -> String {
    match ms {
        ..0.95 => format!("{ms:.1} ms"),
        ..999.5 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

/// Median and the slow end, or that nothing was measured.
pub fn latency(latency: &Latency) -> [String; 2] {
    let shown = |ms: Option<f64>| ms.map_or("–".to_owned(), milliseconds);
    [shown(latency.p50_ms), shown(latency.p95_ms)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(end: JobEnd, documents: u64, trouble: u64, reason: Option<&str>) -> EndedJob {
        let reason = reason.map(str::to_owned);
        let (label, passages, tokens) = ("Indexing Notes".to_owned(), 0, 0);
        let (started_at, ended_at) = (0, 9);
        EndedJob { label, started_at, ended_at, end, documents, passages, tokens, trouble, reason }
    }

    #[test]
    fn a_job_is_told_by_what_came_of_it() {
        for (job, told) in [
            (job(JobEnd::Done, 34, 2, None), "34 documents, 2 not indexed"),
            (job(JobEnd::Done, 0, 0, None), "Done"),
            (job(JobEnd::Cancelled, 3, 0, None), "Cancelled, 3 documents"),
            (job(JobEnd::Failed, 0, 0, Some("disk full")), "Failed: disk full"),
            (job(JobEnd::Paused, 5, 0, None), "Goes on later, 5 documents"),
        ] {
            assert_eq!(job_result(&job), told);
        }
    }

    #[test]
    fn times_stay_short() {
        let shown = [0, 8, 59, 150, 7_620].map(took);
        assert_eq!(shown, ["under 1 s", "8 s", "59 s", "3 min", "2 h 7 min"]);
        let shown = [0.42, 0.97, 12.4, 999.7].map(milliseconds);
        assert_eq!(shown, ["0.4 ms", "1 ms", "12 ms", "1.0 s"]);
        assert_eq!(latency(&Latency::default()), ["–", "–"]);
    }
}
