"""The table of scripts/bench-vectors says what the reports say.

Run with: python3 -m unittest discover -s tests/scripts
"""

import importlib.util
import pathlib
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "lib" / "vector_peers.py"
SPEC = importlib.util.spec_from_file_location("vector_peers", SCRIPT)
PEERS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PEERS)


def report(system, points, **more):
    points = [{"ef": ef, "recall": recall, "query_ms": ms} for ef, recall, ms in points]
    return {"system": system, "rows": 9, "threads": 2, "points": points, **more}


class TableTest(unittest.TestCase):
    def test_time_at_a_recall_lies_between_the_points_around_it(self):
        points = report("x", [(1, 0.90, 1.0), (2, 0.96, 2.0), (3, 0.96, 2.5)])["points"]
        self.assertAlmostEqual(PEERS.time_at(points, 0.93), 1.5)
        self.assertAlmostEqual(PEERS.time_at(points, 0.80), 1.0)
        self.assertIsNone(PEERS.time_at(points, 0.97))

    def test_building_and_opening_are_one_system(self):
        reports = [
            report("lodestone", [], build_seconds=3.0, open_ms=None),
            report("hnswlib", [(1, 0.95, 0.4), (2, 0.985, 0.8)], build_seconds=9.0),
            report("lodestone", [(1, 0.95, 0.1), (2, 0.985, 0.2)], build_seconds=None, open_ms=0.5),
        ]
        table = PEERS.table(reports)
        ours = next(line for line in table.splitlines() if line.startswith("| lodestone"))
        cells = [cell.strip() for cell in ours.split("|")[1:-1]]
        self.assertEqual(cells[1], "10,000 (4.00)")
        self.assertEqual(cells[3], "not reached")
        self.assertEqual(cells[4:6], ["3.0", "0.5"])

    def test_recall_counts_what_is_shared(self):
        self.assertEqual(PEERS.recall_of([list(range(10))], [list(range(5, 15))]), 0.5)


if __name__ == "__main__":
    unittest.main()
