"""A trace cut at any byte of its last event is repaired to the events before it.

Run with: python3 -m unittest discover -s tests/scripts
"""

import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "fix-trace.py"
spec = importlib.util.spec_from_file_location("fix_trace", SCRIPT)
fix_trace = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fix_trace)

EVENTS = [
    {"ph": "M", "pid": 1, "name": "thread_name", "tid": 0, "args": {"name": "main"}},
    {"ph": "B", "pid": 1, "ts": 12.5, "name": "embed [batch]", "cat": "lodestone", "tid": 0},
    {"ph": "E", "pid": 1, "ts": 99.25, "name": "emb\u00e9d \"x\\", "args": {"n": [1, {"a": 2}]}},
]
# As tracing-chrome writes it: one event a line.
WHOLE = "[\n" + ",\n".join(json.dumps(event, ensure_ascii=False) for event in EVENTS) + "\n]"


def repaired(content: bytes) -> list:
    # As the program reads a file, without starting it for each cut.
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", errors="replace").read()
    return json.loads(fix_trace.repair(text)[0])


class FixTrace(unittest.TestCase):
    def test_a_cut_at_every_byte_of_the_last_event_keeps_the_others(self):
        whole = WHOLE.encode()
        last = whole.rindex(b'{"ph": "E"')
        closed = len(whole) - len(b"\n]")
        for cut in range(last, closed):
            with self.subTest(cut=cut):
                self.assertEqual(repaired(whole[:cut]), EVENTS[:2])

    def test_a_complete_last_event_is_kept(self):
        whole = WHOLE.encode()
        for cut in range(len(whole) - len(b"\n]"), len(whole) + 1):
            with self.subTest(cut=cut):
                self.assertEqual(repaired(whole[:cut]), EVENTS)

    def test_a_trace_without_events_is_an_empty_array(self):
        for content in [b"[", b"[\n", b"[\n]", b'[\n{"ph"', b"[\n12", b'[\n"ph"']:
            with self.subTest(content=content):
                self.assertEqual(repaired(content), [])

    def test_the_file_is_replaced_or_another_written(self):
        cut = WHOLE.encode()[:-9]
        for options in [[], ["--output", "fixed.json"]]:
            with self.subTest(options=options), tempfile.TemporaryDirectory() as folder:
                trace = pathlib.Path(folder) / "trace.json"
                trace.write_bytes(cut)
                command = [sys.executable, SCRIPT, trace, *options]
                run = subprocess.run(
                    command, cwd=folder, check=True, capture_output=True, text=True, timeout=60
                )
                self.assertIn("2 events kept", run.stdout)
                fixed = pathlib.Path(folder) / (options[-1] if options else "trace.json")
                self.assertEqual(json.loads(fixed.read_text(encoding="utf-8")), EVENTS[:2])
                if options:
                    self.assertEqual(trace.read_bytes(), cut)

    def test_another_file_is_refused_and_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder) / "notes.txt"
            other.write_text("notes [1]")
            run = subprocess.run(
                [sys.executable, SCRIPT, other], capture_output=True, text=True, timeout=60
            )
            self.assertEqual(run.returncode, 1)
            self.assertIn("no Chrome trace", run.stderr)
            self.assertEqual(other.read_text(), "notes [1]")


if __name__ == "__main__":
    unittest.main()
