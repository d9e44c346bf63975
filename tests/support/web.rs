//! A web server for tests: it says exactly what it is told, and remembers what it was asked.
//!
//! Threads and blocking sockets, so that tests without a runtime can use it as well. What a client
//! leaves unread or never sends holds a thread until the server is dropped.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What a server does when it is asked for a path.
#[derive(Clone)]
pub enum Says {
    /// A whole answer.
    Answer(Answer),
    /// These bytes as they are, and the end of the connection.
    Raw(Vec<u8>),
    /// These bytes, and no more until the server is dropped.
    Stall(Vec<u8>),
    /// These bytes once, then those over and over, for as long as someone reads.
    Endless(Vec<u8>, Vec<u8>),
    /// The first bytes, and then one byte of a body each time so much has passed.
    Trickle(Vec<u8>, Duration),
}

#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// With the query.
    pub path: String,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    pub at: Instant,
}

type Script = Arc<dyn Fn(&Asked) -> Says + Send + Sync>;

/// Listens on a port of this machine until it is dropped.
pub struct Web {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    script: Script,
    asked: Mutex<Vec<Asked>>,
    is_over: Mutex<bool>,
    over: Condvar,
    is_closing: AtomicBool,
}

impl Answer {
    pub fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    fn write(&self) -> Vec<u8> {
        let mut written = format!("HTTP/1.1 {} Said\r\n", self.status).into_bytes();
        for (name, value) in &self.headers {
            written.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if self.status != 304 {
            written
                .extend_from_slice(format!("content-length: {}\r\n", self.body.len()).as_bytes());
        }
        written.extend_from_slice(b"\r\n");
        written.extend_from_slice(&self.body);
        written
    }
}

/// A page in HTML.
pub fn html(body: &str) -> Says {
    Says::Answer(Answer::new(200).header("content-type", "text/html; charset=utf-8").body(body))
}

pub fn status(status: u16) -> Says {
    Says::Answer(Answer::new(status))
}

pub fn redirect(status: u16, target: &str) -> Says {
    Says::Answer(Answer::new(status).header("location", target))
}

impl Web {
    pub fn start(script: impl Fn(&Asked) -> Says + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), script)
    }

    /// At a port of one's own, such as that of a server that is to come back.
    pub fn start_at(
        address: SocketAddr,
        script: impl Fn(&Asked) -> Says + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            script: Arc::new(script),
            asked: Mutex::default(),
            is_over: Mutex::default(),
            over: Condvar::new(),
            is_closing: AtomicBool::new(false),
        });
        let listening = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if listening.is_closing.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { return };
                let state = Arc::clone(&listening);
                thread::spawn(move || state.serve(stream));
            }
        });
        Self { address, state }
    }

    /// A fixed set of pages; everything else is not found, robots.txt with it.
    pub fn of_pages(pages: &[(&str, Says)]) -> Self {
        let pages: HashMap<String, Says> =
            pages.iter().map(|(path, says)| ((*path).to_owned(), says.clone())).collect();
        Self::start(move |asked| pages.get(&asked.path).cloned().unwrap_or_else(|| status(404)))
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What was asked so far, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    pub fn asked_paths(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.path).collect()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        *self.state.is_over.lock().unwrap() = true;
        self.state.over.notify_all();
        self.state.is_closing.store(true, Ordering::SeqCst);
        // Wakes the listener, so that the port is free for the next.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn serve(&self, stream: TcpStream) {
        let Ok(reading) = stream.try_clone() else { return };
        let mut reading = BufReader::new(reading);
        let mut writing = stream;
        while let Some(asked) = read_request(&mut reading) {
            self.asked.lock().unwrap().push(asked.clone());
            let goes_on = self.say((self.script)(&asked), &mut writing);
            if !goes_on || self.is_closing.load(Ordering::SeqCst) {
                return;
            }
        }
    }

    /// Whether the connection can be used again.
    fn say(&self, says: Says, to: &mut TcpStream) -> bool {
        match says {
            Says::Answer(answer) => to.write_all(&answer.write()).is_ok(),
            Says::Raw(bytes) => {
                let _ = to.write_all(&bytes);
                false
            }
            Says::Stall(bytes) => {
                let _ = to.write_all(&bytes);
                let mut is_over = self.is_over.lock().unwrap();
                while !*is_over {
                    is_over = self.over.wait(is_over).unwrap();
                }
                false
            }
            Says::Trickle(first, every) => {
                let _ = to.write_all(&first);
                let mut is_over = self.is_over.lock().unwrap();
                while !*is_over && to.write_all(b"x").is_ok() {
                    is_over = self.over.wait_timeout(is_over, every).unwrap().0;
                }
                false
            }
            Says::Endless(first, then) => {
                if to.write_all(&first).is_ok() {
                    while to.write_all(&then).is_ok() && !self.is_closing.load(Ordering::SeqCst) {}
                }
                false
            }
        }
    }
}

fn read_request(from: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    from.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            return Some(Asked { path, headers, at: Instant::now() });
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }
}
