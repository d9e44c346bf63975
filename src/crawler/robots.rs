//! What a host asks of crawlers in its robots.txt, and pages in `X-Robots-Tag`.

use std::fmt;
use std::time::Duration;

use texting_robots::Robot;
use url::Url;

use super::{AGENT, XRobots};

/// As much of a robots.txt is read; RFC 9309 demands at least so much.
pub(super) const ROBOTS_BYTES_MAX: usize = 500 << 10;

/// Longest delay between requests that is kept; whoever asks for more is asked once in so long.
const CRAWL_DELAY_MAX: Duration = Duration::from_mins(5);

/// The rules of one robots.txt for us.
pub(super) enum RobotRules {
    Read(Box<Robot>),
    /// There is no robots.txt (4xx).
    None,
    /// It cannot be made sense of; nobody is let in by a mistake.
    Unreadable,
}

impl RobotRules {
    /// Compiles patterns, for which a large file takes a while: not for threads that others wait for.
    pub(super) fn read(text: &[u8]) -> Self {
        let whole_lines = match text.len() {
            ROBOTS_BYTES_MAX.. => {
                let end = memchr::memrchr(b'\n', &text[..ROBOTS_BYTES_MAX]);
                &text[..end.unwrap_or(ROBOTS_BYTES_MAX)]
            }
            _ => text,
        };
        // The three bytes of a byte order mark would hide the first line.
        let text = whole_lines.strip_prefix(b"\xef\xbb\xbf").unwrap_or(whole_lines);
        match Robot::new(AGENT, text) {
            Ok(robot) => Self::Read(Box::new(robot)),
            Err(error) => {
                tracing::debug!(%error, "a robots.txt cannot be read");
                Self::Unreadable
            }
        }
    }

    pub(super) fn allows(&self, url: &Url) -> bool {
        match self {
            Self::Read(robot) => robot.allowed(url.as_str()),
            Self::None => true,
            Self::Unreadable => false,
        }
    }

    pub(super) fn delay(&self) -> Option<Duration> {
        let Self::Read(robot) = self else { return None };
        let seconds = robot.delay.filter(|seconds| *seconds > 0.0)?;
        Some(Duration::try_from_secs_f32(seconds).unwrap_or(CRAWL_DELAY_MAX).min(CRAWL_DELAY_MAX))
    }

    /// The sitemaps that it names, as addresses that can be read.
    pub(super) fn sitemaps(&self, at: &Url) -> Vec<Url> {
        let Self::Read(robot) = self else { return Vec::new() };
        robot.sitemaps.iter().filter_map(|sitemap| at.join(sitemap.trim()).ok()).collect()
    }
}

impl fmt::Debug for RobotRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read(_) => "RobotRules::Read",
            Self::None => "RobotRules::None",
            Self::Unreadable => "RobotRules::Unreadable",
        })
    }
}

impl XRobots {
    /// Of every `X-Robots-Tag` of an answer, each of which may begin with the name of a crawler that it
    /// is for.
    pub(super) fn read<'a>(headers: impl Iterator<Item = &'a str>) -> Self {
        let mut asked = Self::default();
        for header in headers {
            let mut is_for_us = true;
            for rule in header.split(',').map(str::trim) {
                let rule = match rule.split_once(':') {
                    // A date has colons, and stands behind a name that is no crawler's.
                    Some((name, _)) if name.eq_ignore_ascii_case("unavailable_after") => continue,
                    Some((name, rule)) => {
                        is_for_us = name.trim().eq_ignore_ascii_case(AGENT);
                        rule.trim()
                    }
                    None => rule,
                };
                if is_for_us {
                    let rule = rule.to_ascii_lowercase();
                    asked.noindex |= matches!(rule.as_str(), "noindex" | "none");
                    asked.nofollow |= matches!(rule.as_str(), "nofollow" | "none");
                }
            }
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(text: &str, path: &str) -> bool {
        let url = Url::parse("https://a.test").unwrap().join(path).unwrap();
        RobotRules::read(text.as_bytes()).allows(&url)
    }

    #[test]
    fn the_group_that_names_us_is_ours_alone() {
        let text = "\u{feff}User-agent: *\nDisallow: /\n\nUser-agent: Lodestone\nDisallow: /private\n\
                    Allow: /private/open\n";
        assert!(allows(text, "/a"));
        assert!(!allows(text, "/private/x"));
        assert!(allows(text, "/private/open/x"));
        let text = "User-agent: *\nDisallow: /*.php$\nDisallow: /*?print=\nCrawl-delay: 2.5";
        assert!(!allows(text, "/a/b.php") && allows(text, "/a/b.php?c"));
        assert!(!allows(text, "/a?print=1"));
        let delay = RobotRules::read(text.as_bytes()).delay();
        assert_eq!(delay, Some(Duration::from_millis(2500)));
    }

    #[test]
    fn delays_have_a_bound_and_nonsense_is_none() {
        let delay = |text: &str| {
            RobotRules::read(format!("User-agent: *\nCrawl-delay: {text}").as_bytes()).delay()
        };
        assert_eq!(delay("86400"), Some(CRAWL_DELAY_MAX));
        assert_eq!(delay("1e30"), Some(CRAWL_DELAY_MAX));
        for nonsense in ["0", "-3", "soon", "NaN"] {
            assert_eq!(delay(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_page_in_its_place_allows_all_and_names_no_sitemap() {
        let page = "<!doctype html><title>Not found</title><p>Disallow: nothing";
        assert!(allows(page, "/a") && allows("", "/a"));
        let at = Url::parse("https://a.test/robots.txt").unwrap();
        let rules = RobotRules::read(b"Sitemap: /map.xml\nsitemap: https://b.test/m.xml.gz\n");
        let sitemaps: Vec<_> = rules.sitemaps(&at).into_iter().map(String::from).collect();
        assert_eq!(sitemaps, ["https://a.test/map.xml", "https://b.test/m.xml.gz"]);
    }

    #[test]
    fn what_is_too_long_is_read_up_to_a_whole_line() {
        let mut text = "User-agent: *\nDisallow: /a\n".to_owned();
        while text.len() < ROBOTS_BYTES_MAX - 10 {
            text.push_str("# filler\n");
        }
        text.push_str("Disallow: /very/long/path/that/is/cut");
        assert!(!allows(&text, "/a") && allows(&text, "/very"));
    }

    #[test]
    fn headers_speak_to_all_or_to_one() {
        let read = |headers: &[&str]| {
            let asked = XRobots::read(headers.iter().copied());
            (asked.noindex, asked.nofollow)
        };
        assert_eq!(read(&[]), (false, false));
        assert_eq!(read(&["noindex, NOFOLLOW"]), (true, true));
        assert_eq!(read(&["none"]), (true, true));
        assert_eq!(read(&["otherbot: noindex, nofollow"]), (false, false));
        assert_eq!(read(&["otherbot: noindex", "lodestone: nofollow"]), (false, true));
        assert_eq!(read(&["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"]), (true, false));
    }
}
