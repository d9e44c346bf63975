//! What went wrong with a connection, in words for people.

use std::error::Error;
use std::io;

use rustls::CertificateError;

use super::resolver::{NoAddress, PrivateAddress};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It holds for as long as the host is where it is.
    Private(PrivateAddress),
    /// It may pass.
    Passing(String),
}

impl Trouble {
    pub(super) fn of(error: &reqwest::Error, host: &str) -> Self {
        if let Some(private) = find::<PrivateAddress>(error) {
            return Self::Private(private.clone());
        }
        if find::<NoAddress>(error).is_some() {
            let words = format!("there is no host {host}, or this computer is offline");
            return Self::Passing(words);
        }
        if let Some(error) = find::<rustls::Error>(error) {
            return Self::Passing(tls_in_words(error, host));
        }
        if let Some(error) = find::<hyper::Error>(error) {
            if error.is_parse_too_large() {
                let words = format!("{host} sends a head without end in place of a page");
                return Self::Passing(words);
            }
            if error.is_parse() {
                let words = format!("what listens at {host} does not speak HTTP");
                return Self::Passing(words);
            }
            if error.is_incomplete_message() {
                return Self::Passing(format!("{host} broke off before all had come"));
            }
        }
        if error.is_timeout() {
            return Self::Passing(format!("{host} does not answer in time"));
        }
        if let Some(error) = find::<io::Error>(error) {
            return Self::Passing(io_in_words(error, host));
        }
        Self::Passing(format!("{host} cannot be reached: {}", deepest(error)))
    }
}

fn tls_in_words(error: &rustls::Error, host: &str) -> String {
    use rustls::Error as Tls;
    match error {
        Tls::InvalidCertificate(error) => certificate_in_words(error, host),
        Tls::InvalidMessage(_) => format!(
            "what listens at {host} does not speak TLS; if it is a server without encryption, add it \
             with http:// in front"
        ),
        Tls::PeerIncompatible(_) => {
            format!("{host} only offers encryption that is too old to be safe (before TLS 1.2)")
        }
        Tls::AlertReceived(alert) => {
            format!("{host} refuses an encrypted connection ({alert:?})")
        }
        other => format!("an encrypted connection to {host} fails: {other}"),
    }
}

fn certificate_in_words(error: &CertificateError, host: &str) -> String {
    use CertificateError as C;
    let what = match error {
        C::Expired | C::ExpiredContext { .. } => "has expired",
        C::NotValidYet | C::NotValidYetContext { .. } => {
            "is not valid yet; see whether the clock of this computer is right"
        }
        C::NotValidForName | C::NotValidForNameContext { .. } => "belongs to another host",
        C::UnknownIssuer => {
            "was issued by nobody who is known, perhaps by itself; such a site can be added with \
             http:// if it offers that"
        }
        C::Revoked => "was revoked",
        other => return format!("the certificate of {host} cannot be trusted: {other}"),
    };
    format!("the certificate of {host} {what}")
}

fn io_in_words(error: &io::Error, host: &str) -> String {
    use io::ErrorKind as Kind;
    // Those that wrap another are of no kind.
    if let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<io::Error>()) {
        return io_in_words(inner, host);
    }
    match error.kind() {
        Kind::ConnectionRefused => format!("no server answers at {host}"),
        Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe => {
            format!("{host} broke the connection off")
        }
        Kind::UnexpectedEof => format!("{host} broke off before all had come"),
        Kind::HostUnreachable | Kind::NetworkUnreachable | Kind::NetworkDown => {
            format!("there is no way to {host}; see whether this computer is online")
        }
        Kind::TimedOut => format!("{host} does not answer in time"),
        _ => format!("{host} cannot be reached: {error}"),
    }
}

/// An error of this type among the causes, those that an [`io::Error`] wraps included, which it does
/// not name as its source.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

fn deepest<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_found_through_wrappers() {
        let tls = rustls::Error::InvalidCertificate(CertificateError::Expired);
        let wrapped = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls));
        let found = find::<rustls::Error>(&wrapped).unwrap();
        assert_eq!(tls_in_words(found, "a.test"), "the certificate of a.test has expired");
    }

    #[test]
    fn certificates_are_spoken_of_in_words() {
        for (error, words) in [
            (CertificateError::NotValidForName, "belongs to another host"),
            (CertificateError::UnknownIssuer, "issued by nobody who is known"),
            (CertificateError::NotValidYet, "clock of this computer"),
            (CertificateError::Revoked, "was revoked"),
            (CertificateError::BadSignature, "cannot be trusted"),
        ] {
            let said = certificate_in_words(&error, "a.test");
            assert!(said.contains(words) && said.contains("a.test"), "{said}");
        }
    }
}
