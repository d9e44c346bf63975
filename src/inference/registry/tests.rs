//! The registry against a hub on this machine, which speaks as much of the protocol as is asked for.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use sha2::{Digest as _, Sha256};

use super::*;
use crate::config::{HubName, ModelFiles, Settings, downloads};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const NAME: &str = "acme/tiny";
const TOKENIZER: &[u8] = include_bytes!("../../../assets/models/all-MiniLM-L6-v2/tokenizer.json");
const CONFIG: &str = r#"{"model_type": "bert", "vocab_size": 30522, "hidden_size": 4,
    "num_hidden_layers": 0, "num_attention_heads": 2, "intermediate_size": 4,
    "max_position_embeddings": 16, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
    "hidden_act": "gelu"}"#;

fn weights() -> Vec<u8> {
    let shapes = [
        ("embeddings.word_embeddings.weight", vec![30_522, 4]),
        ("embeddings.position_embeddings.weight", vec![16, 4]),
        ("embeddings.token_type_embeddings.weight", vec![2, 4]),
        ("embeddings.LayerNorm.weight", vec![4]),
        ("embeddings.LayerNorm.bias", vec![4]),
    ];
    // Small numbers that differ, as binary16.
    let numbers: Vec<u8> = (0..30_522_u32 * 4)
        .flat_map(|n| half::f16::from_f32((n * 7_919 % 211) as f32 / 211.0).to_le_bytes())
        .collect();
    let views = shapes.iter().map(|(name, shape)| {
        let bytes = &numbers[..shape.iter().product::<usize>() * 2];
        (*name, TensorView::new(Dtype::F16, shape.clone(), bytes).unwrap())
    });
    safetensors::serialize(views, None).unwrap()
}

fn model() -> BTreeMap<&'static str, Vec<u8>> {
    BTreeMap::from([
        ("config.json", CONFIG.as_bytes().to_vec()),
        ("tokenizer.json", TOKENIZER.to_vec()),
        ("model.safetensors", weights()),
        ("README.md", b"not needed".to_vec()),
        ("pytorch_model.bin", b"not needed".to_vec()),
    ])
}

/// How the hub behaves.
#[derive(Default)]
struct Manners {
    /// Every answer has this status.
    status: Option<u16>,
    /// The weights break off after so many bytes, once.
    breaks_at: Option<usize>,
    /// The weights come with a wrong byte, once.
    is_wrong: bool,
    /// Ranges of the weights that were asked for, but for the question of how large they are.
    ranges: Vec<String>,
    files: Vec<String>,
}

struct LocalHub {
    endpoint: String,
    manners: Arc<Mutex<Manners>>,
    data: tempfile::TempDir,
}

impl LocalHub {
    fn start(manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let manners = Arc::new(Mutex::new(manners));
        let shared = Arc::clone(&manners);
        let files = Arc::new(model());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, files) = (Arc::clone(&shared), Arc::clone(&files));
                std::thread::spawn(move || answer(stream, &shared, &files));
            }
        });
        Self { endpoint, manners, data: tempfile::tempdir().unwrap() }
    }

    fn hub(&self) -> Hub {
        Hub { endpoint: Some(self.endpoint.clone()), retries: 0 }
    }

    fn add(&self) -> Result<KnownModel, RegistryError> {
        add(&self.hub(), NAME, self.data.path(), &mut |_| ())
    }

    fn visible(&self) -> Vec<String> {
        let listed = list(self.data.path(), &Settings::default()).unwrap();
        listed.iter().map(|known| known.files.name()).collect()
    }
}

fn answer(mut stream: TcpStream, manners: &Mutex<Manners>, files: &BTreeMap<&str, Vec<u8>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let path =
        lines.next().and_then(|l| l.split(' ').nth(1).map(str::to_owned)).unwrap_or_default();
    let headers: Vec<_> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let range = headers.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("range").then(|| value.to_owned())
    });
    let mut manners = manners.lock().unwrap();
    let mut reply = |head: String, body: &[u8]| {
        let head = format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n");
        // The other side may have seen enough.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    };
    if let Some(status) = manners.status {
        return reply(format!("{status} No\r\nContent-Length: 0"), b"");
    }
    if path.starts_with("/api/models/acme/tiny/revision/") {
        let siblings: Vec<_> =
            files.keys().map(|name| serde_json::json!({ "rfilename": name })).collect();
        let info = serde_json::json!({ "siblings": siblings, "sha": COMMIT }).to_string();
        return reply(format!("200 OK\r\nContent-Length: {}", info.len()), info.as_bytes());
    }
    let name = path.strip_prefix(&format!("/acme/tiny/resolve/{COMMIT}/")).unwrap_or("");
    let Some(whole) = files.get(name) else {
        return reply("404 Not Found\r\nContent-Length: 0".to_owned(), b"");
    };
    let range = range.unwrap_or_default();
    let (start, stop) = range.trim_start_matches("bytes=").split_once('-').unwrap();
    let start: usize = start.parse().unwrap();
    let stop = stop.parse().map_or(whole.len(), |last: usize| last + 1);
    let is_large = name == "model.safetensors";
    let etag =
        if is_large { hub::hex(&Sha256::digest(whole)) } else { format!("git-{}", whole.len()) };
    let mut body = whole[start..stop].to_vec();
    let length = body.len();
    if range != "bytes=0-0" {
        manners.files.push(name.to_owned());
        if is_large {
            manners.ranges.push(range.clone());
            if let Some(at) = manners.breaks_at.take() {
                body.truncate(at);
            }
            if std::mem::take(&mut manners.is_wrong) {
                body[length / 2] ^= 1;
            }
        }
    }
    let total = whole.len();
    reply(
        format!(
            "206 Partial Content\r\nContent-Length: {length}\r\nETag: \"{etag}\"\r\n\
             X-Repo-Commit: {COMMIT}\r\nContent-Range: bytes {start}-{}/{total}",
            stop - 1
        ),
        &body,
    );
}

#[test]
fn a_model_is_fetched_once_with_what_is_needed_of_it() {
    let local = LocalHub::start(Manners::default());
    let mut seen = Vec::new();
    let tell = &mut |progress: FetchProgress| seen.push(progress);
    let known = add(&local.hub(), NAME, local.data.path(), tell).unwrap();
    assert_eq!((known.kind, known.dim), (KnownModelKind::Embedding, Some(4)));
    assert_eq!(known.files.name(), NAME);
    assert!(seen.is_sorted_by_key(|progress| progress.bytes_done));
    let last = seen.last().unwrap();
    assert_eq!((last.bytes_done, last.bytes_total), (known.bytes, known.bytes));
    let files = std::mem::take(&mut local.manners.lock().unwrap().files);
    assert_eq!(files, ["config.json", "tokenizer.json", "model.safetensors"]);
    assert_eq!(local.visible(), [crate::config::BUNDLED_MODEL, NAME]);
    let folder = downloads(local.data.path());
    let left: Vec<_> = fs::read_dir(&folder).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["acme--tiny"], "something was left over");

    // Once it is here the hub is not asked again, and is not needed.
    local.manners.lock().unwrap().status = Some(500);
    assert!(local.add().is_ok());
    forget(NAME, local.data.path()).unwrap();
    assert_eq!(local.visible(), [crate::config::BUNDLED_MODEL]);
    assert!(matches!(forget(NAME, local.data.path()), Err(RegistryError::Unknown { .. })));
}

#[test]
fn a_broken_line_is_taken_up_where_it_broke() {
    let local = LocalHub::start(Manners { breaks_at: Some(70_000), ..Manners::default() });
    let error = local.add().unwrap_err();
    assert!(matches!(error, RegistryError::Offline { .. }), "{error}");
    assert_eq!(local.visible(), [crate::config::BUNDLED_MODEL]);
    local.add().unwrap();
    assert_eq!(local.manners.lock().unwrap().ranges, ["bytes=0-", "bytes=70000-"]);
    assert_eq!(local.visible(), [crate::config::BUNDLED_MODEL, NAME]);
}

#[test]
fn wrong_bytes_are_not_used() {
    let local = LocalHub::start(Manners { is_wrong: true, ..Manners::default() });
    let error = local.add().unwrap_err();
    assert!(matches!(error, RegistryError::Checksum { .. }), "{error}");
    assert_eq!(local.visible(), [crate::config::BUNDLED_MODEL]);
    local.add().unwrap();
    assert_eq!(local.manners.lock().unwrap().ranges, ["bytes=0-", "bytes=0-"]);
}

#[test]
fn what_the_hub_refuses_is_said_with_what_to_do() {
    let check = |status, part: &str| {
        let local = LocalHub::start(Manners { status: Some(status), ..Manners::default() });
        let error = local.add().unwrap_err().to_string();
        assert!(error.contains(NAME) && error.contains(part), "{error}");
    };
    check(401, "accept its conditions");
    check(404, "the hub has no model");
    check(500, "cannot be reached");

    let data = tempfile::tempdir().unwrap();
    // Nobody listens at a port that was just given back.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let hub = Hub { endpoint: Some(format!("http://127.0.0.1:{port}")), retries: 0 };
    let error = add(&hub, NAME, data.path(), &mut |_| ()).unwrap_err();
    assert!(error.is_environment());
    let error = error.to_string();
    assert!(error.starts_with("acme/tiny is not on this machine and the hub cannot be reached"));
    assert!(
        error.ends_with("connect once, or add a folder with lode models add FOLDER"),
        "{error}"
    );
}

fn write_model(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for (name, bytes) in model() {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

#[test]
fn a_folder_is_checked_and_stays_where_it_is() {
    let (data, models) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = models.path().canonicalize().unwrap().join("mine");
    write_model(&folder);
    let add_path = |path: &Path| {
        let hub = Hub { endpoint: Some("http://127.0.0.1:9".to_owned()), retries: 0 };
        add(&hub, path.to_str().unwrap(), data.path(), &mut |_| ())
    };
    let known = add_path(&folder).unwrap();
    assert_eq!((known.files, known.dim), (ModelFiles::Folder(folder.clone()), Some(4)));
    add_path(&folder).unwrap();
    let settings = Settings::load(data.path()).unwrap();
    assert_eq!(settings.model_folders, std::slice::from_ref(&folder));

    let other = models.path().join("elsewhere/mine");
    write_model(&other);
    assert!(matches!(add_path(&other), Err(RegistryError::NameTaken { .. })));
    let short = models.path().join("short");
    write_model(&short);
    fs::write(
        short.join("config.json"),
        CONFIG.replace("\"hidden_size\": 4", "\"hidden_size\": 8"),
    )
    .unwrap();
    let error = add_path(&short).unwrap_err().to_string();
    assert!(error.contains("embeddings"), "{error}");
    let empty = models.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(matches!(add_path(&empty), Err(RegistryError::NoModel { .. })));
    assert!(matches!(add_path(Path::new("nowhere")), Err(RegistryError::NoName { .. })));

    forget("mine", data.path()).unwrap();
    assert!(folder.join("config.json").is_file());
    assert!(Settings::load(data.path()).unwrap().model_folders.is_empty());
}

#[test]
fn other_weights_have_another_fingerprint() {
    let models = tempfile::tempdir().unwrap();
    let folder = models.path().join("mine");
    write_model(&folder);
    let files = ModelFiles::Folder(folder.clone());
    let before = fingerprint(&files).unwrap();
    assert_eq!(fingerprint(&files).unwrap(), before);
    let mut bytes = weights();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(folder.join("model.safetensors"), bytes).unwrap();
    assert_ne!(fingerprint(&files).unwrap(), before);
    assert_eq!(fingerprint(&ModelFiles::Bundled).unwrap(), None);
    let name = HubName::parse("acme/gone").unwrap();
    assert!(fingerprint(&name.files(models.path())).is_err());
}
