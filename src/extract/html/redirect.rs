use scraper::Html;

/// A page that shows itself longer than this before it leads on is there to be read.
const SECONDS_MAX: f64 = 5.0;

/// Where `<meta http-equiv="refresh">` sends the browser on to; a page that only reloads itself has
/// no such address.
pub(super) fn target(page: &Html) -> Option<String> {
    page.tree
        .nodes()
        .filter_map(|node| node.value().as_element())
        .filter(|element| element.name() == "meta")
        .filter(|element| {
            element.attr("http-equiv").is_some_and(|name| name.eq_ignore_ascii_case("refresh"))
        })
        .find_map(|element| element.attr("content").and_then(address))
}

fn address(content: &str) -> Option<String> {
    let (seconds, rest) = content.split_once([';', ','])?;
    let seconds: f64 = seconds.trim().parse().ok()?;
    let (key, address) = rest.split_once('=')?;
    let address = address.trim().trim_matches(['"', '\'']);
    let leads_on =
        seconds <= SECONDS_MAX && key.trim().eq_ignore_ascii_case("url") && !address.is_empty();
    leads_on.then(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_prompt_refresh_to_elsewhere_leads_on() {
        assert_eq!(address("0; URL=next.html").as_deref(), Some("next.html"));
        assert_eq!(address("0;url='next.html'").as_deref(), Some("next.html"));
        assert_eq!(address("30; url=next.html"), None);
        assert_eq!(address("5"), None);
        assert_eq!(address("0; url="), None);
    }
}
