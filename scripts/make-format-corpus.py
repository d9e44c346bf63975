#!/usr/bin/env python3
"""Makes the files of tests/corpus/formats that a program has to write: office documents, PDF, EPUB.

usage: make-format-corpus.py

Needs LibreOffice (libreoffice-writer, -calc, -impress). The texts are our own. The results are
committed, so that the tests need none of this.
"""

import subprocess
import tempfile
import zipfile
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "tests/corpus/formats"

NAMESPACES = " ".join(
    f'xmlns:{prefix}="{url}"'
    for prefix, url in {
        "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
        "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
        "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
        "style": "urn:oasis:names:tc:opendocument:xmlns:style:1.0",
        "fo": "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0",
        "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
        "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
        "presentation": "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0",
        "meta": "urn:oasis:names:tc:opendocument:xmlns:meta:1.0",
        "dc": "http://purl.org/dc/elements/1.1/",
    }.items()
)

SOIL = (
    "Compost is ready when it is dark, crumbles between the fingers and smells of the forest floor. "
    "Turn the heap every second week, keep it as moist as a wrung-out sponge, and mix one part of "
    "green cuttings with two parts of dry leaves. "
)
WATER = (
    "Tomatoes want water at their roots and never on their leaves, for wet foliage invites blight. "
    "A layer of straw keeps the ground from drying out and spares you half of the watering. "
)
FROST = (
    "Dahlias survive the winter in a cellar at five degrees, laid in sand that is barely damp. "
    "Cut the stems a hand's breadth above the tuber after the first frost has blackened them. "
)


def flat(kind, title, styles, body):
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document {NAMESPACES} office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.{kind}">
<office:meta><dc:title>{title}</dc:title></office:meta>
{styles}
<office:body>{body}</office:body></office:document>"""


def handbook():
    styles = """<office:styles>
<style:style style:name="Standard" style:family="paragraph"><style:text-properties fo:language="en" fo:country="US"/></style:style>
<style:style style:name="Heading_20_1" style:display-name="Heading 1" style:family="paragraph" style:default-outline-level="1"><style:paragraph-properties fo:margin-top="0.3cm" fo:margin-bottom="0.2cm"/><style:text-properties fo:font-size="18pt" fo:font-weight="bold"/></style:style>
<style:style style:name="Heading_20_2" style:display-name="Heading 2" style:family="paragraph" style:default-outline-level="2"><style:paragraph-properties fo:margin-top="0.3cm" fo:margin-bottom="0.2cm"/><style:text-properties fo:font-size="14pt" fo:font-weight="bold"/></style:style>
</office:styles>
<office:automatic-styles>
<style:style style:name="cols" style:family="section"><style:section-properties><style:columns fo:column-count="2" fo:column-gap="0.8cm"/></style:section-properties></style:style>
<style:style style:name="just" style:family="paragraph" style:parent-style-name="Standard"><style:paragraph-properties fo:text-align="justify" fo:margin-bottom="0.2cm"/><style:text-properties fo:hyphenate="true"/></style:style>
<style:style style:name="brk" style:family="paragraph" style:parent-style-name="Heading_20_1"><style:paragraph-properties fo:break-before="page"/></style:style>
<style:page-layout style:name="pl"><style:page-layout-properties fo:page-width="14.8cm" fo:page-height="21cm" fo:margin-top="1cm" fo:margin-bottom="1cm" fo:margin-left="1.5cm" fo:margin-right="1.5cm"/><style:header-style><style:header-footer-properties fo:min-height="0.6cm" fo:margin-bottom="0.4cm"/></style:header-style><style:footer-style><style:header-footer-properties fo:min-height="0.6cm" fo:margin-top="0.4cm"/></style:footer-style></style:page-layout>
</office:automatic-styles>
<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="pl">
<style:header><text:p>The Gardener's Handbook, third edition</text:p></style:header>
<style:footer><text:p>Page <text:page-number text:select-page="current"/></text:p></style:footer>
</style:master-page></office:master-styles>"""
    p = lambda text: f'<text:p text:style-name="just">{text}</text:p>'
    h = lambda level, text, style=None: (
        f'<text:h text:style-name="{style or f"Heading_20_{level}"}" text:outline-level="{level}">{text}</text:h>'
    )
    cell = lambda text: f"<table:table-cell><text:p>{text}</text:p></table:table-cell>"
    row = lambda *cells: "<table:table-row>" + "".join(map(cell, cells)) + "</table:table-row>"
    note = (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>Leaves of walnut rot slowly and are best left out.</text:p></text:note-body></text:note>"
    )
    body = "<office:text>"
    body += h(1, "Soil") + p(SOIL.replace("dry leaves. ", f"dry leaves.{note} "))
    body += '<text:section text:style-name="cols" text:name="columns">' + p(SOIL * 2) + p(WATER * 3) + p("Here the last column ends.") + "</text:section>"
    body += h(2, "What to sow when") + '<table:table><table:table-column table:number-columns-repeated="3"/>'
    body += row("Plant", "Sow in", "Harvest in") + row("Radish", "March", "May") + row("Kale", "June", "November")
    body += "</table:table>"
    body += h(1, "Water", "brk") + p(WATER) + "<text:list><text:list-item><text:p>Water in the morning.</text:p></text:list-item>"
    body += "<text:list-item><text:p>Collect rain in a barrel.</text:p></text:list-item></text:list>"
    body += h(1, "Winter", "brk") + p(FROST) + p("Grüße aus dem Garten, 庭より.") + "</office:text>"
    return flat("text", "The Gardener's Handbook", styles, body)


def accounts():
    cell = lambda value: (
        f'<table:table-cell office:value-type="float" office:value="{value}"><text:p>{value}</text:p></table:table-cell>'
        if isinstance(value, (int, float))
        else f'<table:table-cell office:value-type="date" office:date-value="{value}" table:style-name="d"><text:p>{value}</text:p></table:table-cell>'
        if value[:2] == "20"
        else f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
    )
    row = lambda *cells: "<table:table-row>" + "".join(map(cell, cells)) + "</table:table-row>"
    styles = """<office:automatic-styles><number:date-style xmlns:number="urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0" style:name="iso"><number:year number:style="long"/><number:text>-</number:text><number:month number:style="long"/><number:text>-</number:text><number:day number:style="long"/></number:date-style>
<style:style style:name="d" style:family="table-cell" style:data-style-name="iso"/></office:automatic-styles>"""
    body = '<office:spreadsheet><table:table table:name="Seeds">'
    body += row("Variety", "Bought", "Price", "Supplier")
    body += row("Black Krim tomato", "2026-02-14", 3.5, "Old Mill Nursery")
    body += row("Lacinato kale", "2026-03-02", 2.25, "Harbor Seed Exchange")
    body += '</table:table><table:table table:name="Tools"><table:table-row table:number-rows-repeated="4"><table:table-cell/></table:table-row>'
    body += row("Broadfork", 1) + "</table:table></office:spreadsheet>"
    return flat("spreadsheet", "Accounts", styles, body)


def talk():
    styles = """<office:automatic-styles><style:page-layout style:name="pl"><style:page-layout-properties fo:page-width="28cm" fo:page-height="15.75cm"/></style:page-layout></office:automatic-styles>
<office:master-styles><style:master-page style:name="Default" style:page-layout-name="pl"/></office:master-styles>"""
    frame = lambda kind, y, inner: (
        f'<draw:frame presentation:class="{kind}" svg:x="1cm" svg:y="{y}cm" svg:width="25cm" svg:height="4cm">'
        f"<draw:text-box>{inner}</draw:text-box></draw:frame>"
    )
    notes = lambda text: (
        "<presentation:notes>" + frame("notes", 10, f"<text:p>{text}</text:p>") + "</presentation:notes>"
    )
    item = lambda text: f"<text:list><text:list-item><text:p>{text}</text:p></text:list-item></text:list>"
    slide = lambda number, title, points, said: (
        f'<draw:page draw:name="page{number}" draw:master-page-name="Default">'
        + frame("title", 1, f"<text:p>{title}</text:p>")
        + frame("outline", 6, "".join(map(item, points)))
        + notes(said)
        + "</draw:page>"
    )
    body = "<office:presentation>"
    body += slide(1, "Bees in the orchard", ["Pollination doubles the apple crop", "Hives stand to the south"], "Show the picture of the comb here.")
    body += slide(2, "Varroa", ["Count the mites in September", "Treat with oxalic acid in winter"], "Remind them of gloves.")
    body += "</office:presentation>"
    return flat("presentation", "Bees in the orchard", styles, body)


def convert(source, target, name, profile):
    extension = name.rsplit(".", 1)[1]
    with tempfile.TemporaryDirectory() as out:
        command = ["soffice", "--headless", f"-env:UserInstallation=file://{profile}"]
        command += ["--convert-to", target, "--outdir", out, str(source)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        made = Path(out) / f"{source.stem}.{extension}"
        if zipfile.is_zipfile(made):
            without_pictures(made, CORPUS / name)
        else:
            (CORPUS / name).write_bytes(made.read_bytes())


def without_pictures(source, target):
    """Copies a package without its thumbnail, which is most of it, and with one date throughout."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for part in old.infolist():
            if not part.filename.startswith(("Thumbnails/", "docProps/thumbnail", "Configurations2/")):
                dated = zipfile.ZipInfo(part.filename, (2026, 3, 1, 12, 0, 0))
                dated.compress_type = part.compress_type
                new.writestr(dated, old.read(part))


def main():
    CORPUS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        profile = Path(work) / "profile"
        for source, text, targets in [
            ("handbook.fodt", handbook(), ["odt", "docx", "rtf", "pdf", "epub"]),
            ("accounts.fods", accounts(), ["ods", "xlsx", "xls"]),
            ("bees.fodp", talk(), ["odp", "pptx"]),
        ]:
            path = Path(work) / source
            path.write_text(text)
            for target in targets:
                convert(path, target, f"{path.stem}.{target}", profile)
    for path in sorted(CORPUS.iterdir()):
        print(f"{path.stat().st_size:8} {path.name}")


if __name__ == "__main__":
    main()
