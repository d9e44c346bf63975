//! The real SmolLM2-135M-Instruct against what llama.cpp makes of the same file.

use serde::Deserialize;

use super::*;
use crate::inference::{ChatMessage, Role};

#[derive(Deserialize)]
struct Golden {
    tokens: Vec<Tokens>,
    templates: Vec<Rendered>,
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Tokens {
    text: String,
    ids: Vec<u32>,
}

#[derive(Deserialize)]
struct Rendered {
    messages: Vec<Message>,
    prompt: String,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: String,
}

#[derive(Deserialize)]
struct Answer {
    prompt: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    token: u32,
    /// Ids with the natural logarithms of their probabilities.
    likeliest: Vec<(u32, f32)>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../../../../tests/goldens/smollm2.json")).unwrap()
}

fn path() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    let folder = cache.unwrap_or_else(home).join("lodestone/test-models");
    let path = folder.join("SmolLM2-135M-Instruct.Q4_1.gguf");
    assert!(path.exists(), "{} is missing: scripts/test models fetches it", path.display());
    path
}

#[test]
#[ignore = "needs the language model that scripts/test fetches"]
fn tokens_are_those_of_llama_cpp() {
    let model = LanguageModel::open(&path()).unwrap();
    for Tokens { text, ids } in golden().tokens {
        assert_eq!(model.tokenizer.encode(&text).unwrap(), ids, "{text:?}");
        let shown = |id: &u32| model.tokenizer.bytes(*id).to_vec();
        let back = String::from_utf8(ids.iter().flat_map(shown).collect()).unwrap();
        let without_control = text.replace("<|im_start|>", "").replace("<|im_end|>", "");
        assert_eq!(back, without_control);
    }
    assert_eq!(model.tokenizer.ends(), [0, 2]);
}

#[test]
#[ignore = "needs the language model that scripts/test fetches"]
fn the_chat_template_is_rendered_as_by_llama_cpp() {
    let model = LanguageModel::open(&path()).unwrap();
    for Rendered { messages, prompt } in golden().templates {
        let roles = [Role::System, Role::User, Role::Assistant];
        let message = |Message { role, content }| ChatMessage {
            role: roles.into_iter().find(|known| known.name() == role).unwrap(),
            content,
        };
        let messages: Vec<ChatMessage> = messages.into_iter().map(message).collect();
        assert_eq!(model.template.render(&messages).unwrap(), prompt);
    }
}

/// Both quantize activations to 8 bits, in their own ways, and llama.cpp keeps keys and values in f16;
/// so probabilities agree nearly. A wrong rotation, norm or mask is off by whole units.
#[test]
#[ignore = "needs the language model that scripts/test fetches"]
fn probabilities_are_those_of_llama_cpp() {
    let tokenizer = LanguageModel::open(&path()).unwrap().tokenizer;
    let llama = forward_pass(&path());
    for Answer { prompt, steps } in golden().answers {
        let mut cache = cache::KvCache::new(&llama.config, &llama.device);
        let mut unread = tokenizer.encode(&prompt).unwrap();
        for (at, step) in steps.iter().enumerate() {
            let rows = llama.read(&unread, &mut cache).unwrap();
            let logits = llama.logits(&rows).unwrap();
            let sum: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
            for (id, want) in &step.likeliest {
                let got = logits[*id as usize] - sum.ln() as f32;
                // What is unlikely is less certain.
                let tolerance = 0.3 + 0.1 * want.abs();
                assert!((got - want).abs() < tolerance, "step {at}, token {id}: {got}, not {want}");
            }
            unread = vec![step.token];
        }
    }
}

#[test]
#[ignore = "needs the language model that scripts/test fetches"]
fn greedy_answers_are_what_they_were() {
    let tokenizer = LanguageModel::open(&path()).unwrap().tokenizer;
    let mut model = load(&path());
    for (Answer { prompt, .. }, want) in
        golden().answers.iter().zip(["The capital of France is Paris.", "The answer to this question is that the sky appears blue because of the way our eyes perceive \
         light. When sunlight reaches our"])
    {
        let prompt = tokenizer.encode(prompt).unwrap();
        let mut session = model.start(prompt, Sampling::greedy()).unwrap();
        let tokens = continued(&mut *session, &[64], 24);
        let answer = tokens.split(|id| tokenizer.ends().contains(id)).next().unwrap();
        let bytes = answer.iter().flat_map(|id| tokenizer.bytes(*id)).copied().collect();
        assert_eq!(String::from_utf8(bytes).unwrap(), want);
    }
}

#[test]
#[ignore = "needs the language model that scripts/test fetches"]
fn a_long_prompt_may_be_read_in_any_chunks() {
    let tokenizer = LanguageModel::open(&path()).unwrap().tokenizer;
    let mut model = load(&path());
    let text = "The quick brown fox jumps over the lazy dog near 12 rivers.\n".repeat(6);
    let prompt = tokenizer.encode(&text).unwrap();
    assert!(prompt.len() > 80, "long enough to make the cache grow: {}", prompt.len());
    let mut tokens = |chunks: &[usize]| {
        let mut session = model.start(prompt.clone(), Sampling::greedy()).unwrap();
        continued(&mut *session, chunks, 16)
    };
    let want = tokens(&[usize::MAX]);
    for chunks in [&[1_usize][..], &[7, 64], &[63, 2]] {
        assert_eq!(tokens(chunks), want, "{chunks:?}");
    }
}
