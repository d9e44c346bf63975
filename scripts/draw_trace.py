#!/usr/bin/env python3
"""Draw a stretch of a trace as an SVG: a lane for each thread, nested spans below one another.

    scripts/draw_trace.py trace.json --from 2 --to 2.5 --output docs/screenshots/trace.svg
    scripts/draw_trace.py trace.json --threads 'main,gpu-scheduler*,lodestone-blocking-job-*'

Seconds count from the first event. Spans are drawn to scale, those narrower than a tenth of a pixel
that wide; of several of these in one place one is drawn. What is nested deeper than five is left out.
"""

import argparse
import html
import math
import pathlib
import re
import sys
from collections import defaultdict
from fnmatch import fnmatchcase

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
from trace_events import Events  # noqa: E402

WIDTH, LEFT, RIGHT, TOP = 1200, 190, 24, 30
ROW, GAP, DEEPEST = 15, 7, 4
LEAST = 0.1
# Wide enough for a letter of the labels, which are 10 pixels high.
LETTER = 5.6
# For the names that take the most time; the others are gray.
COLORS = ["#8fb4d1", "#d9b38c", "#a3c29a", "#c9a0bd", "#d6cf8a", "#93c4bd", "#d69a93", "#b3aed6"]
COLORS += ["#b8a58c", "#7fa6c9", "#c9c39f", "#c48fa0"]
OTHER = "#c4c8cc"
DOCUMENT = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" \
height="{height}" font-family="sans-serif" font-size="10">
<rect width="100%" height="100%" fill="#ffffff"/>
{body}
</svg>
"""


def read(path: str):
    """Names of threads, and of each its spans: (begin, end, depth, name), in seconds."""
    names, stacks, spans = {}, defaultdict(list), defaultdict(list)
    first, last = float("inf"), float("-inf")
    with open(path, encoding="utf-8", errors="replace") as file:
        for event in Events(file):
            key, ts = (event.get("pid"), event.get("tid")), event.get("ts")
            if event["ph"] == "M" and event.get("name") == "thread_name":
                names[key] = event["args"]["name"]
            if not isinstance(ts, (int, float)):
                continue
            first, last = min(first, ts), max(last, ts)
            stack = stacks[key]
            if event["ph"] == "B":
                stack.append((ts, len(stack), event["name"]))
            elif event["ph"] == "E":
                for index in range(len(stack) - 1, -1, -1):
                    if stack[index][2] == event["name"]:
                        begin, depth, name = stack.pop(index)
                        spans[key].append((begin, ts, depth, name))
                        break
    for key, stack in stacks.items():
        spans[key] += [(begin, last, depth, name) for begin, depth, name in stack]
    relative = {
        key: [((b - first) / 1e6, (e - first) / 1e6, depth, name) for b, e, depth, name in of]
        for key, of in spans.items()
    }
    return names, relative, max(last - first, 0.0) / 1e6


def step_of(length: float) -> float:
    """A round distance of ticks, ten of them at most."""
    power = 10.0 ** math.floor(math.log10(length / 10))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor * 10 >= length)


def colors_of(lanes: list, begin: float, end: float) -> dict:
    totals = defaultdict(float)
    for _, spans in lanes:
        for since, until, _, name in spans:
            if until >= begin and since <= end:
                totals[name] += min(until, end) - max(since, begin)
    return dict(zip(sorted(totals, key=lambda name: -totals[name]), COLORS))


def draw(lanes: list, begin: float, end: float) -> str:
    colors = colors_of(lanes, begin, end)
    scale = (WIDTH - LEFT - RIGHT) / (end - begin)
    body, top = [], TOP
    for name, spans in lanes:
        shown = [span for span in spans if span[1] >= begin and span[0] <= end]
        depth = min(max((span[2] for span in shown), default=0), DEEPEST) + 1
        body.append(f'<text x="{LEFT - 8}" y="{top + 11}" text-anchor="end">{html.escape(name)}</text>')
        body.append(
            f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - RIGHT}" height="{depth * ROW}"'
            ' fill="#f3f5f7"/>'
        )
        narrow = set()
        for since, until, level, span in sorted(shown, key=lambda span: (span[2], span[0])):
            if level > DEEPEST:
                continue
            x = LEFT + (max(since, begin) - begin) * scale
            width = max((min(until, end) - max(since, begin)) * scale, LEAST)
            if width == LEAST:
                place = (level, round(x, 1))
                if place in narrow:
                    continue
                narrow.add(place)
            y = top + level * ROW
            color = colors.get(span, OTHER)
            body.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 1}" fill="{color}">'
                f"<title>{html.escape(span)}, {(until - since) * 1e3:.3f} ms</title></rect>"
            )
            if width > LETTER * len(span) + 4:
                body.append(f'<text x="{x + 3:.1f}" y="{y + 10}">{html.escape(span)}</text>')
        top += depth * ROW + GAP

    step = step_of(end - begin)
    tick = step * -(-begin // step)
    while tick <= end + step * 1e-6:
        x = LEFT + (tick - begin) * scale
        body.append(f'<path d="M{x:.1f} {TOP - 6}V{top}" stroke="#00000022"/>')
        body.append(f'<text x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">{tick:.6g} s</text>')
        tick += step
    x, bottom = LEFT, top + 8
    for name, color in colors.items():
        length = LETTER * len(name) + 30
        if x + length > WIDTH:
            x, bottom = LEFT, bottom + ROW
        body.append(f'<rect class="key" x="{x:.1f}" y="{bottom}" width="9" height="9" fill="{color}"/>')
        body.append(f'<text x="{x + 13:.1f}" y="{bottom + 8}">{html.escape(name)}</text>')
        x += length
    return DOCUMENT.format(width=WIDTH, height=bottom + ROW + 4, body="\n".join(body))


def numbered(name: str) -> list:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--from", type=float, default=0.0, dest="begin", help="seconds")
    parser.add_argument("--to", type=float, dest="end", help="seconds")
    parser.add_argument("--threads", default="*", help="names or patterns, with commas between")
    parser.add_argument("--output", default="trace.svg")
    arguments = parser.parse_args(argv)
    try:
        names, spans, length = read(arguments.trace)
        end = length if arguments.end is None else arguments.end
        if end <= arguments.begin:
            raise ValueError(f"nothing lies between {arguments.begin} s and {end} s")
        lanes = []
        for pattern in arguments.threads.split(","):
            matching = sorted(
                ((names.get(key, f"thread {key[1]}"), of) for key, of in spans.items() if of),
                key=lambda lane: numbered(lane[0]),
            )
            lanes += [
                lane for lane in matching if fnmatchcase(lane[0], pattern) and lane not in lanes
            ]
        pathlib.Path(arguments.output).write_text(
            draw(lanes, arguments.begin, end), encoding="utf-8"
        )
    except (OSError, ValueError) as error:
        print(f"draw_trace: {arguments.trace}: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.output}: {len(lanes)} threads, {arguments.begin:g} s to {end:g} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
