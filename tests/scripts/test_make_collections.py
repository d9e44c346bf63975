"""scripts/make-collections.py: pages to sections, and items to documents and queries."""

import importlib.util
import pathlib
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "make-collections.py"
spec = importlib.util.spec_from_file_location("make_collections", SCRIPT)
collections = importlib.util.module_from_spec(spec)
spec.loader.exec_module(collections)


class PlainRoff(unittest.TestCase):
    def test_sections_are_plain_text(self):
        page = '.\\" made\n.TH CP 1\n.SH NAME\ncp \\- copy files\n.SH "SEE ALSO"\n.B mv\n\\fBln\\fP\\-s\n.br\n'
        expected = [["NAME", "cp - copy files\n"], ["SEE ALSO", "mv\nln-s\n"]]
        self.assertEqual(collections.plain_roff(page), expected)


class KnownItems(unittest.TestCase):
    def test_texts_and_queries_that_repeat_are_left_out(self):
        items = [
            ("a", "", "one", "who"),
            ("b", "", "two", "what"),
            ("c", "", "one", "where"),
            ("d", "", "three", "what"),
            ("e", "", " ", "when"),
            ("f", "", "four", ""),
        ]
        documents, queries = collections.known_items(items, 10)
        self.assertEqual(sorted(text for _, _, text in documents), ["four", "one", "three", "two"])
        self.assertEqual([query for _, query, _ in queries], ["where"])

    def test_the_choice_is_the_same_every_time(self):
        items = [(str(n), "", f"text {n}", f"query {n}") for n in range(50)]
        documents, queries = collections.known_items(items, 5)
        again = collections.known_items(list(reversed(items)), 5)
        self.assertEqual((documents, queries), again)
        self.assertEqual(len(queries), 5)


if __name__ == "__main__":
    unittest.main()
