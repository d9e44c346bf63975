#!/usr/bin/env python3
"""Makes assets/models/all-MiniLM-L6-v2/self-test.json from tests/goldens/minilm.json.

usage: make-self-test.py

The library runs these inputs when it opens a device and trusts the device only when the vectors agree.
Three texts of different length, so that a device that pads has something to pad.
"""

import json
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
GOLDENS = REPOSITORY / "tests" / "goldens" / "minilm.json"
OUTPUT = REPOSITORY / "assets" / "models" / "all-MiniLM-L6-v2" / "self-test.json"
NAMES = ("one word", "query", "a paragraph")


def main():
    cases = json.loads(GOLDENS.read_text(encoding="utf-8"))["cases"]
    chosen = [case for name in NAMES for case in cases if case["name"] == name]
    lines = [json.dumps({key: case[key] for key in ("ids", "embedding")}) for case in chosen]
    OUTPUT.write_text('{"cases": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")
    print(f"{OUTPUT}: {len(lines)} cases, {OUTPUT.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
