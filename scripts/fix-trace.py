#!/usr/bin/env python3
"""Repair a Chrome trace whose process died before it closed the file.

Keeps every event up to the last complete one and closes the array. The file is replaced in place
unless --output names another; a trace that is whole already is left as it is.

    scripts/fix-trace.py trace-1234.json [--output fixed.json]
"""

import argparse
import io
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
from trace_events import Events  # noqa: E402


def repair(text: str) -> tuple[str, int, int]:
    """Return the repaired text, how many events it has, and how many characters were dropped."""
    events = Events(io.StringIO(text))
    for _ in events:
        pass
    closing = "\n" if events.is_closed else "\n]\n"
    return text[: events.end] + closing, events.count, events.dropped


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--output", help="write here instead of replacing the trace")
    arguments = parser.parse_args()
    try:
        with open(arguments.trace, encoding="utf-8", errors="replace") as file:
            fixed, events, dropped = repair(file.read())
        output = arguments.output or arguments.trace
        fresh = output + ".new"
        with open(fresh, "w", encoding="utf-8") as file:
            file.write(fixed)
        os.replace(fresh, output)
    except (OSError, ValueError) as error:
        print(f"fix-trace: {arguments.trace}: {error}", file=sys.stderr)
        return 1
    print(f"{output}: {events} events kept, {dropped} characters dropped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
