#!/usr/bin/env python3
"""Say where the time went in a trace of Lodestone, and whether everything ran where it may.

    scripts/trace_summary.py trace.json                     a summary in Markdown
    scripts/trace_summary.py trace.json --json              the same for machines
    scripts/trace_summary.py trace.json --check --needs read_file,step --ui-max-ms 16

With --check it says each breach of the rules below on stderr and ends with 1. A trace that was cut
off is read up to its last complete event. docs/profiling.md explains threads and spans.
"""

import argparse
import json
import math
import os
import pathlib
import re
import sys
from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
from trace_events import Events  # noqa: E402

BLOCKING = "lodestone-blocking*"
DEVICE = "gpu-scheduler*"

# Spans, the threads that they may run on (`!` before one: the threads that they may not), and what
# to do about one that runs elsewhere. A span that is not named here may run anywhere.
PLACES = [
    (
        "scan hash read_file read_page extract tokenize chunk plan store catch_up "
        "open_model_files search_words search_vectors search_rest",
        BLOCKING,
        "it is CPU or file work: hand it to the blocking pool",
    ),
    (
        "step finish_step generate_step upload_model",
        DEVICE,
        "only the thread that owns the device may use it: send it a request",
    ),
    ("prepare_model", "model-loader*", "a model is prepared beside the device, by its loader"),
    ("ui_turn", "main", "the window's event loop belongs to the main thread"),
    (
        "submit",
        "!" + DEVICE,
        "the device's thread would wait for itself: submit from the caller's thread",
    ),
    (
        "fetch",
        "lodestone-async-job*",
        "the network is waited for by the runtime of jobs, where no search is served",
    ),
    ("clone_tokenizer", "", "no tokenizer is cloned: share the one there is"),
]

# Spans that read one document. Where a `chunk` lies within, exactly one `tokenize` does.
DOCUMENTS = {"read_file": "path", "read_page": "url"}

UI_TURN = "ui_turn"
# A picture of a screen with 60 Hz.
FRAME_US = 16_000


@dataclass(slots=True)
class Open:
    """A span that has begun and not ended."""

    name: str
    ts: float
    args: dict
    tokenized: int = 0
    chunked: int = 0


@dataclass(slots=True)
class Timed:
    """The spans of one name on one thread."""

    durations: array = field(default_factory=lambda: array("d"))
    first_ts: float = 0.0
    longest_us: float = -1.0
    longest_ts: float = 0.0

    def add(self, ts: float, duration: float) -> None:
        if not self.durations or ts < self.first_ts:
            self.first_ts = ts
        self.durations.append(duration)
        if duration > self.longest_us:
            self.longest_us, self.longest_ts = duration, ts


@dataclass(slots=True)
class Thread:
    name: str = ""
    stack: list = field(default_factory=list)
    spans: dict = field(default_factory=lambda: defaultdict(Timed))
    # While any span is open; what is nested counts once.
    busy_us: float = 0.0
    busy_since: float = 0.0


@dataclass(slots=True)
class Gauge:
    """A counter's values, each weighted with the time until the next."""

    count: int = 0
    low: float = float("inf")
    high: float = float("-inf")
    first_ts: float = 0.0
    ts: float = 0.0
    value: float = 0.0
    area: float = 0.0

    def add(self, ts: float, value: float) -> None:
        if self.count:
            self.area += self.value * max(ts - self.ts, 0.0)
        else:
            self.first_ts = ts
        self.count += 1
        self.ts, self.value = ts, value
        self.low, self.high = min(self.low, value), max(self.high, value)

    def mean(self, end: float) -> float:
        area = self.area + self.value * max(end - self.ts, 0.0)
        return area / (end - self.first_ts) if end > self.first_ts else self.value


class Trace:
    """What is to be known of a trace, gathered in one pass over its events."""

    def __init__(self, events: Events):
        self.threads: dict = defaultdict(Thread)
        self.processes: dict = {}
        self.gauges: dict = defaultdict(Gauge)
        self.starts: dict = {}
        self.ends: dict = {}
        self.instants: dict = defaultdict(int)
        self.documents = self.open_spans = self.strays = 0
        # Documents that were not tokenized once: (thread, span, times).
        self.untidy: list = []
        self.first, self.last = float("inf"), float("-inf")
        take = {
            "B": self._begin,
            "E": self._end,
            "M": self._name,
            "C": self._count,
            "s": self._flow,
            "f": self._flow,
            "i": self._instant,
        }
        for event in events:
            if handle := take.get(event.get("ph")):
                ts = event.get("ts")
                if isinstance(ts, (int, float)):
                    self.first, self.last = min(self.first, ts), max(self.last, ts)
                elif handle != self._name:
                    raise ValueError(f"event {events.count} has no time: {event}")
                handle(event, ts)
        self._close_all()
        self.events = events

    @property
    def length_us(self) -> float:
        return max(self.last - self.first, 0.0)

    def thread_name(self, key: tuple) -> str:
        return self.threads[key].name or f"thread {key[1]} without a name"

    def _thread(self, event: dict) -> Thread:
        return self.threads[event.get("pid"), event.get("tid")]

    def _begin(self, event: dict, ts: float) -> None:
        thread = self._thread(event)
        if not thread.stack:
            thread.busy_since = ts
        name = event.get("name", "")
        if name in ("tokenize", "chunk"):
            for span in reversed(thread.stack):
                if span.name in DOCUMENTS:
                    span.tokenized += name == "tokenize"
                    span.chunked += name == "chunk"
                    break
        thread.stack.append(Open(name, ts, event.get("args") or {}))

    def _end(self, event: dict, ts: float) -> None:
        thread = self._thread(event)
        # Guards of spans are mostly dropped in order, so it is the last one; never look for long.
        for index in range(len(thread.stack) - 1, -1, -1):
            if thread.stack[index].name == event.get("name", thread.stack[index].name):
                span = thread.stack.pop(index)
                span.args = {**span.args, **(event.get("args") or {})}
                self._finish(event.get("pid"), event.get("tid"), thread, span, ts)
                return
        self.strays += 1

    def _finish(self, pid, tid, thread: Thread, span: Open, ts: float, is_whole=True) -> None:
        thread.spans[span.name].add(span.ts, ts - span.ts)
        if not thread.stack:
            thread.busy_us += ts - thread.busy_since
        if span.name in DOCUMENTS and span.chunked:
            self.documents += 1
            # One that the end of the trace cut in two may be tokenized later.
            if span.tokenized > 1 or (span.tokenized == 0 and is_whole):
                self.untidy.append(((pid, tid), span))

    def _close_all(self) -> None:
        for (pid, tid), thread in self.threads.items():
            self.open_spans += len(thread.stack)
            while thread.stack:
                self._finish(pid, tid, thread, thread.stack.pop(), self.last, is_whole=False)

    def _name(self, event: dict, _ts: float) -> None:
        name = (event.get("args") or {}).get("name", "")
        if event.get("name") == "thread_name":
            self._thread(event).name = name
        elif event.get("name") == "process_name":
            self.processes[event.get("pid")] = name

    def _count(self, event: dict, ts: float) -> None:
        for series, value in (event.get("args") or {}).items():
            if isinstance(value, (int, float)):
                self.gauges[event.get("name", ""), series].add(ts, value)

    def _flow(self, event: dict, ts: float) -> None:
        thread = self._thread(event)
        args = dict(event.get("args") or {})
        if "priority" not in args and thread.stack:
            args = thread.stack[-1].args
        is_start = event["ph"] == "s"
        side = self.starts if is_start else self.ends
        key = (event.get("pid"), event.get("cat"), event.get("id"))
        # A request may take several steps; it waited until the first.
        if key not in side or ts < side[key][0]:
            side[key] = (ts, args.get("priority"))

    def _instant(self, event: dict, _ts: float) -> None:
        self.instants[event.get("name", "")] += 1


def quantile(values, q: float) -> float:
    """The value that a share q of the sorted values does not exceed."""
    return values[max(math.ceil(q * len(values)) - 1, 0)]


def figures(durations) -> dict:
    durations = sorted(durations)
    return {
        "count": len(durations),
        "total_us": sum(durations),
        "median_us": quantile(durations, 0.5),
        "p95_us": quantile(durations, 0.95),
        "longest_us": durations[-1],
    }


def pool_of(thread: str) -> str:
    """The name without the number that tells the threads of a pool apart."""
    return re.sub(r"-\d+$", "", thread)


def summarize(trace: Trace, size: int) -> dict:
    length = trace.length_us
    summary = {
        "length_us": length,
        "bytes": size,
        "mb_a_minute": size / 1e6 / (length / 60e6) if length else None,
        "events": trace.events.count,
        "is_closed": trace.events.is_closed,
        "dropped_characters": trace.events.dropped,
        "open_spans": trace.open_spans,
        "ends_without_begin": trace.strays,
        "documents": trace.documents,
        "processes": sorted(set(trace.processes.values())),
        "instants": dict(sorted(trace.instants.items())),
    }

    threads = []
    by_name = defaultdict(lambda: (array("d"), defaultdict(int)))
    for key, thread in trace.threads.items():
        name = trace.thread_name(key)
        row = {"name": name, "pool": pool_of(name), "pid": key[0], "tid": key[1]}
        row |= {"busy_us": thread.busy_us, "share": thread.busy_us / length if length else 0.0}
        if thread.spans:
            longest = max(thread.spans, key=lambda span: thread.spans[span].longest_us)
            timed = thread.spans[longest]
            row["longest"] = {"span": longest, "us": timed.longest_us, "at_us": timed.longest_ts}
        threads.append(row)
        for span, timed in thread.spans.items():
            durations, pools = by_name[span]
            durations.extend(timed.durations)
            pools[row["pool"]] += len(timed.durations)
    summary["threads"] = sorted(threads, key=lambda row: -row["busy_us"])
    spans = [
        {"name": name, **figures(durations), "threads": dict(sorted(pools.items()))}
        for name, (durations, pools) in by_name.items()
    ]
    summary["spans"] = sorted(spans, key=lambda row: -row["total_us"])

    turns, longest = array("d"), None
    for key, thread in trace.threads.items():
        if timed := thread.spans.get(UI_TURN):
            turns.extend(timed.durations)
            if longest is None or timed.longest_us > longest.longest_us:
                longest = timed
    if longest is not None:
        summary["ui"] = {
            **figures(turns),
            "longest_at_us": longest.longest_ts,
            "over_16_ms": sum(turn > FRAME_US for turn in turns),
            "share": sum(turns) / length if length else 0.0,
        }

    waits = defaultdict(list)
    for key, (start, priority) in trace.starts.items():
        if key in trace.ends:
            end, other = trace.ends[key]
            waits[str(priority or other or "any").lower()].append(max(end - start, 0.0))
    joined = sum(map(len, waits.values()))
    summary["requests"] = {
        "submitted": len(trace.starts),
        "reached_a_step": joined,
        "steps_without_request": len(trace.ends.keys() - trace.starts.keys()),
        "wait_by_priority": {name: figures(wait) for name, wait in sorted(waits.items())},
    }
    summary["counters"] = [
        {
            "counter": counter,
            "series": series,
            "samples": gauge.count,
            "min": gauge.low,
            "max": gauge.high,
            "mean": gauge.mean(trace.last),
        }
        for (counter, series), gauge in sorted(trace.gauges.items())
    ]
    return summary


def may_run(places: str, thread: str) -> bool:
    if places.startswith("!"):
        return not fnmatchcase(thread, places[1:])
    return fnmatchcase(thread, places)


def breaches(trace: Trace, summary: dict, wanted: argparse.Namespace) -> list[str]:
    """What the trace breaks, one sentence each: the thread, the span, when, and what to do."""
    found = []

    def at(ts: float) -> str:
        return f"{(ts - trace.first) / 1e6:.3f} s"

    places = {span: (where, todo) for spans, where, todo in PLACES for span in spans.split()}
    for key, thread in trace.threads.items():
        for span, timed in sorted(thread.spans.items()):
            where, todo = places.get(span, ("*", ""))
            if may_run(where, trace.thread_name(key)):
                continue
            times = len(timed.durations)
            found.append(
                f"{span} ran on {trace.thread_name(key)}, at {at(timed.first_ts)} first"
                f" ({times} time{'s' * (times > 1)}, the longest {pretty(timed.longest_us)}"
                f" at {at(timed.longest_ts)}); {todo}"
            )
    for key, span in trace.untidy:
        what = span.args.get(DOCUMENTS[span.name], "a document without a name")
        found.append(
            f"{span.name} on {trace.thread_name(key)} at {at(span.ts)} tokenized {what}"
            f" {span.tokenized} times; tokenize a document once and chunk what that gave"
        )

    seen = {span["name"] for span in summary["spans"]}
    missing = [span for span in wanted.needs if span not in seen]
    for span in missing:
        found.append(f"no {span} in the trace; run what makes one, or see whether it was renamed")
    if not seen & places.keys():
        found.append(
            "no span that a rule is about is in the trace; was it written with --features profile?"
        )
    if wanted.ui_max_ms is not None:
        ui = summary.get("ui")
        if ui is None:
            found.append(f"no {UI_TURN} in the trace, so its longest is not known; open the window")
        elif ui["longest_us"] > wanted.ui_max_ms * 1000:
            found.append(
                f"{UI_TURN} on main took {pretty(ui['longest_us'])} at {at(ui['longest_at_us'])},"
                f" allowed are {wanted.ui_max_ms:g} ms; see which spans lie within it, and move"
                " their work off the UI thread"
            )
    rate = summary["mb_a_minute"]
    if wanted.max_mb_a_minute is not None and (rate is None or rate > wanted.max_mb_a_minute):
        wrote = "has no length" if rate is None else f"grew by {rate:.1f} MB a minute"
        found.append(
            f"the trace {wrote}, allowed are {wanted.max_mb_a_minute:g}; find in the table of spans"
            " what comes too often, and trace that less"
        )
    return found


def sum_of(rows: list[dict], key: str) -> float:
    return sum(row[key] for row in rows)


def pretty(us: float) -> str:
    for unit, divisor in [("s", 1e6), ("ms", 1e3)]:
        if us >= divisor:
            return f"{us / divisor:.3g} {unit}" if us < 1000 * divisor else f"{us / divisor:.0f} {unit}"
    return f"{us:.3g} µs"


def markdown(summary: dict, name: str) -> str:
    lines = [f"# Trace {name}", ""]

    def table(head: str, rows: list) -> None:
        columns = head.split("|")
        # Numbers stand right, and names left.
        lines.append("| " + " | ".join(column.strip("<") for column in columns) + " |")
        lines.append("|" + "|".join("---" if c.startswith("<") else "---:" for c in columns) + "|")
        for row in rows:
            # A span's name may hold a bar, which would end the cell.
            lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |")
        lines.append("")

    rate = summary["mb_a_minute"]
    rate = "" if rate is None else f", {rate:.1f} MB a minute"
    lines += [
        f"{pretty(summary['length_us'])}, {summary['events']:,} events,"
        f" {summary['bytes'] / 1e6:.1f} MB{rate}.",
        "",
    ]
    if not summary["is_closed"]:
        lines += [
            f"The trace is cut off: {summary['dropped_characters']} characters behind the last"
            " complete event are left out (scripts/fix-trace.py repairs the file).",
            "",
        ]
    if summary["open_spans"]:
        lines += [f"{summary['open_spans']} spans were open at the end and count up to it.", ""]
    if summary["ends_without_begin"]:
        lines += [f"{summary['ends_without_begin']} ends of spans had no begin.", ""]

    if ui := summary.get("ui"):
        lines += [
            f"**UI thread:** longest turn {pretty(ui['longest_us'])}, {ui['over_16_ms']} of"
            f" {ui['count']:,} over 16 ms, p95 {pretty(ui['p95_us'])}; busy"
            f" {pretty(ui['total_us'])}, {ui['share']:.1%} of the time.",
            "",
        ]

    lines += ["## Threads", ""]
    pools = defaultdict(list)
    for thread in summary["threads"]:
        pools[thread["pool"]].append(thread)
    rows = []
    for pool, threads in sorted(pools.items(), key=lambda pool: -sum_of(pool[1], "busy_us")):
        busiest = threads[0]
        longest = max(
            (thread["longest"] for thread in threads if "longest" in thread),
            key=lambda longest: longest["us"],
            default=None,
        )
        rows.append(
            [
                pool,
                len(threads),
                pretty(sum_of(threads, "busy_us")),
                f"{busiest['share']:.1%}",
                f"{longest['span']}, {pretty(longest['us'])}" if longest else "",
            ]
        )
    table("<threads|number|busy|share of the busiest|<longest span", rows)

    lines += ["## Spans", ""]
    table(
        "<span|count|total|median|p95|longest|<on",
        [
            [span["name"], f"{span['count']:,}"]
            + [pretty(span[key]) for key in ("total_us", "median_us", "p95_us", "longest_us")]
            + [", ".join(span["threads"])]
            for span in summary["spans"]
        ],
    )

    requests = summary["requests"]
    if requests["submitted"]:
        lines += [
            "## From submit to the first step",
            "",
            f"{requests['reached_a_step']:,} of {requests['submitted']:,} requests reached a step.",
            "",
        ]
        table(
            "<priority|requests|median|p95|longest",
            [
                [priority, f"{wait['count']:,}"]
                + [pretty(wait[key]) for key in ("median_us", "p95_us", "longest_us")]
                for priority, wait in requests["wait_by_priority"].items()
            ],
        )
    if summary["counters"]:
        lines += ["## Counters", ""]
        table(
            "<counter|<series|samples|min|mean over time|max",
            [
                [gauge["counter"], gauge["series"], f"{gauge['samples']:,}"]
                + [f"{gauge[key]:,.4g}" for key in ("min", "mean", "max")]
                for gauge in summary["counters"]
            ],
        )
    return "\n".join(lines).rstrip() + "\n"


def arguments_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--json", action="store_true", help="the summary for machines")
    parser.add_argument("--check", action="store_true", help="end with 1 when a rule is broken")
    parser.add_argument(
        "--needs",
        type=lambda names: [name for name in names.split(",") if name],
        default=[],
        metavar="SPAN,...",
        help="spans that the trace must hold",
    )
    parser.add_argument("--ui-max-ms", type=float, help="the longest ui_turn that is allowed")
    parser.add_argument("--max-mb-a-minute", type=float, help="how fast the trace may grow")
    arguments = parser.parse_args(argv)
    bounds = [arguments.needs or None, arguments.ui_max_ms, arguments.max_mb_a_minute]
    if not arguments.check and any(bound is not None for bound in bounds):
        parser.error("--needs, --ui-max-ms and --max-mb-a-minute belong to --check")
    return arguments


def main(argv: list[str]) -> int:
    arguments = arguments_of(argv)
    try:
        with open(arguments.trace, encoding="utf-8", errors="replace") as file:
            trace = Trace(Events(file))
            summary = summarize(trace, os.fstat(file.fileno()).st_size)
    except (OSError, ValueError) as error:
        print(f"trace_summary: {arguments.trace}: {error}", file=sys.stderr)
        return 1
    found = breaches(trace, summary, arguments) if arguments.check else []
    if arguments.json:
        print(json.dumps({**summary, "breaches": found}, indent=1))
    else:
        print(markdown(summary, pathlib.Path(arguments.trace).name), end="")
    for breach in found:
        print(f"trace_summary: {breach}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
