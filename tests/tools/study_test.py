#!/usr/bin/env python3
"""The studies of tools/study: their statistics, their plans, how settings are chosen, and that the pages have the tables
and figures that are written.

usage: study_test.py
"""
import dataclasses
import itertools
import math
import os
import random
import re
import statistics
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "study"))

import crossover  # noqa: E402
import figure  # noqa: E402
import intervals  # noqa: E402
import privacy_utility as utility  # noqa: E402
import results_ranking  # noqa: E402
import robustness  # noqa: E402
import sparse_participation as sparse  # noqa: E402
import sparse_rankings as rankings  # noqa: E402
import study  # noqa: E402
import sweeps  # noqa: E402


def made_up(sweep):
    """Stands in for a Runner: rows with figures that no run reached."""
    random.seed(sweep.folder)
    rows = []
    for values in itertools.product(*sweep.grid.values()):
        for seed in sweep.seeds:
            shown = [sweeps.toml(value) if isinstance(value, dict) else value for value in values]
            rows.append({**sweep.about, "seed": seed, "grid": dict(zip(sweep.grid, shown)), "summary": summary()})
    return rows


def summary():
    scores = {"rmse": 0.9 + random.random() / 10, "accuracy": 0.5 + random.random() / 10, "clients": 20,
              "attack_success": random.random(),
              **{metric: random.random() / 10 for metric in results_ranking.SHOWN}}
    seen = {**scores, "by_participation": [{"least": i, "most": i, **scores, "clients": 10} for i in range(2)]}
    return {"eval": {"validation": dict(scores), "seen": seen, "unseen": dict(scores)}, "cpu_seconds": 1.0,
            "client_groups": {"honest": {"eval": {"seen": dict(scores)}}},
            "participation": {"never_folded": 5, "clients": 20}, "private_staleness": {"mean": 3.0}}


def outline(text):
    """The headings, and the first line of each table."""
    lines = ["", *text.splitlines()]
    return [line for before, line in zip(lines, lines[1:])
            if line.startswith("#") or line.startswith("|") and not before.startswith("|")]


def panels(drawn):
    return re.findall(r'class="title">([^<]*)', drawn)


def page_of(name):
    """The text of a page, and what is between its markers."""
    page = (ROOT / "docs" / f"{name}.md").read_text()
    return page, page[page.index(study.begin(name)) + len(study.begin(name)):page.index(study.END)]


class Intervals(unittest.TestCase):
    def test_quantiles_are_those_of_the_tables(self):
        for freedom, value in {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 7: 2.3646, 10: 2.2281, 30: 2.0423}.items():
            self.assertAlmostEqual(intervals.t_quantile(freedom), value, places=4)
        self.assertAlmostEqual(intervals.t_quantile(2, 0.99), 9.9248, places=4)
        self.assertAlmostEqual(intervals.t_quantile(2000), 1.9612, places=4)  # the normal one is 1.95996

    def test_an_interval_covers_the_mean_in_95_of_100_samples(self):
        draw = random.Random(1)
        covered = 0
        for _ in range(4000):
            mean, half = intervals.mean_interval([draw.gauss(5, 2) for _ in range(3)])
            covered += abs(mean - 5) < half
        self.assertAlmostEqual(covered / 4000, 0.95, delta=0.015)

    def test_of_three_values(self):
        mean, half = intervals.mean_interval([1.0, 2.0, 6.0])
        self.assertEqual(mean, 3.0)
        self.assertAlmostEqual(half, 4.302653 * statistics.stdev([1, 2, 6]) / math.sqrt(3), places=5)
        self.assertEqual(intervals.mean_interval([1.0]), (1.0, math.inf))


class Crossover(unittest.TestCase):
    def test_the_page_has_the_tables_that_are_written(self):
        found = crossover.results(made_up, "full")
        self.assertEqual(outline(page_of("crossover")[1]), outline(crossover.tables(found, "full")))

    def test_the_page_says_what_its_picture_is(self):
        page = page_of("crossover")[0]
        kept = panels((ROOT / "docs" / "images" / "crossover.svg").read_text())
        drawn = panels(crossover.figures(crossover.results(made_up, "full"), "full")["crossover.svg"])
        self.assertIn({4: "Four panels", 6: "Six panels"}[len(kept)], page, "the picture's words count wrong")
        self.assertEqual("drawn by an earlier form of the command" in page, kept != drawn)


class Robustness(unittest.TestCase):
    def sweeps(self):
        return [*robustness.digits_sweeps("full"), *robustness.ratings_sweeps("full")]

    def test_the_page_has_the_tables_that_are_written_or_none_yet(self):
        found = robustness.results(made_up, "full")
        self.assertIn(outline(page_of("robustness")[1]), ([], outline(robustness.tables(found, "full"))))

    def test_the_page_has_the_written_settings(self):
        page = page_of("robustness")[0]
        for defence in (robustness.DIGITS_DEFENCE, robustness.RATINGS_DEFENCE):
            for key, value in defence.items():
                self.assertIn(f"{key.rpartition('.')[2]} = {sweeps.toml(value)}", page)

    def test_the_campaign_of_bad_clients_has_the_written_settings(self):
        source = (ROOT / "tests" / "campaigns" / "written_settings.cpp").read_text()
        for defence in (robustness.DIGITS_DEFENCE, robustness.RATINGS_DEFENCE):
            for key, value in defence.items():
                written = value if isinstance(value, str) else sweeps.toml(value).replace('"', "'")
                self.assertRegex(source, f'"{key.rpartition(".")[2]}", [^;]*"{re.escape(written)}"')

    def test_one_setting_is_used_against_all_attacks(self):
        prefix = robustness.AGGREGATION + "."
        for data, model in {(one.about["data"], one.about["model"]) for one in self.sweeps()}:
            for bad in robustness.BAD:
                here = [one for one in self.sweeps() if (one.about["data"], one.about["model"]) == (data, model)
                        and one.about.get("bad", bad) == bad and one.about["defence"] == "written"]
                kept = {tuple(sorted((key, str(value)) for key, value in one.settings.items() if key.startswith(prefix)))
                        for one in here}
                self.assertEqual(len(kept), 1)

    def test_runs_without_attack_have_the_same_bad_clients(self):
        for one in self.sweeps():
            self.assertEqual(one.settings.get("attack.from_round") == robustness.LATER,
                             one.about["attack"] == robustness.CLEAN)

    def test_the_worst_attack_is_that_of_the_lowest_mean_or_of_a_diverged_run(self):
        def row(attack, seed, value):
            return {"attack": attack, "seed": seed, "summary": {"eval": value} if value else {}}
        rows = [row("a", 1, 0.5), row("a", 2, 0.7), row("b", 1, 0.9), row("b", 2, 0.1)]
        read = lambda summary: summary["eval"]
        self.assertTrue(robustness.worst(rows, read, ("a", "b")).startswith("0.500"))
        self.assertEqual(robustness.worst([*rows, row("c", 1, 0.8), row("c", 2, None)], read, ("a", "b", "c")),
                         "1 of 2 diverged")


class SparseParticipation(unittest.TestCase):
    def test_all_algorithms_have_the_same_budget_of_choices(self):
        counts = {(one.name, kind): math.prod(map(len, grid.values()))
                  for one in sparse.ALGORITHMS.values() for kind, grid in one.tried.items()}
        self.assertEqual(set(counts.values()), {6}, counts)

    def test_styles_differ(self):
        styles = [one.style for one in sparse.ALGORITHMS.values()]
        self.assertEqual(len(set(styles)), len(styles))
        self.assertLessEqual({shape for _, shape in styles}, set(figure.SHAPES))

    def test_every_user_takes_part_p_times_on_average(self):
        for data in sparse.DATA_SETS.values():
            for size in (data.sizes["full"], data.sizes["reduced"]):
                self.assertAlmostEqual(data.cohort * size.rounds / size.clients, 1.0, delta=0.01)
            for p in data.participations:
                self.assertEqual(data.cohort * p, int(data.cohort * p))

    def test_a_plan_runs_nothing_and_keeps_to_the_budget(self):
        for size, most in (("full", 12), ("reduced", 1.2)):
            planner = sweeps.Planner()
            sparse.results(planner, size)
            self.assertLess(sum(seconds for _, seconds in planner.cost.values()) / 3600, most, size)
            self.assertIn("core-hours", planner.table())

    def test_settings_are_chosen_by_the_validation_figures_of_a_seed(self):
        for key, best in (("ml-1m", min), ("texts", max)):
            one = sparse.Experiment(key, "furl", "reduced")
            run = []

            def recorded(sweep):
                run.append(sweep)
                return made_up(sweep)

            rows, tuned = one.run(recorded)
            metric = one.data.metric
            for seed in (1, 2, 3):
                mine = [row for row in tuned if row["seed"] == seed]
                expected = best(mine, key=lambda row: row["summary"]["eval"]["validation"][metric])
                chosen = expected["grid"][sparse.LR]
                main = [sweep for sweep in run[1:] if sweep.seeds == (seed,)]
                self.assertEqual([sweep.settings[sparse.LR] for sweep in main], [chosen])
                self.assertEqual({row["chosen"][sparse.LR] for row in rows if row["seed"] == seed}, {chosen})

    def test_diverged_settings_are_not_chosen(self):
        one = sparse.Experiment("ml-1m", "furl", "reduced")
        tuned = made_up(one.tuning())
        for row in tuned:
            if row["grid"][sparse.LR] != 0.08:
                del row["summary"]["eval"]
        self.assertEqual(one.choose(tuned), {sparse.LR: 0.08})

    def test_tables_of_runs_that_diverged(self):
        self.assertEqual(sparse.cell([0.9, None, 0.8], "rmse"), "1 of 3 diverged")
        self.assertEqual(sparse.differences([1.0, None], [0.5, 0.5]), [0.5, None])
        rows, tuned = sparse.results(made_up, "reduced")
        for row in rows:
            if row["algorithm"] == "ditto" and row["seed"] == 2:
                del row["summary"]["eval"]
        self.assertIn("| Ditto | 1 of 3 diverged |", sparse.tables((rows, tuned), "reduced"))
        sparse.figures((rows, tuned), "reduced")

    def test_differences_are_paired_by_seed(self):
        rows, _ = sparse.results(made_up, "reduced")
        random.shuffle(rows)
        found = sparse.Results("texts", rows)
        expected = [a - b for a, b in zip(found.values("ditto", 3, 50), found.values("furl", 3, 50))]
        self.assertEqual(found.against("furl", "ditto", 3, 50), expected)
        by_seed = {row["seed"]: 100 * row["summary"]["eval"]["seen"]["accuracy"] for row in rows
                   if (row["data"], row["algorithm"], row["participations"], row["dropout"]) == ("texts", "ditto", 3, 50)}
        self.assertEqual(found.values("ditto", 3, 50), [by_seed[1], by_seed[2], by_seed[3]])

    def test_the_page_has_the_tables_that_are_written(self):
        written = outline(page_of("sparse-participation")[1])
        if written:
            size = re.search(r"^### Size of these runs: (\w+)", written[0])[1]
            found = sparse.results(made_up, size)
            made = outline(sparse.tables(found, size))
            self.assertEqual([line for line in written if "%)" not in line],  # the heads of bins have shares of users
                             [line for line in made if "%)" not in line])
            for name in sparse.DATA_SETS:
                self.assertTrue((ROOT / "docs" / "images" / f"sparse-participation-{name}.svg").exists())


class SparseRankings(unittest.TestCase):
    def test_each_seed_chooses_by_its_validation_figure(self):
        run = []

        def recorded(sweep):
            run.append(sweep)
            return made_up(sweep)

        rows = rankings.results(recorded, "full")
        for key, one in rankings.ALGORITHMS.items():
            (setting, _), = one.tried.items()
            tuning, *main = [sweep for sweep in run if sweep.about["algorithm"] == key]
            self.assertEqual(tuning.settings["evaluation.groups"], ["validation"])
            for sweep in main:
                tuned = [row for row in made_up(tuning) if row["seed"] == sweep.seeds[0]]
                best = max(tuned, key=lambda row: row["summary"]["eval"]["validation"]["full_hr_10"])
                self.assertEqual(sweep.settings[setting], best["grid"][setting])
        self.assertEqual({row["participations"] for row in rows}, set(rankings.PARTICIPATIONS))

    def test_differences_are_paired_by_seed(self):
        rows = rankings.results(made_up, "full")
        by_seed = {(row["algorithm"], row["seed"]): row["summary"]["eval"]["seen"]["full_hr_10"] for row in rows
                   if row["participations"] == 1}
        self.assertEqual(rankings.differences(random.sample(rows, len(rows)), "ials", 1),
                         [by_seed["ials", seed] - by_seed["fedrecon", seed] for seed in (1, 2, 3)])

    def test_the_page_has_the_tables_that_are_written(self):
        written = outline(page_of("sparse-rankings")[1])
        if written:
            size = re.search(r"### Size of these runs: (\w+)", "\n".join(written))[1]
            made = outline(rankings.tables(rankings.results(made_up, size), size))
            self.assertEqual([line for line in written if "%)" not in line], [line for line in made if "%)" not in line])
            self.assertTrue((ROOT / "docs" / "images" / "sparse-rankings.svg").exists())


class ResultsRanking(unittest.TestCase):
    def test_the_leak_is_compared_within_a_seed(self):
        rows = results_ranking.results(made_up, "full")
        found = [results_ranking.found(random.sample(rows, len(rows)), "bce", leaks, "full_hr_10")
                 for leaks in (False, True)]
        shown = results_ranking.cell([b - a for a, b in zip(*found)], True)
        self.assertIn(shown, results_ranking.tables(rows, "full"))
        self.assertFalse([row for row in rows if row["leaks"] and row["method"].startswith(("ials", "popularity"))])

    def test_methods_without_runs_have_empty_cells(self):
        self.assertIn("| FedRecon | 100 a round, 100 rounds | - |", results_ranking.tables([], "full"))

    def test_the_page_has_the_tables_that_are_written(self):
        written = outline(page_of("results-ranking")[1])
        if written:
            made = outline(results_ranking.tables(results_ranking.results(made_up, "full"), "full"))
            self.assertEqual([line.split("(")[0] for line in written], [line.split("(")[0] for line in made])


def accounted(sweep):
    """made_up(), with the epsilon of its noise."""
    rows = made_up(sweep)
    for row in rows:
        if row["epsilon"] != utility.NONE:
            row["summary"]["privacy"] = {"epsilon": 0.9999 * row["epsilon"]}
    return rows


class PrivacyUtility(unittest.TestCase):
    def test_all_algorithms_have_the_same_budget_of_choices(self):
        self.assertEqual({utility.points_of(grid) for one in utility.ALGORITHMS.values() for grid in (one.noisy, one.plain)},
                         {6})
        planner = sweeps.Planner()
        utility.results(planner, "full")
        self.assertEqual(len({runs for runs, _ in planner.cost.values()}), 1)
        self.assertLess(sum(seconds for _, seconds in planner.cost.values()) / 3600, 1.2)

    def test_settings_are_chosen_by_validation_figures_of_another_split(self):
        run = []

        def recorded(sweep):
            run.append(sweep)
            return accounted(sweep)

        rows, tuned = utility.Experiment("furl", 2, "full").run(recorded)
        tuning, main = run
        self.assertEqual(tuning.settings["evaluation.groups"], ["validation"])
        self.assertFalse(set(tuning.seeds) & set(main.seeds))
        best = min(tuned, key=lambda row: row["summary"]["eval"]["validation"]["rmse"])["grid"]
        self.assertEqual({key: main.settings[key] for key in utility.tried("furl", 2)}, best)
        self.assertEqual({sweep.settings["privacy.noise"] for sweep in run}, {utility.NOISE[2]})
        self.assertEqual([row["chosen"] for row in rows], [best] * 3)

    def test_a_run_with_the_wrong_noise_ends_the_study(self):
        for wrong in (1.99, 2.001):
            row = {"algorithm": "furl", "summary": {"eval": {}, "privacy": {"epsilon": wrong}}}
            with self.assertRaisesRegex(AssertionError, "instead of 2"):
                utility.check_account(row, 2, "full")
        utility.check_account({"algorithm": "furl", "summary": {"eval": {}}}, utility.NONE, "full")

    def test_differences_are_paired_by_seed_and_diverged_runs_are_told(self):
        rows, tuned = utility.results(accounted, "full")
        random.shuffle(rows)
        by_seed = {row["seed"]: row["summary"]["eval"]["seen"]["rmse"] for row in rows
                   if (row["algorithm"], row["epsilon"]) == ("furl", 4)}
        self.assertEqual(utility.values(rows, "furl", 4, "seen"), [by_seed[1], by_seed[2], by_seed[3]])
        for row in rows:
            if (row["algorithm"], row["epsilon"], row["seed"]) == ("fedrecon", 1, 2):
                del row["summary"]["eval"]
        self.assertIn("| FedRecon | 1 of 3 diverged |", utility.tables((rows, tuned), "full"))
        utility.figures((rows, tuned), "full")

    def test_the_page_has_the_tables_that_are_written(self):
        found = utility.results(accounted, "full")
        self.assertEqual(outline(page_of("privacy-utility")[1]), outline(utility.tables(found, "full")))
        kept = panels((ROOT / "docs" / "images" / "privacy-utility.svg").read_text())
        self.assertEqual(kept, panels(utility.figures(found, "full")["privacy-utility.svg"]))


class KeptFigures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "figures" / "study.jsonl"
        self.sweep = sweeps.Sweep("quickstart.toml", "one", {"algorithm": "furl"}, {"participation.per_round": (5, 10)}, (1, 2))

    def runner(self, run):
        runner = sweeps.Runner(mock.Mock(), (), sweeps.Figures(self.path))
        runner.run = run
        return runner

    def test_a_sweep_is_run_once(self):
        run = mock.Mock(side_effect=made_up)
        first = self.runner(run)
        rows = first(self.sweep)
        again = self.runner(run)
        kept = again(self.sweep)
        self.assertEqual(run.call_count, 1)
        self.assertEqual((again.runs, again.cpu_seconds), (first.runs, first.cpu_seconds))
        for one, other in zip(rows, kept, strict=True):
            self.assertEqual({**one, "summary": None}, {**other, "summary": None})
            self.assertEqual(sweeps.Figures.of(one["summary"]), other["summary"])
            self.assertAlmostEqual(one["summary"]["eval"]["seen"]["rmse"], other["summary"]["eval"]["seen"]["rmse"], places=6)

    def test_another_sweep_is_run(self):
        run = mock.Mock(side_effect=made_up)
        self.runner(run)(self.sweep)
        for change in ({"seeds": (1, 3)}, {"settings": {"model.rank": 3}}, {"scenario": "movielens-furl.toml"},
                       {"grid": {"participation.per_round": (5, 20)}}):
            before = run.call_count
            self.runner(run)(dataclasses.replace(self.sweep, **change))
            self.assertEqual(run.call_count, before + 1, change)

    def test_files_have_the_figures_that_tables_show_only(self):
        self.runner(lambda _: [{"seed": 1, "grid": {}, "summary": {**summary(), "model_sha256": "ab", "rounds": 3}}])(self.sweep)
        self.assertEqual(set(sweeps.Figures(self.path).rows(self.sweep)[0]["summary"]), set(summary()))


class Data(unittest.TestCase):
    """Data are looked for where all tests look for them."""

    def test_are_looked_for_in_the_named_folder_and_in_data_and_beside_the_repository(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "repository"
            named, own, shared = Path(folder) / "named", root / "data", Path(folder) / "shared" / "data"
            needed = ("ml-1m", "texts")
            with mock.patch.object(sweeps, "ROOT", root), mock.patch.dict("os.environ", FURLONG_DATA=str(named)):
                self.assertEqual(sweeps.data_root(needed), str(named))  # has nothing either; the message names it
                (shared / "ml-1m").mkdir(parents=True)
                self.assertEqual(sweeps.data_root(needed), str(named))  # shared has only one of the two
                for place in (shared, own, named):
                    for one in needed:
                        (place / one).mkdir(parents=True, exist_ok=True)
                    self.assertEqual(sweeps.data_root(needed), str(place))
                del os.environ["FURLONG_DATA"]
                self.assertEqual(sweeps.data_root(needed), str(own))


if __name__ == "__main__":
    unittest.main()
