//! `lode doctor`: is everything well?

use std::fmt::Write as _;

use lodestone::engine::Diagnosis;

use crate::arguments::Common;
use crate::failure::{Exit, Failure};
use crate::output::{Output, Style, one_line};

pub async fn run(recall: bool, common: &Common, output: &Output) -> Result<Exit, Failure> {
    let engine = common.open()?;
    let diagnosis = engine.diagnose(recall).await?;
    output.print(&diagnosis, render)?;
    Ok(if diagnosis.ok { Exit::Done } else { Exit::Unwell })
}

fn render(diagnosis: &Diagnosis, style: Style) -> String {
    let mut text = String::new();
    for check in &diagnosis.checks {
        let verdict = if check.ok { "ok" } else { "FAILED" };
        let name = style.bold(&format!("{:<14}", check.name));
        let _ = writeln!(text, "{name} {verdict:<6} {}", one_line(&check.finding));
    }
    text
}

#[cfg(test)]
mod tests {
    use lodestone::engine::Check;

    use super::*;

    #[test]
    fn each_check_is_a_line() {
        let check = |name, ok, finding: &str| Check { name, ok, finding: finding.to_owned() };
        let checks = vec![
            check("store", true, "3 documents"),
            check("vector index", false, "1 of 2\npassages"),
        ];
        insta::assert_snapshot!(render(&Diagnosis { ok: false, checks }, Style::Plain), @r"
        store          ok     3 documents
        vector index   FAILED 1 of 2 passages
        ");
    }
}
