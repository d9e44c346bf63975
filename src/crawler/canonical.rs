use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use url::Url;

use super::tracking;

/// Why an address is none that can be crawled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("{typed:?} is no web address; type one such as https://example.org/docs/")]
    Malformed { typed: String },
    #[error("{scheme}: addresses cannot be crawled, only http: and https:")]
    Scheme { scheme: String },
    #[error("{host} is given with a user name or password; leave it out, pages are read as anyone")]
    Credentials { host: String },
}

/// The one form of an address that the crawl knows a page by: without fragment, tracking parameters,
/// session ids and the dot that may end a host; parameters in the order of their names; percent-encoding
/// only where it is needed and in capitals. Of parameters with the same name the order is kept, since
/// it means something to some servers.
///
/// `canonical(canonical(url)) == canonical(url)`. What it gives is the same page for all but a strange
/// server.
///
/// # Errors
/// When it is not `http` or `https`, or carries a user name or password.
pub fn canonical(url: &Url) -> Result<Url, UrlError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlError::Scheme { scheme: url.scheme().to_owned() });
    }
    let Some(host) = url.host_str() else {
        return Err(UrlError::Malformed { typed: url.to_string() });
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlError::Credentials { host: host.to_owned() });
    }
    let mut canonical = url.clone();
    canonical.set_fragment(None);
    let bare_host = host.trim_end_matches('.');
    if bare_host != host && (bare_host.is_empty() || canonical.set_host(Some(bare_host)).is_err()) {
        return Err(UrlError::Malformed { typed: url.to_string() });
    }
    let path = normalized(&tracking::without_session(url.path()));
    if path != url.path() {
        canonical.set_path(&path);
    }
    let query = url.query().map(canonical_query).filter(|query| !query.is_empty());
    canonical.set_query(query.as_deref());
    Ok(canonical)
}

fn canonical_query(query: &str) -> String {
    let mut parameters: Vec<(String, Cow<'_, str>)> = query
        .split('&')
        .filter(|parameter| !parameter.is_empty() && *parameter != "=")
        .map(|parameter| {
            let parameter = normalized(parameter);
            let (name, value) = parameter.split_once('=').unwrap_or((&parameter, ""));
            (decoded(name), decoded(value), parameter.clone())
        })
        .filter(|(name, value, _)| !tracking::is_tracking(name, value))
        .map(|(name, _, parameter)| (name, Cow::Owned(parameter)))
        .collect();
    parameters.sort_by(|(a, _), (b, _)| a.cmp(b));
    parameters.iter().map(|(_, parameter)| &**parameter).collect::<Vec<_>>().join("&")
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Percent-encoding in capitals, and none of characters that never need it (RFC 3986, 6.2.2).
fn normalized(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        normalized.push_str(&rest[..at]);
        rest = &rest[at..];
        let digits = rest.get(1..3).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(byte) = digits.and_then(|hex| u8::from_str_radix(hex, 16).ok()) else {
            // Or with what is decoded behind it, it would become an escape that it was not.
            normalized.push_str("%25");
            rest = &rest[1..];
            continue;
        };
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            normalized.push(char::from(byte));
        } else {
            normalized.push_str(&rest[..3].to_ascii_uppercase());
        }
        rest = &rest[3..];
    }
    normalized.push_str(rest);
    normalized
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(url: &str) -> String {
        canonical(&Url::parse(url).unwrap()).unwrap().to_string()
    }

    #[test]
    fn spellings_of_one_page_come_out_the_same() {
        for (spelled, expected) in [
            ("HTTP://Example.ORG:80/a", "http://example.org/a"),
            ("https://example.org./a#part", "https://example.org/a"),
            ("https://example.org/a/./b/../c?", "https://example.org/a/c"),
            ("https://example.org/%7Eann/%e2%82%ac%2f", "https://example.org/~ann/%E2%82%AC%2F"),
            ("https://example.org/€", "https://example.org/%E2%82%AC"),
            ("https://example.org?b=2&a=1&&a=0", "https://example.org/?a=1&a=0&b=2"),
            ("https://example.org/?utm_source=x&q=1&fbclid=y", "https://example.org/?q=1"),
            ("https://example.org/?%75tm_medium=x", "https://example.org/"),
            ("https://example.org/a;jsessionid=0F?PHPSESSID=3", "https://example.org/a"),
            ("https://example.org/100%", "https://example.org/100%25"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
        ] {
            assert_eq!(of(spelled), expected, "{spelled}");
        }
    }

    #[test]
    fn what_may_be_another_page_stays_apart() {
        for (a, b) in [
            ("https://example.org/a", "https://example.org/a/"),
            ("https://example.org/a", "https://example.org/A"),
            ("https://example.org/a", "http://example.org/a"),
            ("https://example.org/?a=1&a=2", "https://example.org/?a=2&a=1"),
            ("https://example.org/a%2Fb", "https://example.org/a/b"),
            ("https://example.org/?a=b%26c", "https://example.org/?a=b&c"),
            ("https://example.org/?sid=7", "https://example.org/"),
        ] {
            assert_ne!(of(a), of(b));
        }
    }

    #[test]
    fn other_schemes_and_passwords_are_refused() {
        let error = |url: &str| canonical(&Url::parse(url).unwrap()).unwrap_err().to_string();
        assert!(error("ftp://example.org/").starts_with("ftp: addresses cannot be crawled"));
        assert!(error("javascript:alert(1)").starts_with("javascript:"));
        assert!(error("file:///etc/passwd").starts_with("file:"));
        assert!(error("https://ann:secret@example.org/").starts_with("example.org is given with"));
        assert!(!error("https://ann:secret@example.org/").contains("secret"));
    }

    proptest! {
        #[test]
        fn canonical_is_idempotent(
            host in "([a-z]{1,5}\\.){1,3}[a-z]{2,3}\\.?",
            path in "(/(%[0-9a-fA-F]{2}|[a-zA-Z0-9.;=%~äß]){0,8}){0,4}",
            query in "([&=?;%]|%[0-9a-fA-F]{2}|[a-cA-C+]|utm_|sid|ü){0,24}",
        ) {
            let Ok(url) = Url::parse(&format!("https://{host}{path}?{query}#f")) else {
                return Ok(());
            };
            let once = canonical(&url).unwrap();
            prop_assert_eq!(&canonical(&once).unwrap(), &once);
            prop_assert_eq!(&Url::parse(once.as_str()).unwrap(), &once);
            prop_assert!(once.fragment().is_none() && once.query() != Some(""));
        }

        #[test]
        fn the_order_of_parameters_with_other_names_does_not_matter(
            mut names in proptest::collection::btree_set("[a-f]{1,3}", 0..6),
            turn in 0_usize..6,
        ) {
            names.remove("sid");
            let names: Vec<_> = names.into_iter().collect();
            let mut turned = names.clone();
            turned.rotate_left(if names.is_empty() { 0 } else { turn % names.len() });
            let url = |names: &[String]| {
                let query: Vec<_> = names.iter().map(|name| format!("{name}=1")).collect();
                of(&format!("https://example.org/?{}", query.join("&")))
            };
            prop_assert_eq!(url(&names), url(&turned));
        }
    }
}
