"""scripts/draw_trace.py: spans are drawn where and as long as they were."""

import contextlib
import importlib.util
import io
import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "draw_trace.py"
spec = importlib.util.spec_from_file_location("draw_trace", SCRIPT)
draw_trace = importlib.util.module_from_spec(spec)
spec.loader.exec_module(draw_trace)

SVG = "{http://www.w3.org/2000/svg}"


def event(ph, tid, ms, name):
    return {"ph": ph, "pid": 1, "tid": tid, "ts": 5_000_000 + ms * 1000, "name": name}


EVENTS = [
    event("B", 0, 0, "turn"),
    event("B", 0, 250, "<inner>"),
    event("E", 0, 500, "<inner>"),
    event("E", 0, 1000, "turn"),
    event("B", 1, 500, "open"),
    {"ph": "M", "pid": 1, "tid": 0, "name": "thread_name", "args": {"name": "main"}},
    {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "worker-1"}},
]


def drawn(*options):
    """The spans of the picture: what their titles say, with left edge and width."""
    with tempfile.TemporaryDirectory() as folder:
        trace, svg = pathlib.Path(folder) / "trace.json", pathlib.Path(folder) / "trace.svg"
        # As a kill leaves it.
        trace.write_text("[\n" + ",\n".join(map(json.dumps, EVENTS)) + ',\n{"ph":')
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            status = draw_trace.main([str(trace), "--output", str(svg), *options])
        if status != 0:
            return status
        root = xml.etree.ElementTree.parse(svg).getroot()
    spans = {}
    for rect in root.iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None:
            spans[title.text] = (float(rect.get("x")), float(rect.get("width")), int(rect.get("y")))
    return spans


class DrawTrace(unittest.TestCase):
    left = draw_trace.LEFT
    wide = draw_trace.WIDTH - draw_trace.LEFT - draw_trace.RIGHT

    def assert_drawn(self, span, begin, length):
        self.assertAlmostEqual(span[0], self.left + begin * self.wide, delta=0.1)
        self.assertAlmostEqual(span[1], length * self.wide, delta=0.1)

    def test_the_whole_is_drawn_to_scale(self):
        spans = drawn()
        self.assertEqual(len(spans), 3)
        self.assert_drawn(spans["turn, 1000.000 ms"], 0, 1)
        self.assert_drawn(spans["<inner>, 250.000 ms"], 0.25, 0.25)
        self.assert_drawn(spans["open, 500.000 ms"], 0.5, 0.5)
        self.assertLess(spans["turn, 1000.000 ms"][2], spans["<inner>, 250.000 ms"][2])

    def test_a_stretch_of_some_threads(self):
        spans = drawn("--from", "0.4", "--to", "0.9", "--threads", "ma*")
        self.assertEqual(len(spans), 2)
        self.assert_drawn(spans["turn, 1000.000 ms"], 0, 1)
        self.assert_drawn(spans["<inner>, 250.000 ms"], 0, 0.2)

    def test_an_empty_stretch_is_refused(self):
        self.assertEqual(drawn("--from", "2"), 1)

    def test_ticks_are_round_and_ten_at_most(self):
        for length, step in [(1, 0.1), (1.2, 0.2), (0.06, 0.01), (11, 2), (45, 5), (60, 10)]:
            self.assertAlmostEqual(draw_trace.step_of(length), step)


if __name__ == "__main__":
    unittest.main()
