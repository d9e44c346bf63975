//! One window a data directory: whoever starts a second one hands over what it was started with.
//!
//! The first holds `window.lock` and listens on a port of the loopback interface; the port and a secret
//! stand in `window.address`, which only the owner of the data directory can read.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use lodestone::config;
use serde::{Deserialize, Serialize};

use super::arguments::Wish;

const LOCK: &str = "window.lock";
const ADDRESS: &str = "window.address";

/// A process that has just started may not have written its address yet.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A visitor says all it has to say at once.
const VISIT_MAX: Duration = Duration::from_secs(2);
const WISH_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    #[error("{path} cannot be used: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("no secret for the window's door: {0}")]
    Secret(getrandom::Error),
    #[error(
        "another window uses {data_dir} and does not answer; close it, or end its process, and \
         start again"
    )]
    Silent { data_dir: PathBuf },
}

/// Whose turn it is to show the window.
#[derive(Debug)]
pub enum Instance {
    First(Doorbell),
    /// Another process has it, and has taken the wish over.
    Another,
}

/// Where a second start is heard, for as long as this is kept.
#[derive(Debug)]
pub struct Doorbell {
    /// Released when the process ends, however it ends.
    lock: File,
    listener: TcpListener,
    secret: String,
}

#[derive(Serialize, Deserialize)]
struct Address {
    port: u16,
    secret: String,
}

#[derive(Serialize, Deserialize)]
struct Visit {
    secret: String,
    wish: Wish,
}

/// Becomes the one window of a data directory, or hands `wish` to the one that there is.
///
/// # Errors
/// When the data directory cannot be written, or the other window does not answer.
pub fn claim(data_dir: &Path, wish: &Wish) -> Result<Instance, InstanceError> {
    let in_file = |name: &str| {
        let path = data_dir.join(name);
        move |source| InstanceError::File { path, source }
    };
    config::prepare_data_dir(data_dir).map_err(in_file(""))?;
    let deadline = Instant::now() + ANSWER_WITHIN;
    loop {
        let lock = File::create(data_dir.join(LOCK)).map_err(in_file(LOCK))?;
        match lock.try_lock() {
            Ok(()) => return Ok(Instance::First(listen(data_dir, lock)?)),
            Err(TryLockError::Error(source)) => return Err(in_file(LOCK)(source)),
            Err(TryLockError::WouldBlock) => {}
        }
        if visit(data_dir, wish).is_ok() {
            return Ok(Instance::Another);
        }
        if Instant::now() >= deadline {
            return Err(InstanceError::Silent { data_dir: data_dir.to_owned() });
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

fn listen(data_dir: &Path, lock: File) -> Result<Doorbell, InstanceError> {
    let path = data_dir.join(ADDRESS);
    let in_file = |source| InstanceError::File { path: path.clone(), source };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(in_file)?;
    let port = listener.local_addr().map_err(in_file)?.port();
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(InstanceError::Secret)?;
    let secret = format!("{:032x}", u128::from_le_bytes(random));
    let address = Address { port, secret: secret.clone() };
    let fresh = path.with_extension("new");
    let written = serde_json::to_vec(&address)
        .map_err(io::Error::from)
        .and_then(|address| fs::write(&fresh, address))
        .and_then(|()| fs::rename(&fresh, &path));
    written.map_err(in_file)?;
    Ok(Doorbell { lock, listener, secret })
}

/// Says at the other window's door what is wished, and waits until it was heard.
fn visit(data_dir: &Path, wish: &Wish) -> io::Result<()> {
    let address: Address = serde_json::from_slice(&fs::read(data_dir.join(ADDRESS))?)?;
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, address.port));
    let mut stream = TcpStream::connect_timeout(&to, VISIT_MAX)?;
    stream.set_read_timeout(Some(VISIT_MAX))?;
    let mut line = serde_json::to_vec(&Visit { secret: address.secret, wish: wish.clone() })?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut heard = [0_u8; 1];
    stream.read_exact(&mut heard)
}

impl Doorbell {
    /// Hands what every later start wishes to `ring`, on a thread of its own. Where that says no, because
    /// the window is about to go, the visitor is not answered and waits for its turn.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn answer(self, ring: impl Fn(Wish) -> bool + Send + 'static) -> io::Result<()> {
        let answer = move || {
            let Self { lock: _lock, listener, secret } = self;
            for visitor in listener.incoming() {
                if let Err(error) = visitor.and_then(|visitor| hear(&visitor, &secret, &ring)) {
                    tracing::debug!(%error, "a visitor left early");
                }
            }
        };
        thread::Builder::new().name("window-door".to_owned()).spawn(answer).map(drop)
    }
}

/// Takes the wish of a visitor who knows the secret.
fn hear(mut visitor: &TcpStream, secret: &str, ring: impl Fn(Wish) -> bool) -> io::Result<()> {
    visitor.set_read_timeout(Some(VISIT_MAX))?;
    visitor.set_write_timeout(Some(VISIT_MAX))?;
    let mut line = Vec::new();
    BufReader::new(visitor.take(WISH_BYTES_MAX)).read_until(b'\n', &mut line)?;
    match serde_json::from_slice::<Visit>(&line) {
        Ok(visit) if visit.secret == secret => {
            if ring(visit.wish) {
                visitor.write_all(b"!")?;
            }
        }
        _ => tracing::warn!("a stranger at the window's door was sent away"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn wish() -> Wish {
        Wish { paths: vec!["/tmp/notes".into()], addresses: vec!["https://example.org".into()] }
    }

    #[test]
    fn a_second_start_hands_over_and_strangers_are_not_heard() {
        let place = tempfile::tempdir().unwrap();
        let Instance::First(doorbell) = claim(place.path(), &Wish::default()).unwrap() else {
            panic!("nobody else is there")
        };
        let port = doorbell.listener.local_addr().unwrap().port();
        let (ring, heard) = mpsc::channel();
        doorbell.answer(move |wish| ring.send(wish).is_ok()).unwrap();
        for said in ["hello\n", "{\"secret\":\"guess\",\"wish\":{\"paths\":[],\"addresses\":[]}}\n"]
        {
            let mut stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stranger.write_all(said.as_bytes()).unwrap();
            let mut answer = Vec::new();
            stranger.read_to_end(&mut answer).unwrap();
            assert!(answer.is_empty(), "{answer:?}");
        }
        assert!(matches!(claim(place.path(), &wish()).unwrap(), Instance::Another));
        assert_eq!(heard.recv().unwrap(), wish());
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn a_window_that_is_going_takes_nothing_over() {
        let place = tempfile::tempdir().unwrap();
        let Instance::First(Doorbell { lock, listener, secret }) =
            claim(place.path(), &Wish::default()).unwrap()
        else {
            panic!("nobody else is there")
        };
        let going = thread::spawn(move || {
            let (visitor, _) = listener.accept().unwrap();
            hear(&visitor, &secret, |_| false).unwrap();
            // Now the process has ended.
            drop((visitor, lock));
        });
        assert!(matches!(claim(place.path(), &wish()).unwrap(), Instance::First(_)));
        going.join().unwrap();
    }

    #[test]
    fn an_address_that_a_process_left_behind_stops_nobody() {
        let place = tempfile::tempdir().unwrap();
        let first = claim(place.path(), &wish()).unwrap();
        drop(first);
        assert!(place.path().join(ADDRESS).exists());
        assert!(matches!(claim(place.path(), &wish()).unwrap(), Instance::First(_)));
    }
}
