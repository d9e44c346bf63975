//! What sentence-transformers writes beside a network: how rows are pooled, how long a text may be, and
//! what is said before it.

use std::collections::HashMap;

use serde::Deserialize;

use super::ModelFilesError;
use super::familiar::Familiar;
use super::source::FileSource;
use crate::inference::Pooling;
use crate::tokenization::Prompts;

const MODULES: &str = "modules.json";
/// Where the pooling is when no `modules.json` says it.
const POOLING_FOLDER: &str = "1_Pooling";

/// One entry of `modules.json`.
#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the file has one switch for each way")]
struct PoolingFile {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_max_tokens: bool,
    #[serde(default)]
    pooling_mode_mean_sqrt_len_tokens: bool,
    #[serde(default)]
    pooling_mode_weightedmean_tokens: bool,
    #[serde(default)]
    pooling_mode_lasttoken: bool,
    /// Instead of the switches, since sentence-transformers 5.
    #[serde(default)]
    pooling_mode: Option<String>,
    #[serde(default = "PoolingFile::include_prompt_default")]
    include_prompt: bool,
}

impl PoolingFile {
    fn include_prompt_default() -> bool {
        true
    }

    fn modes(&self) -> Vec<&str> {
        if let Some(mode) = &self.pooling_mode {
            return vec![mode];
        }
        let switches = [
            (self.pooling_mode_cls_token, "cls"),
            (self.pooling_mode_mean_tokens, "mean"),
            (self.pooling_mode_max_tokens, "max"),
            (self.pooling_mode_mean_sqrt_len_tokens, "mean_sqrt_len_tokens"),
            (self.pooling_mode_weightedmean_tokens, "weightedmean"),
            (self.pooling_mode_lasttoken, "lasttoken"),
        ];
        switches.into_iter().filter(|(on, _)| *on).map(|(_, mode)| mode).collect()
    }
}

/// How the model pools; without a file that says it, as `familiar` does.
pub(super) fn pooling(
    source: &FileSource<'_>,
    familiar: &Familiar,
) -> Result<Pooling, ModelFilesError> {
    let modules: Option<Vec<Module>> = source.find_json(MODULES)?;
    let folder = match modules {
        None => POOLING_FOLDER.to_owned(),
        Some(modules) => match pooling_folder(source, modules)? {
            Some(folder) => folder,
            None => return Ok(familiar.pooling),
        },
    };
    let name = format!("{folder}/config.json");
    let Some(file) = source.find_json::<PoolingFile>(&name)? else {
        return Ok(familiar.pooling);
    };
    if !file.include_prompt {
        return Err(source.unsupported(&name, "prompts are left out of the mean"));
    }
    match file.modes().as_slice() {
        ["mean"] => Ok(Pooling::Mean),
        ["cls"] => Ok(Pooling::Cls),
        modes => {
            let reason = format!("it pools by {modes:?}; \"mean\" or \"cls\" alone are known");
            Err(source.unsupported(&name, reason))
        }
    }
}

fn pooling_folder(
    source: &FileSource<'_>,
    modules: Vec<Module>,
) -> Result<Option<String>, ModelFilesError> {
    let mut folder = None;
    for module in modules {
        match module.kind.rsplit('.').next().unwrap_or_default() {
            "Transformer" if module.path.is_empty() => {}
            "Pooling" => folder = Some(module.path),
            // Every embedding is brought to unit length anyway.
            "Normalize" => {}
            kind => {
                let reason = format!("module {kind} in {:?} is not known", module.path);
                return Err(source.unsupported(MODULES, reason));
            }
        }
    }
    Ok(folder)
}

#[derive(Deserialize)]
struct LengthFile {
    max_seq_length: Option<usize>,
}

/// The longest text in tokens as the model was trained, when a file says it.
pub(super) fn tokens_max(source: &FileSource<'_>) -> Result<Option<usize>, ModelFilesError> {
    let file: Option<LengthFile> = source.find_json("sentence_bert_config.json")?;
    Ok(file.and_then(|file| file.max_seq_length))
}

#[derive(Deserialize)]
struct PromptsFile {
    #[serde(default)]
    prompts: HashMap<String, String>,
}

/// The model's own prompts; without any in its files, those of `familiar`.
///
/// sentence-transformers gives every model empty prompts under the usual names when it saves one, so
/// prompts that are all empty say nothing.
pub(super) fn prompts(
    source: &FileSource<'_>,
    familiar: &Familiar,
) -> Result<Prompts, ModelFilesError> {
    let file: Option<PromptsFile> = source.find_json("config_sentence_transformers.json")?;
    let mut prompts = file.map(|file| file.prompts).unwrap_or_default();
    let mut take = |names: &[&str]| {
        names.iter().find_map(|name| prompts.remove(*name).filter(|p| !p.is_empty()))
    };
    let (query, passage) = (take(&["query"]), take(&["passage", "document", "corpus"]));
    if query.is_none() && passage.is_none() {
        return Ok(familiar.prompts());
    }
    Ok(Prompts { query: query.unwrap_or_default(), passage: passage.unwrap_or_default() })
}
