use url::{Host, Url};

use super::{UrlError, canonical};
use crate::data::{CrawlRules, Site};

/// Reads what a person types for a site: `docs.rs/tokio`, `https://example.org/guide/`,
/// `localhost:8000`. Without a scheme it is `https`; for `localhost` and numbers, where a server of
/// one's own listens, `http`.
///
/// # Errors
/// When it is no address, of another scheme, or has a user name or password in it.
pub fn site(typed: &str, rules: CrawlRules) -> Result<Site, UrlError> {
    let typed = typed.trim();
    let malformed = || UrlError::Malformed { typed: typed.to_owned() };
    if typed.is_empty() || typed.contains(char::is_whitespace) {
        return Err(malformed());
    }
    let parse = |text: &str| Url::parse(text).map_err(|_| malformed());
    let has_scheme = scheme(typed).is_some();
    let url = if has_scheme { parse(typed)? } else { parse(&format!("https://{typed}"))? };
    let url = if !has_scheme && is_own(&url) { parse(&format!("http://{typed}"))? } else { url };
    let start = canonical(&url)?;
    // A word without a dot is no host that a person means, but `localhost` and names of a home or
    // office network with a port or a path are.
    let host = start.host_str().unwrap_or_default();
    let is_word = !host.contains(['.', ':']) && host != "localhost";
    if is_word && !has_scheme && !typed.contains(['/', ':']) {
        return Err(malformed());
    }
    Ok(Site { start, rules })
}

/// What stands before the colon, unless that is a host and a port follows.
fn scheme(typed: &str) -> Option<&str> {
    let (scheme, rest) = typed.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let port: String = rest.chars().take_while(|c| !"/?#".contains(*c)).collect();
    let is_port = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    (is_scheme && !is_port).then_some(scheme)
}

fn is_own(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(typed: &str) -> String {
        match site(typed, CrawlRules::default()) {
            Ok(site) => site.start.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_people_type_becomes_an_address() {
        for (typed, start) in [
            ("docs.rs/tokio", "https://docs.rs/tokio"),
            (" https://Example.org/guide/#top ", "https://example.org/guide/"),
            ("http://example.org", "http://example.org/"),
            ("example.org:8443/x", "https://example.org:8443/x"),
            ("localhost:8000", "http://localhost:8000/"),
            ("localhost", "http://localhost/"),
            ("127.0.0.1:3000/book/", "http://127.0.0.1:3000/book/"),
            ("192.168.1.7", "http://192.168.1.7/"),
            ("[::1]:80", "http://[::1]/"),
            ("wiki:8080/start", "https://wiki:8080/start"),
            ("//example.org/a", "https://example.org/a"),
            ("bücher.example", "https://xn--bcher-kva.example/"),
        ] {
            assert_eq!(of(typed), start, "{typed}");
        }
    }

    #[test]
    fn what_is_no_address_says_so() {
        for typed in ["", "  ", "how to write tests", "tokio", "https://", "http://a b/"] {
            assert!(of(typed).contains("is no web address"), "{typed}: {}", of(typed));
        }
        assert!(of("ftp://example.org").starts_with("ftp: addresses"));
        assert!(of("file:///etc/passwd").starts_with("file: addresses"));
        assert!(of("javascript:alert(1)").starts_with("javascript: addresses"));
        assert!(of("https://ann:secret@example.org").contains("user name or password"));
    }
}
