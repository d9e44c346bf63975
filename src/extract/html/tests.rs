use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use super::*;

fn text_of(html: &str) -> String {
    read(html, "page.html").unwrap().text
}

fn check(html: &str, expected: &str) {
    assert_eq!(text_of(html), expected, "{html}");
}

#[test]
fn blocks_become_markdown() {
    check("<p>a\n b<p>c<br>d", "a b\n\nc\nd\n");
    check(
        "<ul><li>a<li><p>b</p><p>c</p><ul><li>d</ul><li></ul>e",
        "- a\n- b\n\n  c\n\n  - d\n\ne\n",
    );
    check("<ol start=9><li>a<li>b</ol>", "9. a\n10. b\n");
    check("<h3>a <code>b</code>\n<div>c</div></h3>d", "### a b c\n\nd\n");
    check("<blockquote><p>a<p>b</blockquote>c", "> a\n\n> b\n\nc\n");
    check("<p>call <code> f( x ) </code>, or <code></code>none", "call `f( x )` , or none\n");
    check("<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\nb\n\nc\nd\n");
    check("a<b>b</b> <i>c</i>d&nbsp;e", "ab cd e\n");
}

#[test]
fn code_blocks_keep_every_line() {
    check("<pre>\n  a\n\n\tb  c\n</pre>", "```\n  a\n\n\tb  c\n```\n");
    check("<ul><li><pre class='lang-c'>x\n  y</pre>z</ul>", "```c\nx\n  y\n```\n\n  z\n");
    check("<pre>a```b</pre>", "````\na```b\n````\n");
    check("<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```\n");
    check("<pre><span class=linenos>1</span>a<br>b</pre>", "```\na\nb\n```\n");
    check("<pre> </pre>a", "a\n");
}

#[test]
fn tables_of_text_are_rows_and_others_lay_out() {
    check("<table><tr><th>a<th>b<tr><td>c<td><p>d</table>", "a | b\nc | d\n");
    check("<table><tr><td></table>e", "e\n");
    let layout = "<table><tr><td><h2>a</h2>b<td><table><tr><td>c<td>d</table></table>";
    check(layout, "## a\n\nb\n\nc | d\n");
}

#[test]
fn what_is_not_content_is_dropped() {
    check("<p>a<p hidden>b<p aria-hidden=true>c<p style='color:red;display:none'>d", "a\n");
    check("<p>a<span class='sr-only'>b</span><nav>c</nav><div role=search>d</div>", "a\n");
    check("<p class='hidden md:block'>a", "a\n");
    check("<h2>a<a href='#a'>§</a></h2>b", "## a\n\nb\n");
    let words = "word ".repeat(300);
    let page = format!("<div id=page-footer><p>small print</div><p>{words}");
    check(&page, &format!("{}\n", words.trim()));
}

#[test]
fn a_page_that_is_all_links_keeps_them() {
    check("<div class=toc><a href=1>One</a> <a href=2>Two</a></div>", "One Two\n");
    check("<nav><a href=1>One</a></nav><p><a href=2>Two</a>", "Two\n");
}

#[test]
fn the_declared_main_part_wins() {
    let words = "word ".repeat(100);
    let page = format!("<div>{words}</div><main><h1>T</h1><p>{words}</main>");
    check(&page, &format!("# T\n\n{}\n", words.trim()));
    let empty_main = format!("<main></main><article><p>{words}</p></article><p>other");
    check(&empty_main, &format!("{}\n", words.trim()));
}

#[test]
fn anchors_come_from_wherever_a_page_puts_them() {
    let page =
        "<h1 id=a>A</h1><section id=b><h2>B</h2></section><h2><a name=c></a>C</h2><h3>D</h3>";
    let marks: Vec<_> =
        read(page, "x").unwrap().locators.iter().map(|(_, mark)| mark.clone()).collect();
    let anchors: Vec<_> = marks
        .iter()
        .map(|mark| match mark {
            crate::data::Locator::Heading { anchor, .. } => anchor.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(anchors, [Some("a"), Some("b"), Some("c"), None]);
    assert_eq!(marks[3].to_string(), "§ A › C › D");
}

#[test]
fn the_title_loses_the_site_when_a_heading_proves_it() {
    let title = |html: &str| read(html, "page.html").unwrap().title;
    assert_eq!(title("<title>A b - Site</title><h1>A b</h1>c"), "A b");
    assert_eq!(title("<title>A b - Site</title><h1>Other</h1>c"), "A b - Site");
    assert_eq!(title("<h1>Other</h1>c<svg><title>icon</title></svg>"), "icon");
    assert_eq!(title("<p>c<h1>Other</h1>"), "Other");
    assert_eq!(title("<p>c"), "page");
}

#[test]
fn hostile_nesting_is_refused_or_read_in_time() {
    let deep = "<div>".repeat(200_000);
    assert_eq!(read(&deep, "x").unwrap_err(), Unreadable::TooDeep { levels_max: LEVELS_MAX });
    let start = Instant::now();
    let closed = ["</p>", "<!-- -->", "<svg><g d=a/>", "<div '>"];
    let open = ["<b><p>x", "<li>", "<p>x", "<a href=x>y", "<table><tr><td>x", "<rt>", "<li><dd>"];
    for part in closed.into_iter().chain(open) {
        let words = "word ".repeat(400);
        let _ = read(&format!("{words}{}", part.repeat(900)), "x");
        let _ = read(&format!("{}{words}", "<div>".repeat(1000) + &part.repeat(20)), "x");
        let _ = read(&format!("<p>{words}{}", part.repeat(20_000)), "x");
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn nesting_that_end_tags_hide_is_refused_before_it_ends_the_stack() {
    let hidden = "<div></b>".repeat(5_000);
    assert_eq!(read(&hidden, "x").unwrap_err(), Unreadable::TooDeep { levels_max: LEVELS_MAX });
    assert!(read_whole(&hidden).is_err());
}

/// The pages of the Rust book that come with the toolchain, where they are installed.
fn rust_book() -> Vec<PathBuf> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap().stdout;
    let book =
        PathBuf::from(String::from_utf8(sysroot).unwrap().trim()).join("share/doc/rust/html/book");
    let Ok(entries) = std::fs::read_dir(book) else { return Vec::new() };
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_chapter =
            name.strip_prefix("ch").is_some_and(|rest| rest.starts_with(char::is_numeric));
        is_chapter && path.extension().is_some_and(|extension| extension == "html")
    });
    pages.sort();
    pages
}

#[test]
fn the_rust_book_comes_out_clean_and_with_all_its_code() {
    let pages = rust_book();
    if pages.is_empty() {
        eprintln!(
            "nothing was tested: the Rust book is not installed (rustup component add rust-docs)"
        );
    }
    for path in pages {
        let shown = path.display();
        let html = std::fs::read_to_string(&path).unwrap();
        let Extracted { text, title, locators, .. } = match read(&html, "x") {
            Ok(extracted) => extracted,
            Err(Unreadable::Redirect { .. }) => continue,
            Err(error) => panic!("{shown}: {error}"),
        };
        assert!(text.starts_with('#') && !locators.is_empty(), "{shown}: {text}");
        assert!(!title.is_empty());
        for chrome in ["Keyboard shortcuts", "Press ←", "The Rust Programming Language\n", "Ayu"]
        {
            assert!(!text.contains(chrome), "{shown}: {chrome}");
        }
        let page = Html::parse_document(&html);
        let code = scraper::Selector::parse("main pre").unwrap();
        for sample in page.select(&code) {
            let sample: String = sample.text().collect();
            assert!(text.contains(sample.trim_end()), "{shown}: {sample}");
        }
    }
}

#[test]
fn a_page_that_only_leads_on_says_where() {
    let page = "<meta http-equiv=Refresh content='0; URL=next.html'><p>Redirecting";
    let target = "next.html".to_owned();
    assert_eq!(read(page, "x").unwrap_err(), Unreadable::Redirect { target });
    assert!(read(&format!("{page} {}", "word ".repeat(100)), "x").is_ok());
}
