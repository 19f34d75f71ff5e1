#!/usr/bin/env python3
"""docs/crossover.md has the headings and columns that tools/crossover.py writes, and says what its picture is.

usage: crossover_tables_test.py
"""
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import crossover  # noqa: E402
import crossover_figure  # noqa: E402
import crossover_tables  # noqa: E402


def row(part, seed, participations, ridge=0.0):
    """As crossover.sweep() makes it; figures that no algorithm reached."""
    rmse = 0.9 + crossover.ALGORITHMS.index(part.algorithm) / 50 + seed / 100
    bins = [{"least": i, "most": i, "clients": 10, "rmse": rmse} for i in range(2)]
    groups = {"seen": {"rmse": rmse, "clients": 20, "by_participation": bins}, "unseen": {"rmse": rmse, "clients": 5}}
    about = part.about({"algorithm.reconstruction.ridge": ridge})
    return {"algorithm": part.algorithm, **about, "seed": seed, "participations": participations,
            "summary": {"eval": groups}}


def outline(text):
    """The headings, and the first line of each table."""
    lines = ["", *text.splitlines()]
    return [line for before, line in zip(lines, lines[1:])
            if line.startswith("#") or line.startswith("|") and not before.startswith("|")]


def panels(figure):
    return re.findall(r'class="title">([^<]*)', figure)


class Page(unittest.TestCase):
    def setUp(self):
        self.page = crossover.PAGE.read_text()
        self.rows = [row(part, seed, p) for part in crossover.parts(crossover.SMOKE_DROPOUT) for seed in (1, 2)
                     for p in crossover.SMOKE_PARTICIPATIONS]

    def test_has_the_tables_that_are_written(self):
        ridges = [row(part, seed, 3, crossover.RIDGES[part.algorithm] * factor)
                  for part in crossover.ridge_parts((0, 20)) for seed in (1, 2) for factor in crossover.FACTORS]
        tables = crossover_tables.markdown(self.rows, ridges)
        written = self.page[self.page.index(crossover.BEGIN):self.page.index(crossover.END)]
        self.assertEqual(outline(written), outline(tables))
        self.assertEqual(len(outline(tables)), 20)

    def test_says_what_its_picture_is(self):
        kept, drawn = panels(crossover.FIGURE.read_text()), panels(crossover_figure.svg(self.rows))
        self.assertTrue({4: "Four panels", 6: "Six panels"}[len(kept)] in self.page, "the picture's words count wrong")
        self.assertEqual("drawn by an earlier form of the command" in self.page, kept != drawn)


class Data(unittest.TestCase):
    """MovieLens is looked for where all tests look for it."""

    def test_is_looked_for_in_the_named_folder_and_in_data_and_beside_the_repository(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "repository"
            named, own, shared = Path(folder) / "named", root / "data", Path(folder) / "shared" / "data"
            with mock.patch.object(crossover, "ROOT", root), mock.patch.dict("os.environ", FURLONG_DATA=str(named)):
                self.assertEqual(crossover.data_root(), str(named))  # has nothing either; the message names it
                for place in (shared, own, named):
                    (place / "ml-1m").mkdir(parents=True)
                    self.assertEqual(crossover.data_root(), str(place))
                del os.environ["FURLONG_DATA"]
                self.assertEqual(crossover.data_root(), str(own))


if __name__ == "__main__":
    unittest.main()
