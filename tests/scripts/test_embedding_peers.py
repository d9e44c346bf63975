"""How scripts/lib/embedding_peers.py chooses what a system embeds; needs none of its packages.

Run with: python3 -m unittest discover -s tests/scripts
"""

import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts" / "lib"))

import embedding_peers  # noqa: E402  (the path to it is set above)


class System:
    """Takes `text_seconds[batch_size]` for each text, on a clock of its own."""

    def __init__(self, text_seconds, first_call_seconds=0.0):
        self.now = 0.0
        self.text_seconds = text_seconds
        self.start_up = first_call_seconds

    def encode(self, texts, batch_size):
        self.now += self.start_up + len(texts) * self.text_seconds[batch_size]
        self.start_up = 0.0

    def choose(self, texts):
        with mock.patch.object(embedding_peers.time, "perf_counter", lambda: self.now):
            return embedding_peers.choose_pass(self.encode, ["text"] * texts)


class ChoosePass(unittest.TestCase):
    def test_the_faster_batch_size_is_chosen(self):
        self.assertEqual(System({8: 0.01, 32: 0.02}).choose(600), (8, 600))
        self.assertEqual(System({8: 0.02, 32: 0.01}).choose(600), (32, 600))

    def test_a_slow_start_is_no_slow_system(self):
        self.assertEqual(System({8: 0.01, 32: 0.02}, first_call_seconds=100.0).choose(600), (8, 600))

    def test_a_slow_system_embeds_the_first_texts_only(self):
        batch_size, texts = System({8: 0.5, 32: 0.4}).choose(600)
        self.assertEqual((batch_size, texts), (8, 30))

    def test_the_slowest_system_embeds_one_batch(self):
        self.assertEqual(System({8: 50.0, 32: 50.0}).choose(600), (8, 8))


if __name__ == "__main__":
    unittest.main()
