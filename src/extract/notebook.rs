//! Jupyter notebooks: text and code cell after cell, with what the code printed.

use serde_json::Value;

use super::markdown::{fence, outline};
use super::{Extracted, Unreadable, title};
use crate::data::MediaType;

/// What one output prints beyond this is left out: logs of training runs drown the rest.
const OUTPUT_BYTES_MAX: usize = 4 << 10;

/// # Errors
/// When the text is no notebook or its cells are empty.
pub(super) fn read(json: &str, name: &str) -> Result<Extracted, Unreadable> {
    let damaged = |what: String| Unreadable::Damaged { what: what.into() };
    let notebook: Value = serde_json::from_str(json).map_err(|error| damaged(error.to_string()))?;
    let language = language(&notebook);
    // Up to version 3 of the format the cells stand in worksheets.
    let cells = notebook["cells"].as_array().or(notebook["worksheets"][0]["cells"].as_array());
    let cells = cells.ok_or_else(|| damaged("it has no cells".to_owned()))?;
    let mut text = String::new();
    for cell in cells {
        let source =
            joined(if cell["source"].is_null() { &cell["input"] } else { &cell["source"] });
        match cell["cell_type"].as_str() {
            Some("code") => {
                block(&mut text, language, &source);
                for output in cell["outputs"].as_array().into_iter().flatten() {
                    block(&mut text, "text", &printed(output));
                }
            }
            Some("heading") => {
                let level = cell["level"].as_u64().unwrap_or(1).clamp(1, 6) as usize;
                paragraph(&mut text, &format!("{} {source}", "#".repeat(level)));
            }
            _ => paragraph(&mut text, &source),
        }
    }
    if text.is_empty() {
        return Err(Unreadable::NoText);
    }
    let text = text.replace('\0', " ");
    let headings = outline(&text);
    let title = title::choose(notebook["metadata"]["title"].as_str(), headings.first(), name);
    Ok(Extracted::converted(MediaType::Notebook, title, text, headings.into_marks()))
}

fn language(notebook: &Value) -> &str {
    let metadata = &notebook["metadata"];
    metadata["language_info"]["name"]
        .as_str()
        .or(metadata["kernelspec"]["language"].as_str())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .unwrap_or_default()
}

/// A text, which is written as one string or as one for each line.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// What an output says in plain text; pictures and widgets say nothing.
fn printed(output: &Value) -> String {
    let text = match output["output_type"].as_str() {
        Some("stream") => joined(&output["text"]),
        Some("error") => {
            let part = |name: &str| output[name].as_str().unwrap_or_default();
            format!("{}: {}", part("ename"), part("evalue"))
        }
        _ => joined(&output["data"]["text/plain"]),
    };
    let end = text.floor_char_boundary(text.len().min(OUTPUT_BYTES_MAX));
    text[..end].to_owned()
}

fn paragraph(text: &mut String, part: &str) {
    let part = part.trim();
    if !part.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part);
        text.push('\n');
    }
}

fn block(text: &mut String, language: &str, code: &str) {
    let code = code.trim_matches(['\n', '\r']).trim_end();
    if code.is_empty() {
        return;
    }
    let fence = fence(code);
    paragraph(text, &format!("{fence}{language}\n{code}\n{fence}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_notebooks_keep_their_cells_in_worksheets() {
        let json = r#"{"worksheets":[{"cells":[{"cell_type":"heading","level":2,"source":["Old"]},
            {"cell_type":"code","input":"1+1","outputs":[{"output_type":"pyout"}]}]}]}"#;
        let read = read(json, "a.ipynb").unwrap();
        assert_eq!(read.text, "## Old\n\n```\n1+1\n```\n");
        assert_eq!(read.title, "Old");
    }

    #[test]
    fn what_is_no_notebook_is_refused() {
        for json in ["", "[]", "{}", r#"{"cells":7}"#] {
            assert!(matches!(read(json, "a").unwrap_err(), Unreadable::Damaged { .. }), "{json}");
        }
        assert_eq!(read(r#"{"cells":[{}]}"#, "a").unwrap_err(), Unreadable::NoText);
        let deep = "[".repeat(100_000);
        assert!(matches!(read(&deep, "a").unwrap_err(), Unreadable::Damaged { .. }));
    }
}
