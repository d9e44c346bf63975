use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::private::{is_of_a_person, is_public};

/// Asks for the addresses of a host.
pub type Looking<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Where the addresses of hosts come from, below the check of what they are.
pub trait Lookup: Send + Sync + fmt::Debug {
    fn addresses<'a>(&'a self, host: &'a str) -> Looking<'a>;
}

/// The operating system: its hosts file and its name servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn addresses<'a>(&'a self, host: &'a str) -> Looking<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A host turned out to be at an address that it must not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{host} is at {address}, which is not on the open internet")]
pub(super) struct PrivateAddress {
    pub host: String,
    pub address: String,
}

/// A host has no address, or none is known now.
#[derive(Debug, thiserror::Error)]
#[error("{host} has no address")]
pub(super) struct NoAddress {
    host: String,
    source: Option<io::Error>,
}

/// Whose hosts a resolver serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Hosts that a person typed: they may be private, as long as they are so from the start.
    Typed,
    /// All others.
    None,
}

/// Gives the client the addresses that it may connect to and no others. The client connects to what it
/// is given here and does not ask again, so a name cannot change its mind between check and connection.
#[derive(Debug)]
pub(super) struct GuardedResolver {
    lookup: Arc<dyn Lookup>,
    trust: Trust,
    /// The hosts that have been public: they cannot become private while the program runs, whoever
    /// answers for their names.
    were_public: Arc<Mutex<HashMap<String, bool>>>,
}

impl GuardedResolver {
    pub(super) fn new(lookup: Arc<dyn Lookup>, trust: Trust) -> Self {
        Self { lookup, trust, were_public: Arc::default() }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let lookup = Arc::clone(&self.lookup);
        let were_public = Arc::clone(&self.were_public);
        let trust = self.trust;
        Box::pin(async move {
            let host = name.as_str();
            let no_address = |source| NoAddress { host: host.to_owned(), source };
            let found = lookup.addresses(host).await.map_err(|error| no_address(Some(error)))?;
            if found.is_empty() {
                return Err(no_address(None).into());
            }
            let mut known = were_public.lock().unwrap_or_else(PoisonError::into_inner);
            let was_public = known.get(host).copied();
            let allowed = permitted(host, &found, trust, was_public)?;
            known.insert(host.to_owned(), allowed.iter().any(|address| is_public(*address)));
            let addresses: Vec<_> = allowed.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// The addresses that may be connected to. A host is public or private and never both.
fn permitted(
    host: &str,
    found: &[IpAddr],
    trust: Trust,
    was_public: Option<bool>,
) -> Result<Vec<IpAddr>, PrivateAddress> {
    let public: Vec<IpAddr> = found.iter().copied().filter(|ip| is_public(*ip)).collect();
    let may_be_private = trust == Trust::Typed && public.is_empty() && was_public != Some(true);
    let allowed: Vec<IpAddr> = if may_be_private {
        found.iter().copied().filter(|ip| is_of_a_person(*ip)).collect()
    } else {
        public
    };
    if allowed.is_empty() {
        let address = found.first().map(IpAddr::to_string).unwrap_or_default();
        return Err(PrivateAddress { host: host.to_owned(), address });
    }
    Ok(allowed)
}

/// Checks a host that is an address itself, about which no resolver is asked. The parser of URLs has
/// turned every spelling of an address (octal, one number, short forms) into the ordinary one.
pub(super) fn check_literal(url: &Url, trust: Trust) -> Result<(), PrivateAddress> {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        _ => return Ok(()),
    };
    if trust == Trust::Typed || is_public(address) {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default().to_owned();
    Err(PrivateAddress { host, address: address.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips(addresses: &[&str]) -> Vec<IpAddr> {
        addresses.iter().map(|address| address.parse().unwrap()).collect()
    }

    fn check(found: &[&str], trust: Trust, was_public: Option<bool>, expected: Option<&[&str]>) {
        let permitted = permitted("h", &ips(found), trust, was_public);
        assert_eq!(permitted.ok(), expected.map(ips), "{found:?} {trust:?} {was_public:?}");
    }

    #[test]
    fn a_host_nobody_typed_is_public_or_refused() {
        check(&["1.1.1.1", "2606:4700::1"], Trust::None, None, Some(&["1.1.1.1", "2606:4700::1"]));
        check(&["10.0.0.1", "1.1.1.1"], Trust::None, None, Some(&["1.1.1.1"]));
        for private in ["10.0.0.1", "127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254", "::"] {
            check(&[private], Trust::None, None, None);
        }
    }

    #[test]
    fn a_typed_host_may_be_private_from_the_start_and_not_later() {
        check(&["127.0.0.1"], Trust::Typed, None, Some(&["127.0.0.1"]));
        check(&["127.0.0.1"], Trust::Typed, Some(false), Some(&["127.0.0.1"]));
        check(&["127.0.0.1"], Trust::Typed, Some(true), None);
        check(&["127.0.0.1", "1.1.1.1"], Trust::Typed, None, Some(&["1.1.1.1"]));
        for never in ["169.254.169.254", "0.0.0.0", "fe80::1", "100.100.100.200"] {
            check(&[never], Trust::Typed, None, None);
        }
    }

    #[test]
    fn every_spelling_of_an_address_is_seen_through() {
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://0/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "http://169.254.169.254/latest/meta-data/",
            "http://100.64.0.1/",
            "http://①②⑦.0.0.1/",
        ] {
            let url = Url::parse(url).unwrap();
            assert!(check_literal(&url, Trust::None).is_err(), "{url}");
            assert!(check_literal(&url, Trust::Typed).is_ok(), "{url}");
        }
        for url in ["http://1.1.1.1/", "http://example.org/", "http://127.0.0.1.example.org/"] {
            assert!(check_literal(&Url::parse(url).unwrap(), Trust::None).is_ok(), "{url}");
        }
    }

    #[derive(Debug)]
    struct Turncoat(Mutex<Vec<&'static str>>);

    impl Lookup for Turncoat {
        fn addresses<'a>(&'a self, _host: &'a str) -> Looking<'a> {
            let next = self.0.lock().unwrap().remove(0);
            Box::pin(async move { Ok(vec![next.parse().unwrap()]) })
        }
    }

    #[tokio::test]
    async fn a_name_that_turns_private_is_refused() {
        let lookup = Arc::new(Turncoat(Mutex::new(vec!["1.1.1.1", "127.0.0.1", "1.1.1.1"])));
        let resolver = GuardedResolver::new(lookup, Trust::Typed);
        let name = || "rebinding.test".parse().unwrap();
        assert!(resolver.resolve(name()).await.is_ok());
        let error = resolver.resolve(name()).await.err().unwrap();
        assert!(error.downcast_ref::<PrivateAddress>().is_some(), "{error}");
        assert!(resolver.resolve(name()).await.is_ok());
    }
}
