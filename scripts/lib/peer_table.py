#!/usr/bin/env python3
"""The table of scripts/bench-peers.

usage: peer_table.py RESULTS.jsonl VECTORS_DIR REFERENCE_ROW

RESULTS.jsonl has one line a measured row, the same row once a round; VECTORS_DIR/ROW.json the
vectors that the row gave, for all texts or for the first of them.
"""

import json
import math
import sys
from pathlib import Path

HEADER = (
    "system",
    "tokens/s",
    "ratio",
    "one query",
    "cosine, least",
    "cosine, mean",
    "peak memory",
    "rounds differ by",
)


def cosine(left, right):
    dot = math.fsum(a * b for a, b in zip(left, right))
    return dot / (math.hypot(*left) * math.hypot(*right))


def fidelity(vectors, reference):
    """The least and the mean cosine of vectors with those of the same texts in `reference`."""
    if not 0 < len(vectors) <= len(reference):
        raise ValueError(f"{len(vectors)} vectors beside a reference of {len(reference)}")
    cosines = [cosine(ours, theirs) for ours, theirs in zip(vectors, reference)]
    return min(cosines), math.fsum(cosines) / len(cosines)


def parse_results(lines):
    """Rows by name, in the order of their first round: every round's measurements."""
    rounds = {}
    for line in filter(str.strip, lines):
        measured = json.loads(line)
        rounds.setdefault(measured["row"], []).append(measured)
    return rounds


def best_of(rounds):
    """What the machine can do where nothing disturbs it: the fastest pass and query of all rounds."""
    rates = [measured["tokens_per_second"] for measured in rounds]
    return {
        "tokens_per_second": max(rates),
        "query_ms": min(measured["query_ms"] for measured in rounds),
        "peak_bytes": max(measured["peak_bytes"] for measured in rounds),
        "batch_size": rounds[rates.index(max(rates))].get("batch_size"),
        "spread": max(rates) / min(rates) - 1.0 if len(rates) > 1 else None,
    }


def cells(name, best, fidelity_of_row, reference_rate, texts, texts_all):
    if best["batch_size"]:
        name += f", batches of {best['batch_size']}"
    if texts < texts_all:
        name += f" (the first {texts} texts)"
    least, mean = fidelity_of_row
    return (
        name,
        f"{best['tokens_per_second']:,.0f}",
        f"{best['tokens_per_second'] / reference_rate:.2f}",
        f"{best['query_ms']:.2f} ms",
        f"{least:.5f}",
        f"{mean:.5f}",
        f"{best['peak_bytes'] / 1e6:,.0f} MB",
        "one round" if best["spread"] is None else f"{best['spread'] * 100:.0f} %",
    )


def markdown(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]

    def line(row):
        first = row[0].ljust(widths[0])
        return " | ".join([first, *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])

    rule = "|".join(["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])])
    head, *body = (f"| {line(row)} |" for row in rows)
    return "\n".join([head, f"|{rule}|", *body])


def table(rounds, vectors_of, reference_row):
    """The table as Markdown; `vectors_of(row)` gives a row's vectors."""
    reference = vectors_of(reference_row)
    reference_rate = best_of(rounds[reference_row])["tokens_per_second"]
    rows = [HEADER]
    for name, measured in rounds.items():
        vectors = vectors_of(name)
        rows.append(
            cells(
                name,
                best_of(measured),
                fidelity(vectors, reference),
                reference_rate,
                len(vectors),
                len(reference),
            )
        )
    return markdown(rows)


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    results, folder, reference_row = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    rounds = parse_results(results.read_text().splitlines())
    print(table(rounds, lambda row: json.loads((folder / f"{row}.json").read_text()), reference_row))


if __name__ == "__main__":
    main()
