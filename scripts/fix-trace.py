#!/usr/bin/env python3
"""Repair a Chrome trace whose process died before it closed the file.

Keeps every event up to the last complete one and closes the array. The file is replaced in place
unless --output names another; a trace that is whole already is left as it is.

    scripts/fix-trace.py trace-1234.json [--output fixed.json]
"""

import argparse
import json
import os
import sys


def repair(text: str) -> tuple[str, int, int]:
    """Return the repaired text, how many events it has, and how many characters were dropped."""
    start = text.find("[")
    if start < 0 or text[:start].strip():
        raise ValueError("no Chrome trace: it does not start with '['")
    decoder = json.JSONDecoder()
    events = 0
    end = position = start + 1
    while True:
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1
        if text[position : position + 1] == "]":
            return text[: position + 1] + "\n", events, len(text[position + 1 :].strip())
        try:
            event, position = decoder.raw_decode(text, position)
        except ValueError:
            break
        # A number cut in two still parses; an event is always an object, which cannot.
        if not isinstance(event, dict):
            break
        events += 1
        end = position
    return text[:end] + "\n]\n", events, len(text) - end


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
