#!/usr/bin/env python3
"""Checks that the license of every dependency can be met by the licenses that deny.toml allows.

usage: check-licenses.py [--self-test]

Does what `cargo deny check licenses` does with [licenses] allow, exceptions and clarify, and needs
only Python 3.11 and cargo. Dependencies of every platform and every feature count, and those of
the tests too.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def tokens(expression):
    # Before SPDX expressions came, crates wrote a slash for OR.
    found = re.findall(r"[()/]|[^\s()/]+", expression)
    return ["OR" if token == "/" else token for token in found]


def is_met(expression, allowed):
    """Whether an SPDX expression can be met: OR needs one side, AND both; AND binds tighter."""
    rest = tokens(expression)

    def either():
        met = both()
        while rest and rest[0] == "OR":
            rest.pop(0)
            # Both sides are always read; the order matters, or `or` would skip the reading.
            met = both() or met
        return met

    def both():
        met = one()
        while rest and rest[0] == "AND":
            rest.pop(0)
            met = one() and met
        return met

    def one():
        if not rest or rest[0] in (")", "OR", "AND", "WITH"):
            raise ValueError(f"not an SPDX expression: {expression!r}")
        name = rest.pop(0)
        if name == "(":
            met = either()
            if not rest or rest.pop(0) != ")":
                raise ValueError(f"unbalanced parenthesis: {expression!r}")
            return met
        if rest and rest[0] == "WITH":
            rest.pop(0)
            if not rest:
                raise ValueError(f"no exception after WITH: {expression!r}")
            name = f"{name} WITH {rest.pop(0)}"
        return name in allowed

    met = either()
    if rest:
        raise ValueError(f"not an SPDX expression: {expression!r}")
    return met


def faults(packages, rules):
    """One line for each package whose license the rules do not allow."""
    exceptions = {entry["crate"]: entry["allow"] for entry in rules.get("exceptions", [])}
    clarified = {entry["crate"]: entry["expression"] for entry in rules.get("clarify", [])}
    for package in packages:
        name = package["name"]
        crate = f"{name} {package['version']}"
        expression = clarified.get(name) or package["license"]
        if not expression:
            yield f"{crate} names no license; read its files, then add [[licenses.clarify]] to deny.toml"
            continue
        try:
            met = is_met(expression, {*rules["allow"], *exceptions.get(name, [])})
        except ValueError as error:
            yield f"{crate}: {error}"
            continue
        if not met:
            yield f"{crate} is licensed {expression}, which deny.toml does not allow"


def self_test():
    allowed = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "ISC"}
    for expression, expected in [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT/GPL-2.0", True),
        ("GPL-2.0 / GPL-3.0", False),
        ("MIT AND GPL-2.0", False),
        ("GPL-2.0 OR MIT AND ISC", True),
        ("MIT OR ISC AND GPL-2.0", True),
        ("(MIT OR ISC) AND GPL-2.0", False),
        ("(MIT OR GPL-2.0) AND ISC", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MIT WITH LLVM-exception", False),
        ("GPL-2.0 WITH LLVM-exception OR ISC", True),
    ]:
        assert is_met(expression, allowed) is expected, expression
    for nonsense in ["", "MIT OR", "(MIT", "MIT)", "MIT ISC", "MIT WITH"]:
        try:
            is_met(nonsense, allowed)
        except ValueError:
            continue
        raise AssertionError(f"{nonsense!r} was taken for an expression")

    def crate(name, license):
        return {"name": name, "version": "1.0.0", "license": license}

    rules = {
        "allow": ["MIT"],
        "exceptions": [{"crate": "excused", "allow": ["GPL-3.0-only"]}],
        "clarify": [{"crate": "clarified", "expression": "MIT"}],
    }
    fine = [crate("plain", "MIT"), crate("excused", "GPL-3.0-only"), crate("clarified", None)]
    wrong = [crate("copyleft", "GPL-3.0-only"), crate("silent", None), crate("garbled", "MIT OR")]
    found = list(faults(fine + wrong, rules))
    assert [line.split()[0] for line in found] == ["copyleft", "silent", "garbled"], found
    print("check-licenses: self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:]:
        raise SystemExit(__doc__)
    rules = tomllib.loads((REPOSITORY / "deny.toml").read_text())["licenses"]
    command = ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked"]
    metadata = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True).stdout
    packages = json.loads(metadata)["packages"]
    found = list(faults(packages, rules))
    for line in found:
        print(line, file=sys.stderr)
    if found:
        raise SystemExit(1)
    print(f"check-licenses: {len(packages)} packages, all allowed")


if __name__ == "__main__":
    main()
