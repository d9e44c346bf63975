#!/usr/bin/env python3
"""Make known-item collections in BEIR layout from documentation that any development machine can have.

usage: make-collections.py OUT [--man DIR] [--rust DIR] [--queries N]

Each query is a short text that somebody wrote to describe one document, taken out of that document:

  man-LANG     the line under NAME of a translated manual page (--man DIR holds LANG/man*/, as Debian's
               packages manpages-de, -fr, -ja, -ru and -zh lay it out) -> the rest of the page
  rust-names   a path such as `Vec::split_off` -> the method's own documentation (--rust DIR is the
               toolchain's share/doc/rust/html)
  rust-books   the heading of a section of the books -> the section
  python-code  the first sentence of a docstring of the standard library -> the function without it

They are judged by construction (one right answer each), so they are no substitute for collections
that people judged. They are here for what those do not have: other languages, names, and queries of
which one leg knows much more than the other.
"""

import argparse
import ast
import collections
import glob
import gzip
import hashlib
import html
import json
import os
import re
import sysconfig

DOCUMENT_CHARS_MAX = 1_200
DOCUMENTS_MAX = 1_500
MAN_LANGUAGES = {"de": "de", "fr": "fr", "ja": "ja", "ru": "ru", "zh": "zh_CN"}


def spread(items, count):
    """`count` of the items, chosen by a hash of their names: the same on every machine."""
    return sorted(items, key=lambda item: hashlib.sha256(item[0].encode()).digest())[:count]


def write(folder, documents, queries):
    """`documents` are (id, title, text), `queries` (id, text, document id)."""
    os.makedirs(os.path.join(folder, "qrels"), exist_ok=True)
    with open(os.path.join(folder, "corpus.jsonl"), "w") as out:
        for name, title, text in documents:
            line = {"_id": name, "title": title, "text": text[:DOCUMENT_CHARS_MAX]}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    with open(os.path.join(folder, "queries.jsonl"), "w") as out:
        for name, text, _ in queries:
            out.write(json.dumps({"_id": name, "text": text}, ensure_ascii=False) + "\n")
    with open(os.path.join(folder, "qrels", "test.tsv"), "w") as out:
        out.write("query-id\tcorpus-id\tscore\n")
        for name, _, document in queries:
            out.write(f"{name}\t{document}\t1\n")
    print(f"{folder}: {len(documents)} documents, {len(queries)} queries")


def known_items(items, queries_max):
    """Documents and queries of (name, title, text, query); texts and queries that repeat are left out."""
    by_text = {text: (name, title, text, query) for name, title, text, query in items if text.strip()}
    kept = spread(by_text.values(), DOCUMENTS_MAX)
    times_asked = collections.Counter(query for _, _, _, query in kept)
    asked = [(name, query) for name, _, _, query in kept if query and times_asked[query] == 1]
    queries = [(f"q-{name}", query, name) for name, query in asked[:queries_max]]
    return [(name, title, text) for name, title, text, _ in kept], queries


def plain_roff(source):
    """Sections of a manual page in plain text: [heading, text]."""
    sections = []
    for line in source.splitlines():
        line = re.sub(r"\\f(\[[^]]*\]|\(..|.)", "", line)
        line = re.sub(r"\\[,/&]|\\\(em|\\c$", "", line)
        line = line.replace("\\-", "-").replace("\\e", "\\").replace("\\ ", " ").replace("\\(aq", "'")
        if line.startswith((".\\\"", "'\\\"")):
            continue
        macro = re.match(r"[.'](\S+)\s*(.*)", line)
        if macro and macro[1] == "SH":
            sections.append([macro[2].strip('" '), ""])
        elif sections and macro:
            if macro[1] in ("B", "I", "BR", "IR", "BI", "RB", "SS", "IP", "TP"):
                sections[-1][1] += macro[2].replace('"', "") + "\n"
        elif sections:
            sections[-1][1] += line + "\n"
    return sections


def man_pages(folder):
    for path in sorted(glob.glob(os.path.join(folder, "man*", "*.gz"))):
        with gzip.open(path, "rt", errors="replace") as page:
            sections = plain_roff(page.read())
        if len(sections) < 3:
            continue
        _, _, query = sections[0][1].replace("\n", " ").partition(" - ")
        name = os.path.basename(path)[: -len(".gz")]
        title, _, section = name.rpartition(".")
        text = "\n\n".join(f"{head}\n{body.strip()}" for head, body in sections[1:])
        yield name, f"{title}({section})", text, query.strip()


def text_of(fragment):
    text = html.unescape(re.sub(r"<[^>]+>", "", fragment))
    return re.sub(r"\n\s*\n+", "\n\n", re.sub(r"[ \t]+", " ", text)).strip().removesuffix("§")


def rust_names(root):
    method = re.compile(
        r'<section id="(?:ty)?method\.(\w+)" class="method">.*?<h4 class="code-header">(.*?)</h4></section>'
        r'(?:</summary><div class="docblock">(.*?)</div></details>)', re.S)
    for path in sorted(glob.glob(root + "/std/**/*.html", recursive=True)):
        kind = re.match(r"(struct|enum|trait|primitive|union)\.(\w+)\.html", os.path.basename(path))
        if not kind:
            continue
        with open(path, errors="replace") as page:
            for name, signature, documentation in method.findall(page.read()):
                module = os.path.relpath(os.path.dirname(path), root).replace("/", "::")
                place = f"{module}::{kind[2]}"
                text = text_of(signature) + "\n\n" + text_of(documentation)
                yield f"{place}::{name}", place, text, f"{kind[2]}::{name}"


def rust_books(root):
    for book in ["book", "reference", "nomicon", "cargo", "rustc", "edition-guide", "rust-by-example"]:
        for path in sorted(glob.glob(f"{root}/{book}/**/*.html", recursive=True)):
            is_translated = re.search(r"/rust-by-example/[a-z]{2}/", path)
            if is_translated or os.path.basename(path) in ("print.html", "toc.html"):
                continue
            with open(path, errors="replace") as page:
                main = re.search(r"<main>(.*?)</main>", page.read(), re.S)
            parts = re.split(r"<h[1-4][^>]*>(.*?)</h[1-4]>", main[1], flags=re.S) if main else []
            for at in range(1, len(parts) - 1, 2):
                heading, text = text_of(parts[at]), text_of(parts[at + 1])
                name = f"{os.path.relpath(path, root)}#{at // 2}"
                if len(text) > 150:
                    yield name, "", text, heading if len(heading.split()) > 1 else ""


def python_code():
    for path in sorted(glob.glob(sysconfig.get_paths()["stdlib"] + "/*.py")):
        with open(path, errors="replace") as file:
            source = file.read()
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.FunctionDef) or len(node.body) < 2:
                continue
            documentation = ast.get_docstring(node)
            if not documentation:
                continue
            lines = source.splitlines()
            code = lines[node.lineno - 1 : node.body[0].lineno - 1]
            code += lines[node.body[0].end_lineno : node.end_lineno]
            sentence = re.split(r"(?<=[.!?])\s", " ".join(documentation.split()))[0]
            query = sentence.rstrip(".") if 4 <= len(sentence.split()) <= 20 else ""
            yield f"{os.path.basename(path)}:{node.lineno}", "", "\n".join(code), query


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--man")
    parser.add_argument("--rust")
    parser.add_argument("--queries", type=int, default=300)
    arguments = parser.parse_args()
    makers = {"python-code": python_code()}
    for language, folder in MAN_LANGUAGES.items() if arguments.man else ():
        makers[f"man-{language}"] = man_pages(os.path.join(arguments.man, folder))
    if arguments.rust:
        makers["rust-names"] = rust_names(arguments.rust)
        makers["rust-books"] = rust_books(arguments.rust)
    for name, items in makers.items():
        write(os.path.join(arguments.out, name), *known_items(items, arguments.queries))


if __name__ == "__main__":
    main()
