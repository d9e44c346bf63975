use super::*;

fn check(rtf: &str, expected: &str) {
    let text = read(rtf.as_bytes(), "a.rtf").map(|extracted| extracted.text);
    assert_eq!(text.as_deref(), Ok(expected), "{rtf}");
}

#[test]
fn text_is_what_a_person_sees() {
    check(
        r"{\rtf1\ansi Hello {\b big} world.\par Two\line lines\par}",
        "Hello big world.\n\nTwo\nlines\n",
    );
    check(r"{\rtf1{\fonttbl{\f0 Times;}}{\*\x secret}{\v hidden}a\~b\{c\}}", "a b{c}\n");
    check(
        r"{\rtf1{\pict\pngblip 89504e47}{\header top}{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}}",
        "link\n",
    );
    check(
        r"{\rtf1\pard\outlinelevel0 Top\par\pard text{\footnote a note} on\par}",
        "# Top\n\ntext (a note) on\n",
    );
    check(r"{\rtf1\trowd\cellx1\intbl a\par b\cell c\cell\row after\par}", "a b | c\n\nafter\n");
    check("{\\rtf1\\bin4 {{{{left}", "left\n");
}

#[test]
fn styles_say_what_a_heading_is() {
    let styles = r"{\stylesheet{\s2\outlinelevel1 H;}}";
    let rtf = format!(r"{{\rtf1{styles}\pard\s2 Top\par\pard x{{\*\footnote n}}\par}}");
    check(&rtf, "## Top\n\nx (n)\n");
}

#[test]
fn items_of_a_list_have_one_bullet() {
    // LibreOffice begins what it paints with a paragraph of its own.
    for painted in [r"\'b7\tab", r"\pard\plain \'b7\tab"] {
        let item = |text: &str| format!(r"{{\listtext{painted}}}{text}\par");
        let rtf = format!(r"{{\rtf1 a\par\pard{}{}\pard b}}", item("One"), item("Two"));
        check(&rtf, "a\n\n- One\n- Two\n\nb\n");
    }
}

#[test]
fn a_numbered_heading_stays_one_and_is_no_item() {
    let heading = r"\pard\outlinelevel0{\listtext\pard\plain 1.\tab}Soil\par";
    check(&format!(r"{{\rtf1{heading}\pard dry\par}}"), "# Soil\n\ndry\n");
}

#[test]
fn characters_of_every_kind() {
    check(r"{\rtf1\ansicpg1251 \'cf\'f0\'e8\'e2\'e5\'f2}", "Привет\n");
    let shift_jis = r"{\rtf1{\fonttbl{\f1\fcharset128 Gothic;}}\f1 \'94\'4c{\f0 cat}}";
    check(shift_jis, "猫cat\n");
    check(r"{\rtf1 \u233?t\u233\'e9 {\uc0\u-10179\u-9087} \uc2\u8364 EUR}", "été 💁 €R\n");
}

#[test]
fn the_title_is_the_property_or_the_first_heading() {
    let title = |rtf: &str| read(rtf.as_bytes(), "letter 2.rtf").unwrap().title;
    assert_eq!(title(r"{\rtf1{\info{\title On \'fcbung}{\author B}}a}"), "On übung");
    assert_eq!(title(r"{\rtf1{\info{\title }}\outlinelevel1 Head\par a}"), "Head");
    assert_eq!(title(r"{\rtf1 a}"), "letter 2");
}

#[test]
fn damage_is_no_fault() {
    assert_eq!(read(br"{\rtf1 ", "a").unwrap_err(), Unreadable::NoText);
    check(r"}}}{\rtf1 a}}}b", "ab\n");
    let deep = format!("{}a{}", "{".repeat(5000), "}".repeat(5000));
    check(&deep, "a\n");
}
