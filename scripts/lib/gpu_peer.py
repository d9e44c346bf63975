#!/usr/bin/env python3
"""sentence-transformers in f16 on a GPU, beside `lode embed` on the same texts: what scripts/bench-gpu runs last.

usage: gpu_peer.py LODE MODEL_DIR
needs: torch with CUDA, sentence-transformers

The texts are passages of this repository's own source and documents, as they come. Both sides tokenize within the
time, and their vectors are compared.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

PASSAGE_CHARACTERS = 900
PASSAGES = 20_000
TOKENS_MAX = 256
BATCH_SIZES = (256, 512, 1024)
QUERY = "How do I share ownership between threads?"


def passages():
    files = sorted([*ROOT.glob("src/**/*.rs"), *ROOT.glob("docs/**/*.md")])
    texts = []
    while len(texts) < PASSAGES:
        for file in files:
            text = file.read_text()
            # Another round begins elsewhere, so that no passage is there twice.
            starts = range(37 * len(texts) // PASSAGES, len(text), PASSAGE_CHARACTERS)
            texts += [text[at : at + PASSAGE_CHARACTERS] for at in starts]
    return [text for text in texts if text.strip()][:PASSAGES]


def ours(lode, texts, work):
    given, rows = work / "texts.jsonl", work / "rows.f32"
    given.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    command = [lode, "--data-dir", work / "data", "embed", "--input", given, "--output", rows, "--json"]
    best = None
    for _ in range(3):
        environment = {**os.environ, "LODESTONE_DEVICE": "wgpu", "LODESTONE_TRACE": "off"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)
        report = json.loads(done.stdout)
        best = max(best or report, report, key=lambda report: report["tokens_per_second"])
    return best, rows


def peer(model, texts, tokens):
    """The vectors, and the most tokens a second with its batch size."""
    import torch
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(model, device="cuda", model_kwargs={"dtype": torch.float16})
    encoder.max_seq_length = TOKENS_MAX
    options = {"normalize_embeddings": True, "show_progress_bar": False}
    best = (0.0, 0)
    for size in BATCH_SIZES:
        encoder.encode(texts[:2_048], batch_size=size, **options)
        for _ in range(2):
            began = time.perf_counter()
            vectors = encoder.encode(texts, batch_size=size, **options)
            best = max(best, (tokens / (time.perf_counter() - began), size))
    queries = []
    for _ in range(200):
        began = time.perf_counter()
        encoder.encode(QUERY, **options)
        queries.append(time.perf_counter() - began)
    return vectors, best, statistics.median(queries)


def main():
    import numpy

    lode, model = sys.argv[1:]
    texts = passages()
    with tempfile.TemporaryDirectory() as work:
        report, rows = ours(lode, texts, pathlib.Path(work))
        mine = numpy.fromfile(rows, dtype="<f4").reshape(len(texts), -1)
    tokens = report["tokens"]
    print(f"{len(texts)} passages, {tokens} tokens, {os.cpu_count()} cores")
    print(f"lode embed on {report['device']}: {report['tokens_per_second']:.0f} tokens/s from text")
    theirs, (speed, size), query = peer(model, texts, tokens)
    print(
        f"sentence-transformers f16, batches of {size}: {speed:.0f} tokens/s from text, "
        f"{1e3 * query:.2f} ms a query of {len(QUERY.split())} words"
    )
    cosines = (mine * theirs.astype("f4")).sum(axis=1)
    print(f"ours is {report['tokens_per_second'] / speed:.2f} times that; least cosine {cosines.min():.5f}")


if __name__ == "__main__":
    main()
