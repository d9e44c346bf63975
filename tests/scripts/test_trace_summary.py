"""scripts/trace_summary.py: what a trace says, and that each rule it may break is named.

Run with: python3 -m unittest discover -s tests/scripts
"""

import contextlib
import importlib.util
import io
import json
import pathlib
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "trace_summary.py"
spec = importlib.util.spec_from_file_location("trace_summary", SCRIPT)
trace_summary = importlib.util.module_from_spec(spec)
spec.loader.exec_module(trace_summary)

PID = 7
THREADS = ["main", "gpu-scheduler", "model-loader", "lodestone-async-0", "lodestone-async-job-0"]
THREADS += ["lodestone-blocking-0", "lodestone-blocking-1", "lodestone-blocking-job-0"]
THREADS += ["window-door", "tokio-runtime-worker"]
ANYWHERE = set(THREADS)
BLOCKING = {thread for thread in THREADS if "blocking" in thread}
# The rules once more, by themselves: one that is taken out of the script is missed here.
ALLOWED = {
    **dict.fromkeys(["scan", "hash", "read_file", "read_page", "extract", "tokenize"], BLOCKING),
    **dict.fromkeys(["chunk", "plan", "store", "catch_up", "open_model_files"], BLOCKING),
    **dict.fromkeys(["search_words", "search_vectors", "search_rest"], BLOCKING),
    **dict.fromkeys(["step", "finish_step", "generate_step", "upload_model"], {"gpu-scheduler"}),
    "prepare_model": {"model-loader"},
    "ui_turn": {"main"},
    "submit": ANYWHERE - {"gpu-scheduler"},
    "fetch": {"lodestone-async-job-0"},
    "clone_tokenizer": set(),
    "a span without a rule": ANYWHERE,
}
CHECKED = ["--check", "--max-mb-a-minute", "20"]


class Recording:
    """Events of a trace; times in milliseconds."""

    def __init__(self, threads=THREADS):
        self.events = []
        self.tids = {name: tid for tid, name in enumerate(THREADS)}
        for name in threads:
            self.name(name)

    def name(self, thread):
        self.add("M", thread, None, "thread_name", args={"name": thread})
        return self

    def add(self, ph, thread, ms, name, **more):
        event = {"ph": ph, "pid": PID, "tid": self.tids[thread], "name": name, **more}
        if ms is not None:
            event["ts"] = ms * 1000.0
        self.events.append(event)
        return self

    def begin(self, thread, name, ms, **args):
        return self.add("B", thread, ms, name, cat="lodestone", args=args)

    def end(self, thread, name, ms):
        return self.add("E", thread, ms, name, cat="lodestone")

    def span(self, thread, name, begin, end, **args):
        return self.begin(thread, name, begin, **args).end(thread, name, end)

    def flow(self, id, start, start_ms, end, end_ms, **args):
        more = {"cat": "request", "id": id}
        self.add("s", start, start_ms, "request", args=args, **more)
        return self.add("f", end, end_ms, "request", bp="e", **more)

    def count(self, counter, ms, **args):
        self.events.append({"ph": "C", "pid": PID, "name": counter, "ts": ms * 1000.0, "args": args})
        return self

    def document(self, thread, ms, span="read_file", tokenized=1, **args):
        """Reads for 10 ms, tokenizing and chunking within."""
        self.begin(thread, span, ms, **args)
        for turn in range(tokenized):
            self.span(thread, "tokenize", ms + 1 + turn, ms + 2 + turn)
        return self.span(thread, "chunk", ms + 6, ms + 9).end(thread, span, ms + 10)

    def text(self):
        return "[\n" + ",\n".join(json.dumps(e, ensure_ascii=False) for e in self.events) + "\n]\n"


def good(threads=THREADS):
    """A minute with everything that there is, where it may be."""
    recording = Recording(threads)
    recording.span("main", "ui_turn", 0, 4).span("main", "ui_turn", 10, 22)
    recording.span("lodestone-blocking-job-0", "scan", 1, 3)
    recording.document("lodestone-blocking-0", 5, path="/notes/a.md")
    recording.document("lodestone-blocking-1", 6, "read_page", url="https://example.org/")
    for name in ["hash", "extract", "plan", "store", "catch_up", "open_model_files"]:
        recording.span("lodestone-blocking-0", name, 20, 21)
    for name in ["search_words", "search_vectors", "search_rest", "tokenize"]:
        recording.span("lodestone-blocking-1", name, 30, 31)
    recording.span("lodestone-async-job-0", "fetch", 3, 50)
    recording.span("model-loader", "prepare_model", 0, 40)
    recording.begin("lodestone-async-0", "submit", 41, priority="Interactive")
    recording.flow(1, "lodestone-async-0", 42, "gpu-scheduler", 45)
    recording.end("lodestone-async-0", "submit", 43)
    recording.span("gpu-scheduler", "upload_model", 40, 44)
    recording.span("gpu-scheduler", "step", 45, 54).span("gpu-scheduler", "finish_step", 54, 55)
    recording.span("gpu-scheduler", "generate_step", 56, 57)
    recording.count("queue depth", 40, immediate=0, background=20)
    recording.count("queue depth", 60_000, immediate=0, background=0)
    return recording


def run(text, *options):
    """The exit status, what was printed, and the breaches."""
    if isinstance(text, Recording):
        text = text.text()
    content = text if isinstance(text, bytes) else text.encode()
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        trace.write_bytes(content)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = trace_summary.main([str(trace), *options])
    return status, out.getvalue(), err.getvalue()


def summary_of(text, *options):
    status, out, _ = run(text, "--json", *options)
    return status, json.loads(out)


class Placement(unittest.TestCase):
    def assert_breach(self, recording, *parts, options=(), breaches=1):
        status, out, err = run(recording, *CHECKED, *options)
        self.assertEqual(status, 1, out)
        self.assertEqual(len(err.splitlines()), breaches, err)
        for part in parts:
            self.assertIn(part, err)
        # The same is only told, and no reason to end with 1, where no check was asked for.
        self.assertEqual(run(recording)[0], 0)

    def test_a_good_trace_passes(self):
        needs = ["--needs", "read_file,step,fetch", "--ui-max-ms", "16"]
        status, out, err = run(good(), *CHECKED, *needs)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("read_file", out)

    def test_every_rule_of_the_script_is_among_those_that_are_tested(self):
        placed = {span for spans, _, _ in trace_summary.PLACES for span in spans.split()}
        self.assertEqual(placed, ALLOWED.keys() - {"a span without a rule"})
        _, summary = summary_of(good())
        allowed_somewhere = {span for span in placed if ALLOWED[span]}
        self.assertEqual(allowed_somewhere, {span["name"] for span in summary["spans"]})

    def test_every_span_is_refused_on_each_thread_where_it_may_not_run(self):
        todos = {span: todo for spans, _, todo in trace_summary.PLACES for span in spans.split()}
        for span, allowed in ALLOWED.items():
            for thread in THREADS:
                with self.subTest(span=span, thread=thread):
                    recording = good().span(thread, span, 1_000, 1_640)
                    if thread in allowed:
                        self.assertEqual(run(recording, *CHECKED)[0], 0)
                    else:
                        self.assert_breach(
                            recording, f"{span} ran on {thread}", "1.000 s", "640 ms", todos[span]
                        )

    def test_the_threads_of_other_device_lanes_and_loaders_pass(self):
        for span, thread in [("step", "gpu-scheduler-1"), ("prepare_model", "model-loader-12")]:
            recording = good()
            recording.tids[thread] = 50
            self.assertEqual(run(recording.name(thread).span(thread, span, 1, 2), *CHECKED)[0], 0)

    def test_a_document_is_tokenized_once(self):
        for span, key in trace_summary.DOCUMENTS.items():
            for times in [0, 2, 3]:
                with self.subTest(span=span, times=times):
                    recording = good()
                    recording.document(
                        "lodestone-blocking-0", 500, span, times, **{key: "the one with two"}
                    )
                    self.assert_breach(
                        recording,
                        f"{span} on lodestone-blocking-0 at 0.500 s",
                        "the one with two",
                        f"{times} times",
                    )

    def test_a_document_without_passages_need_not_be_tokenized(self):
        recording = good().span("lodestone-blocking-0", "read_file", 500, 510, path="empty.txt")
        self.assertEqual(run(recording, *CHECKED)[0], 0)

    def test_what_another_thread_tokenizes_meanwhile_is_no_part_of_the_document(self):
        recording = good().begin("lodestone-blocking-0", "read_file", 500, path="a")
        recording.span("lodestone-blocking-1", "tokenize", 501, 502)
        recording.span("lodestone-blocking-0", "tokenize", 501, 502)
        recording.span("lodestone-blocking-0", "chunk", 503, 504)
        recording.end("lodestone-blocking-0", "read_file", 505)
        self.assertEqual(run(recording, *CHECKED)[0], 0)

    def test_a_document_that_the_end_cuts_is_not_judged_by_what_is_missing(self):
        recording = good().begin("lodestone-blocking-0", "read_file", 60_000, path="a")
        recording.begin("lodestone-blocking-0", "chunk", 60_001)
        self.assertEqual(run(recording, *CHECKED)[0], 0)
        for _ in range(2):
            recording.span("lodestone-blocking-0", "tokenize", 60_002, 60_003)
        self.assert_breach(recording, "tokenized a 2 times")

    def test_a_thread_whose_name_comes_late_is_known_by_it(self):
        late = good(threads=[]).span("lodestone-async-0", "chunk", 70, 90)
        for thread in THREADS:
            late.name(thread)
        self.assert_breach(late, "chunk ran on lodestone-async-0")

    def test_a_thread_that_never_says_its_name_may_run_nothing_that_has_a_place(self):
        threads = [thread for thread in THREADS if thread != "lodestone-async-job-0"]
        self.assert_breach(good(threads), "fetch ran on thread 4 without a name")

    def test_a_turn_of_the_ui_has_a_bound(self):
        recording = good().span("main", "ui_turn", 2_000, 2_017)
        bound = ["--ui-max-ms", "16"]
        self.assert_breach(recording, "17 ms at 2.000 s", "16 ms", options=bound)
        self.assertEqual(run(recording, *CHECKED, "--ui-max-ms", "17.5")[0], 0)

    def test_a_bound_on_turns_is_not_met_by_a_trace_without_any(self):
        recording = Recording().span("gpu-scheduler", "step", 0, 60_000)
        self.assert_breach(recording, "no ui_turn", options=["--ui-max-ms", "16"])

    def test_spans_that_are_needed_are_missed(self):
        needs = ["--needs", "step,read_mind,fetch"]
        self.assert_breach(good(), "no read_mind in the trace", options=needs)

    def test_a_trace_that_shows_nothing_does_not_pass(self):
        other = Recording().span("main", "elsewhere", 0, 60_000)
        self.assert_breach(other, "--features profile")
        status, _, err = run("[\n]\n", *CHECKED)
        self.assertEqual(status, 1)
        self.assertIn("has no length", err)

    def test_a_trace_may_not_grow_too_fast(self):
        recording = good().span("main", "long", 1, 2, path="x" * 30_000_000)
        self.assert_breach(recording, "30.0 MB a minute", "allowed are 20")

    def test_bounds_without_a_check_are_refused(self):
        for option in [["--needs", "step"], ["--ui-max-ms", "0"], ["--max-mb-a-minute", "0"]]:
            with self.subTest(option=option), self.assertRaises(SystemExit) as end:
                run(good(), *option)
            self.assertEqual(end.exception.code, 2)


class Summary(unittest.TestCase):
    def test_what_is_nested_keeps_a_thread_busy_once(self):
        recording = Recording(["main"]).begin("main", "ui_turn", 0).span("main", "draw", 10, 30)
        recording.end("main", "ui_turn", 40).span("main", "ui_turn", 90, 100)
        _, summary = summary_of(recording)
        (main,) = summary["threads"]
        self.assertEqual((main["busy_us"], main["share"]), (50_000, 0.5))
        self.assertEqual(main["longest"], {"span": "ui_turn", "us": 40_000, "at_us": 0})
        spans = {span["name"]: span for span in summary["spans"]}
        self.assertEqual((spans["draw"]["count"], spans["draw"]["total_us"]), (1, 20_000))
        self.assertEqual(spans["ui_turn"]["threads"], {"main": 2})

    def test_the_ui_thread(self):
        recording = Recording()
        for turn, length in enumerate([1] * 18 + [16, 17, 30]):
            recording.span("main", "ui_turn", turn * 50, turn * 50 + length)
        _, summary = summary_of(recording.count("queue depth", 2_000, background=1))
        ui = summary["ui"]
        self.assertEqual((ui["count"], ui["over_16_ms"], ui["longest_us"]), (21, 2, 30_000))
        self.assertEqual((ui["longest_at_us"], ui["total_us"]), (1_000_000, 81_000))
        self.assertEqual((ui["median_us"], ui["p95_us"]), (1_000, 17_000))
        self.assertAlmostEqual(ui["share"], 81 / 2_000)

    def test_spans_that_are_open_at_the_end_count_up_to_it(self):
        recording = Recording().begin("gpu-scheduler", "step", 10).span("main", "ui_turn", 0, 60)
        _, summary = summary_of(recording)
        self.assertEqual(summary["open_spans"], 1)
        spans = {span["name"]: span["total_us"] for span in summary["spans"]}
        self.assertEqual(spans, {"step": 50_000, "ui_turn": 60_000})

    def test_guards_that_are_dropped_out_of_order(self):
        recording = Recording().begin("main", "a", 0).begin("main", "b", 10)
        recording.end("main", "a", 20).end("main", "b", 50).end("main", "c", 60)
        _, summary = summary_of(recording)
        spans = {span["name"]: span["total_us"] for span in summary["spans"]}
        self.assertEqual(spans, {"a": 20_000, "b": 40_000})
        self.assertEqual((summary["ends_without_begin"], summary["open_spans"]), (1, 0))
        self.assertEqual(summary["threads"][0]["busy_us"], 50_000)

    def test_the_wait_of_requests_by_priority(self):
        recording = good()
        for id in range(2, 22):
            recording.flow(id, "main", 100, "gpu-scheduler", 100 + id, priority="Background")
        # A later step of a request that has run already, one that no step took, and the reverse.
        recording.flow(2, "main", 100, "gpu-scheduler", 9_000, priority="Background")
        more = {"cat": "request"}
        recording.add("s", "main", 200, "request", id=90, **more)
        recording.add("f", "gpu-scheduler", 200, "request", id=91, bp="e", **more)
        _, summary = summary_of(recording)
        requests = summary["requests"]
        self.assertEqual((requests["submitted"], requests["reached_a_step"]), (22, 21))
        self.assertEqual(requests["steps_without_request"], 1)
        waits = requests["wait_by_priority"]
        background = waits["background"]
        self.assertEqual((background["median_us"], background["p95_us"]), (11_000, 20_000))
        # The flow says nothing of its priority, and the span `submit` around its start does.
        self.assertEqual(waits["interactive"]["longest_us"], 3_000)

    def test_counters_have_their_mean_over_time(self):
        recording = Recording().count("memory MB", 0, resident=100)
        recording.count("memory MB", 90, resident=200).span("main", "ui_turn", 0, 100)
        _, summary = summary_of(recording)
        (gauge,) = summary["counters"]
        self.assertEqual((gauge["counter"], gauge["series"]), ("memory MB", "resident"))
        self.assertEqual((gauge["min"], gauge["max"], gauge["mean"]), (100, 200, 110))

    def test_the_markdown_says_it_all(self):
        _, out, _ = run(good())
        for part in [
            "# Trace trace.json",
            "60 s, 66 events, ",
            "longest turn 12 ms, 0 of 2 over 16 ms",
            "| lodestone-blocking | 2 |",
            "| interactive | 1 | 3 ms |",
            "| queue depth | background | 2 | 0 | 20 | 20 |",
        ]:
            self.assertIn(part, out)


class CutOff(unittest.TestCase):
    def test_a_cut_at_every_byte_of_the_last_event_leaves_the_others(self):
        text = good().span("gpu-scheduler", "step é", 60_001, 60_002).text().encode()
        last = text.rindex(b'{"ph": "E"')
        closed = len(text) - len(b"\n]\n")
        _, whole = summary_of(text)
        self.assertTrue(whole["is_closed"])
        for cut in range(last, closed + 2):
            with self.subTest(cut=cut):
                status, summary = summary_of(text[:cut], "--check")
                self.assertEqual(status, 0)
                self.assertFalse(summary["is_closed"])
                missing = int(cut < closed)
                self.assertEqual(summary["events"], whole["events"] - missing)
                self.assertEqual(summary["open_spans"], missing)

    def test_what_is_dropped_is_told(self):
        _, out, _ = run(good().text()[:-9])
        self.assertIn("The trace is cut off", out)

    def test_pieces_of_any_size_give_the_same(self):
        text = good().text()
        events = json.loads(text)
        trace_events = trace_summary.sys.modules["trace_events"]
        before = trace_events.CHUNK
        self.addCleanup(setattr, trace_events, "CHUNK", before)
        for chunk in [1, 2, 7, 64, 1000]:
            trace_events.CHUNK = chunk
            for layout in [text, json.dumps(events), json.dumps(events, indent=2)]:
                reader = trace_events.Events(io.StringIO(layout))
                self.assertEqual(list(reader), events)
                self.assertEqual((reader.is_closed, reader.dropped), (True, 0))
                self.assertEqual(layout[: reader.end].rstrip(), layout.rstrip())

    def test_no_trace_is_named(self):
        for text in ["", "notes [1]", '{"traceEvents": []}']:
            with self.subTest(text=text):
                status, _, err = run(text)
                self.assertEqual(status, 1)
                self.assertIn("no Chrome trace", err)


if __name__ == "__main__":
    unittest.main()
