"""The table of scripts/bench-peers says what the rows measured.

Run with: python3 -m unittest discover -s tests/scripts
"""

import json
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts" / "lib"))

import peer_table  # noqa: E402  (the path to it is set above)


def measured(row, rate, query_ms=5.0, peak_bytes=100_000_000, **more):
    fixed = {"row": row, "tokens_per_second": rate, "query_ms": query_ms, "peak_bytes": peak_bytes}
    return {**fixed, **more}


def cells(markdown_row):
    return [cell.strip() for cell in markdown_row.strip("|").split("|")]


class Fidelity(unittest.TestCase):
    def test_the_cosine_is_that_of_the_angle_whatever_the_lengths(self):
        for degrees in (0, 30, 90, 135, 180):
            angle = math.radians(degrees)
            turned = [3.0 * math.cos(angle), 3.0 * math.sin(angle)]
            with self.subTest(degrees=degrees):
                self.assertAlmostEqual(peer_table.cosine([0.5, 0.0], turned), math.cos(angle), 12)

    def test_least_and_mean_are_of_the_texts_that_both_embedded(self):
        reference = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
        least, mean = peer_table.fidelity([[1.0, 0.0], [0.6, 0.8]], reference)
        self.assertAlmostEqual(least, 0.8, 12)
        self.assertAlmostEqual(mean, 0.9, 12)

    def test_no_vectors_or_more_than_texts_are_no_measurement(self):
        for vectors in ([], [[1.0], [1.0]]):
            with self.subTest(vectors=vectors), self.assertRaisesRegex(ValueError, "reference of 1"):
                peer_table.fidelity(vectors, [[1.0]])


class Rounds(unittest.TestCase):
    def test_lines_are_gathered_by_row_in_the_order_of_the_first_round(self):
        measurements = (("b", 1), ("a", 2), ("b", 3), ("a", 4))
        lines = [json.dumps(measured(row, rate)) for row, rate in measurements]
        rounds = peer_table.parse_results([*lines, "", "\n"])
        self.assertEqual(list(rounds), ["b", "a"])
        self.assertEqual([row["tokens_per_second"] for row in rounds["b"]], [1, 3])

    def test_the_best_round_counts_and_the_largest_memory(self):
        best = peer_table.best_of(
            [
                measured("a", 1_000.0, query_ms=2.0, peak_bytes=7, batch_size=8),
                measured("a", 1_250.0, query_ms=3.0, peak_bytes=5, batch_size=32),
            ]
        )
        self.assertEqual(best["tokens_per_second"], 1_250.0)
        self.assertEqual(best["query_ms"], 2.0)
        self.assertEqual(best["peak_bytes"], 7)
        self.assertEqual(best["batch_size"], 32)
        self.assertAlmostEqual(best["spread"], 0.25, 12)
        self.assertIsNone(peer_table.best_of([measured("a", 1_000.0)])["spread"])


class Table(unittest.TestCase):
    VECTORS = {"peer": [[1.0, 0.0], [0.0, 1.0]], "ours": [[0.8, 0.6]]}

    def rows(self):
        peer = measured("peer", 7_850.0, batch_size=8)
        ours = measured("ours", 23_550.4, 1.234, 98_765_432)
        rounds = peer_table.parse_results(map(json.dumps, [peer, ours]))
        return peer_table.table(rounds, self.VECTORS.__getitem__, "peer").splitlines()

    def test_each_row_stands_beside_the_reference(self):
        head, rule, peer, ours = self.rows()
        self.assertEqual(cells(head), list(peer_table.HEADER))
        self.assertEqual(
            " ".join(cells(peer)),
            "peer, batches of 8 7,850 1.00 5.00 ms 1.00000 1.00000 100 MB one round",
        )
        self.assertEqual(
            " ".join(cells(ours)),
            "ours (the first 1 texts) 23,550 3.00 1.23 ms 0.80000 0.80000 99 MB one round",
        )
        self.assertLessEqual(set(rule), set("|-:"))

    def test_the_columns_line_up(self):
        self.assertEqual(len({len(row) for row in self.rows()}), 1)


if __name__ == "__main__":
    unittest.main()
