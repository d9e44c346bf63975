//! Parameters that say who follows a link and not what it leads to.

/// Begin the names of families of such parameters.
const PREFIXES: &[&str] =
    &["utm_", "pk_", "piwik_", "matomo_", "mtm_", "hsa_", "aspsessionid", "stm_"];

const NAMES: &[&str] = &[
    // Clicks on advertisements and in messages.
    "_branch_match_id",
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "_ke",
    "_kx",
    "_openstat",
    "ck_subscriber_id",
    "dclid",
    "epik",
    "fbclid",
    "gad_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "igsh",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "ml_subscriber",
    "ml_subscriber_hash",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "rb_clickid",
    "s_cid",
    "scid",
    "srsltid",
    "ttclid",
    "twclid",
    "vero_conv",
    "vero_id",
    "wbraid",
    "wickedid",
    "yclid",
    "ysclid",
    // Sessions.
    "cfid",
    "cftoken",
    "jsessionid",
    "oscsid",
    "phpsessid",
    "sessid",
    "session_id",
    "sessionid",
    "zenid",
];

/// Names that mean a session when their value is as long as the id of one, and a story, a section or
/// a search otherwise.
const SESSIONS_WHEN_LONG: &[&str] = &["sid", "session", "s_id"];

const SESSION_CHARS_MIN: usize = 20;

pub(super) fn is_tracking(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_session_id = || {
        value.len() >= SESSION_CHARS_MIN
            && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    NAMES.contains(&name.as_str())
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || (SESSIONS_WHEN_LONG.contains(&name.as_str()) && is_session_id())
}

/// A path without the session ids that Java servers write behind a semicolon.
pub(super) fn without_session(path: &str) -> String {
    let segments = path.split('/').map(|segment| {
        let mut parts = segment.split(';');
        let mut kept = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let name = part.split_once('=').map_or("", |(name, _)| name);
            if !matches!(name.to_ascii_lowercase().as_str(), "jsessionid" | "phpsessid" | "sid") {
                kept.push(';');
                kept.push_str(part);
            }
        }
        kept
    });
    segments.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tracks_is_told_from_what_means_something() {
        for (name, value) in [
            ("utm_campaign", "x"),
            ("UTM_Source", ""),
            ("gclid", "x"),
            ("PHPSESSID", "1"),
            ("sid", "0123456789abcdef0123"),
        ] {
            assert!(is_tracking(name, value), "{name}");
        }
        for (name, value) in [("q", "utm_source"), ("sid", "12"), ("page", "2"), ("utm", "32")] {
            assert!(!is_tracking(name, value), "{name}");
        }
    }

    #[test]
    fn sessions_in_paths_go_and_other_parts_stay() {
        assert_eq!(without_session("/a;jsessionid=1/b;v=2;JSESSIONID=3"), "/a/b;v=2");
        assert_eq!(without_session("/;x"), "/;x");
    }
}
