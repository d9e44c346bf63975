#!/usr/bin/env python3
"""Makes the texts that every row of scripts/bench-peers embeds, a JSON array of strings.

usage: bench_texts.py MODEL_DIR OUTPUT [JSONL]
needs: tokenizers, scipy
"""

import ast
import html
import importlib.util
import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tokenizers import Tokenizer

TEXTS = 600
# Two tokens are [CLS] and [SEP]; the rest leaves room for words that are cut differently in company.
CHUNK_TOKENS_MAX = 250
# Lengths that an index sees: 190 tokens on average.
CHUNK_TOKENS_MIN = 50
BOOKS = ("book", "reference", "nomicon", "cargo")


def rust_documentation():
    """The pages of the books that come with a Rust toolchain, as plain text."""
    if not shutil.which("rustc"):
        return
    root = subprocess.run(
        ["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True
    ).stdout.strip()
    for book in BOOKS:
        for path in sorted(Path(root, "share/doc/rust/html", book).rglob("*.html")):
            body = re.search(r"<main>(.*?)</main>", path.read_text(errors="ignore"), re.DOTALL)
            # The page for printing repeats all others.
            if body and path.name not in ("print.html", "toc.html"):
                yield html.unescape(re.sub(r"<[^>]+>", "", body.group(1)))


def python_documentation():
    """The doc comments of SciPy, which is there wherever sentence-transformers is."""
    root = Path(importlib.util.find_spec("scipy").origin).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield ast.get_docstring(node) or ""


def chunks(pages, tokenizer):
    """Paragraphs, joined while they fit; one that does not fit by itself is left out, and so is what
    is too short."""

    def tokens(text):
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    for page in pages:
        joined = [""]
        tidy = re.sub(r"[ \t]+", " ", page)
        for paragraph in filter(None, (part.strip() for part in re.split(r"\n\s*\n", tidy))):
            longer = f"{joined[-1]}\n\n{paragraph}".strip()
            if tokens(longer) <= CHUNK_TOKENS_MAX:
                joined[-1] = longer
            else:
                joined.append(paragraph)
        for text in joined:
            if CHUNK_TOKENS_MIN <= tokens(text) <= CHUNK_TOKENS_MAX:
                yield text


def make_texts(model, output, jsonl=None):
    if jsonl:
        with open(jsonl, encoding="utf-8") as lines:
            texts, source = [json.loads(line)["text"] for line in lines], jsonl
    else:
        tokenizer = Tokenizer.from_file(str(Path(model) / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        source = "the Rust books of this toolchain"
        texts = list(chunks(rust_documentation(), tokenizer))
        if len(texts) < TEXTS:
            source = "SciPy's doc comments"
            texts = list(chunks(python_documentation(), tokenizer))
        random.Random(0).shuffle(texts)
    texts = texts[:TEXTS]
    Path(output).write_text(json.dumps(texts))
    print(f"{len(texts)} texts from {source}")


def main():
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    make_texts(*sys.argv[1:])


if __name__ == "__main__":
    main()
