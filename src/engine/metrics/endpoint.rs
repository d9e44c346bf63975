//! Figures for Prometheus, over HTTP on this machine alone.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use super::{Metrics, exposition};
use crate::config::Settings;
use crate::engine::{Engine, EngineError, Inner};

/// Connections at once: one that asks, and a person who looks.
const CONNECTIONS_MAX: usize = 8;

/// How long a client may take to ask.
const ASKS_WITHIN: Duration = Duration::from_secs(5);

/// How long a connection may live.
const CONNECTION_MAX: Duration = Duration::from_mins(1);

const PATH: &str = "/metrics";

#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    #[error(
        "figures are told on this machine alone; {address} is no loopback address, 127.0.0.1 is"
    )]
    NotLoopback { address: SocketAddr },
    #[error("figures cannot be told at {address}: {source}; choose another port")]
    Bind { address: SocketAddr, source: io::Error },
}

/// Whether figures are told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Endpoint {
    #[default]
    Off,
    Listening {
        address: SocketAddr,
    },
    Failed {
        reason: String,
    },
}

/// The endpoint of an engine.
#[derive(Debug, Default)]
pub(in crate::engine) struct EndpointSlot {
    /// Two would bind one port.
    turn: tokio::sync::Mutex<()>,
    now: Mutex<(Endpoint, Option<watch::Sender<bool>>)>,
}

impl EndpointSlot {
    fn set(&self, endpoint: Endpoint, stop: Option<watch::Sender<bool>>) {
        // Dropping the sender before ends the one before.
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = (endpoint, stop);
    }

    fn get(&self) -> Endpoint {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

impl Engine {
    /// Whether figures are told, and where.
    #[must_use]
    pub fn metrics_endpoint(&self) -> Endpoint {
        self.inner.endpoint.get()
    }

    /// Tells figures at this address from now on and at the starts to come, or no longer; gives back
    /// where, since port 0 takes any that is free.
    ///
    /// # Errors
    /// When the address is not of this machine alone or taken, or the settings cannot be written.
    pub async fn tell_metrics(&self, address: Option<SocketAddr>) -> Result<Endpoint, EngineError> {
        let engine = self.clone();
        self.run(async move {
            engine.listen(address).await?;
            let data_dir = engine.inner.config.data_dir.clone();
            let keep = move || {
                Ok(Settings::update(&data_dir, |settings| settings.metrics_address = address)?)
            };
            engine.run_blocking(keep).await?;
            Ok(engine.metrics_endpoint())
        })
        .await
    }

    /// Does again what a person chose before.
    pub(in crate::engine) async fn restore_endpoint(self) {
        let data_dir = self.inner.config.data_dir.clone();
        let load = move || Ok(Settings::load_if_there(&data_dir)?);
        let address = match self.run_blocking(load).await {
            Ok(settings) => settings.and_then(|settings| settings.metrics_address),
            // That the settings cannot be read is said elsewhere.
            Err(_) => None,
        };
        if address.is_some()
            && let Err(error) = self.listen(address).await
        {
            tracing::warn!(%error, "no figures are told");
        }
    }

    async fn listen(&self, address: Option<SocketAddr>) -> Result<(), EngineError> {
        let slot = &self.inner.endpoint;
        let _turn = slot.turn.lock().await;
        slot.set(Endpoint::Off, None);
        let Some(address) = address else { return Ok(()) };
        let (stop, stopped) = watch::channel(false);
        match start(address, Arc::downgrade(&self.inner), stopped).await {
            Ok(address) => slot.set(Endpoint::Listening { address }, Some(stop)),
            Err(error) => {
                slot.set(Endpoint::Failed { reason: error.to_string() }, None);
                return Err(error.into());
            }
        }
        Ok(())
    }
}

async fn start(
    address: SocketAddr,
    inner: Weak<Inner>,
    stopped: watch::Receiver<bool>,
) -> Result<SocketAddr, EndpointError> {
    if !address.ip().is_loopback() {
        return Err(EndpointError::NotLoopback { address });
    }
    let bind = |source| EndpointError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(bind)?;
    let bound = listener.local_addr().map_err(bind)?;
    tokio::spawn(serve(listener, inner, stopped));
    Ok(bound)
}

/// Until the other end of `stopped` is dropped.
async fn serve(listener: TcpListener, inner: Weak<Inner>, mut stopped: watch::Receiver<bool>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => return,
        };
        let Ok((stream, _)) = accepted else { continue };
        let (inner, mut stopped) = (inner.clone(), stopped.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request| answer(request, inner.clone()));
            let mut builder = hyper::server::conn::http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(ASKS_WITHIN);
            let connection = builder.serve_connection(TokioIo::new(stream), answer);
            tokio::select! {
                // A client that breaks off is nobody's trouble.
                _ = tokio::time::timeout(CONNECTION_MAX, connection) => {}
                _ = stopped.changed() => {}
            }
            drop(place);
        });
    }
}

type Answer = Response<Full<Bytes>>;

async fn answer(request: Request<Incoming>, inner: Weak<Inner>) -> Result<Answer, Infallible> {
    let host = request.headers().get(HOST);
    if let Err((status, why)) = admit(request.method(), request.uri().path(), host) {
        let mut refused = plain(status, why.to_owned());
        if status == StatusCode::METHOD_NOT_ALLOWED {
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        return Ok(refused);
    }
    let closed = || plain(StatusCode::SERVICE_UNAVAILABLE, "the index is closed\n".to_owned());
    let Some(engine) = inner.upgrade().map(|inner| Engine { inner }) else { return Ok(closed()) };
    let inner = Arc::clone(&engine.inner);
    let read = engine.run_blocking(move || Ok(exposition::text(&inner, &Metrics::read(&inner)?)));
    Ok(match read.await {
        Ok(text) => plain(StatusCode::OK, text),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    })
}

/// Whether a request may be answered. A page that a browser has open may have its name led to this
/// machine (DNS rebinding) and then ask as itself; the name that it asks for gives it away.
fn admit(
    method: &Method,
    path: &str,
    host: Option<&HeaderValue>,
) -> Result<(), (StatusCode, &'static str)> {
    let Some(host) = host.and_then(|host| host.to_str().ok()) else {
        return Err((StatusCode::BAD_REQUEST, "a request names its host\n"));
    };
    if !is_own(host) {
        return Err((StatusCode::FORBIDDEN, "this is told on this machine alone\n"));
    }
    if path != PATH {
        return Err((StatusCode::NOT_FOUND, "the figures are at /metrics\n"));
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "the figures can only be read\n"));
    }
    Ok(())
}

/// Whether a `Host` header names this machine by an address or name that nobody else can give out.
fn is_own(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) if port.is_empty() || is_port(port) => address,
        Some(_) => return false,
        None => match host.split_once(':') {
            Some((name, port)) if is_digits(port) => name,
            Some(_) => return false,
            None => host,
        },
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(is_digits)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn plain(status: StatusCode, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        for own in
            ["localhost", "LOCALHOST:9464", "127.0.0.1:1", "127.8.8.8", "[::1]:9464", "[::1]"]
        {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "",
            "evil.test",
            "evil.test:9464",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "10.0.0.1",
            "[::2]:1",
            "[::1]x",
            "localhost:",
            "localhost:x",
            "127.0.0.1:1:2",
            "0.0.0.0",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn a_request_is_read_only_and_of_this_machine() {
        let host = HeaderValue::from_static("localhost:1");
        let evil = HeaderValue::from_static("evil.test");
        let refused = |method: Method, path, host| admit(&method, path, host).unwrap_err().0;
        assert!(admit(&Method::GET, "/metrics", Some(&host)).is_ok());
        assert_eq!(refused(Method::GET, "/metrics", None), StatusCode::BAD_REQUEST);
        assert_eq!(refused(Method::GET, "/metrics", Some(&evil)), StatusCode::FORBIDDEN);
        assert_eq!(refused(Method::GET, "/", Some(&host)), StatusCode::NOT_FOUND);
        assert_eq!(refused(Method::POST, "/metrics", Some(&host)), StatusCode::METHOD_NOT_ALLOWED);
    }

    #[tokio::test]
    async fn an_address_that_others_reach_is_refused() {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let (_stop, stopped) = watch::channel(false);
            let started = start(address.parse().unwrap(), Weak::new(), stopped).await;
            assert!(matches!(started, Err(EndpointError::NotLoopback { .. })), "{address}");
        }
    }
}
