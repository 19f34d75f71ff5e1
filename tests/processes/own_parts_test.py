#!/usr/bin/env python3
"""Federations with parts that others registered: whatever they send arrives, files are each process's own, and a part
that is broken, or that another process has in another version, ends every process with the reason.

usage: own_parts_test.py FURLONG [TEST...]   the command with registered parts is beside it: tests/processes/own_parts
"""
from pathlib import Path

from case import Case, main
from federation import FAILURE, SCENARIO, USAGE, Federation

PLAIN = {"algorithm.aggregation.rule": "uniform-mean", "algorithm.aggregation.norm_bound": "fixed"}
TABLES = SCENARIO.replace('source = "synthetic-ratings"', 'source = "tables"\npath = "unused"\ntitles = "titles.csv"')
SIZED = SCENARIO.replace('kind = "matrix-factorization"\nrank = 4', 'kind = "sized"\nshape = "rank.txt"')
OTHER_VERSION = {"FURLONG_PARTS_VERSION": "2"}
BROKEN = "report() of odd-constants gives 4 constants for the next round, and first_reference() 3"


class OwnParts(Case):
    def federation(self, **more) -> Federation:
        return Federation(str(Path(self.furlong).parent / "tests" / "processes" / "own_parts"), **more)

    def rule(self, kind: str, **more):
        return self.federation(settings=PLAIN | {"algorithm.aggregation.rule": kind} | more)

    def test_many_constants(self):
        """200,000 constants with every model, over an aggregator too."""
        with self.rule("many-constants") as f:
            alone = f.alone()
            f.start(aggregators=1)
            self.check_same(f, f.end(), alone)

    def test_two_words(self):
        """Masked updates and partial aggregates have two words for each value."""
        with self.rule("uniform-mean") as f:
            plain = f.alone()
            f.settings |= {"algorithm.aggregation.rule": "two-words", "privacy.secure_aggregation": "true"}
            f.start(aggregators=1)
            masked = f.end()
            for key in ("model_sha256", "folded", "rejected"):
                self.assertEqual(masked[key], plain[key], key)

    def test_broken_constants(self):
        """A rule that breaks its contract ends the run in one process, and every process of a federation."""
        with self.rule("odd-constants") as f:
            done = f.run("run", f.scenario, "--out", f.folder / "alone", *f.sets(), expect=FAILURE)
            self.assertIn(BROKEN, done.stderr)
            f.start(aggregators=1)
            for name, process in f.processes.items():
                self.assertEqual(process.wait(), FAILURE, name)
                process.wait_for("gives 4 constants")

    def test_failing_rule(self):
        """A rule that throws ends every process, wherever the update was: at the server, or at an aggregator."""
        failed = "algorithm.aggregation.rule: is \"failing\", which failed in encode\\(\\): no room"
        for aggregators in (0, 1):
            with self.rule("failing") as f:
                f.start(aggregators=aggregators)
                for name, process in f.processes.items():
                    self.assertEqual(process.wait(), FAILURE, name)
                    process.wait_for(failed)
        with self.rule("failing", **{"privacy.secure_aggregation": "true"}) as f:
            f.start(aggregators=0)
            for number in range(4):  # of masked updates nodes make the words
                node = f.processes[f"node{number}"]
                self.assertEqual(node.wait(), FAILURE, number)
                node.wait_for(failed)

    def test_laws(self):
        """check-part finds before any run that a rule breaks a law, and says so by its exit code."""
        with self.rule("odd-constants") as f:
            done = f.run("check-part", "rule", "odd-constants", expect=1)
            self.assertRegex(done.stdout, "(?m)^broken   aggregates: .*report\\(\\) gives 4 constants .*; correct report")
            self.assertRegex(done.stdout, "rule odd-constants: [0-9]+ laws kept, 1 broken, [0-9]+ skipped\n$")
            done = f.run("check-part", "rule", "two-words", f.scenario)
            self.assertRegex(done.stdout, "rule two-words: [0-9]+ laws kept, 0 broken, [0-9]+ skipped\n$")
            done = f.run("check-part", "rule", "two-word", expect=USAGE)
            self.assertIn("two-word: is no rule that is registered; did you mean two-words?", done.stderr)

    def test_own_files(self):
        """Data in files, of which each node names its own; an aggregator has none."""
        with self.federation(scenario=TABLES) as f:
            (f.folder / "titles.csv").write_text("")
            own = f.folder / "own.csv"
            own.write_text("")
            alone = f.alone()
            f.data = f.folder
            f.serve()
            f.aggregate("aggregator0").wait_for("accepted this aggregator")
            lacking = f.join(0)
            self.assertEqual(lacking.wait(), USAGE)
            lacking.wait_for("--own: data.titles is missing: the run has a file there")
            for number in range(4):
                f.join(number, None, None, "--own", f"data.titles={own}")
            self.check_same(f, f.end(), alone)

    def test_own_model_file(self):
        """A model whose shapes are in a file: each process names its own, aggregators too."""
        with self.federation(scenario=SIZED) as f:
            own = f.folder / "own.txt"
            for file in (f.folder / "rank.txt", own):
                file.write_text("3")
            alone = f.alone()
            f.serve()
            for words, said in ((["model.shapes"], "--own: names model.shapes, and the run has no file there; it can "
                                                   "name model.shape"),
                                ([], "--own: model.shape is missing, and without it model.shape: names no file with a "
                                     "rank; name one; name it: --own model.shape=FILE")):
                lacking = f.aggregate("aggregator0", *[word for key in words for word in ("--own", f"{key}={own}")])
                self.assertEqual(lacking.wait(), USAGE)
                lacking.wait_for(said)
            f.aggregate("aggregator0", "--own", f"model.shape={own}").wait_for("accepted this aggregator")
            for number in range(4):
                f.join(number, None, None, "--own", f"model.shape={own}")
            self.check_same(f, f.end(), alone)

    def test_versions_of_processes(self):
        """Nodes and aggregators whose parts have another version, or which lack them, are told so and end."""
        with self.rule("two-words") as f:
            f.environment["FURLONG_PARTS_VERSION"] = "1"
            f.serve()
            f.environment |= OTHER_VERSION
            differs = "algorithm.aggregation.rule=two-words: is version 2 here, and version 1 at the server"
            for process in (f.aggregate("west"), f.join(0)):
                self.assertEqual(process.wait(), USAGE)
                process.wait_for(differs)
            f.furlong, own = self.furlong, f.furlong
            for process in (f.aggregate("east"), f.join(1)):
                self.assertEqual(process.wait(), USAGE)
                process.wait_for("two-words")
            f.furlong, f.environment["FURLONG_PARTS_VERSION"] = own, "1"
            for number in range(4):
                f.join(number)
            self.assertEqual(f.end()["parts"], {"algorithm.aggregation.rule=two-words": "1"})

    def test_versions_of_resumed_runs(self):
        """Neither a resumed run nor a sweep goes on with another version silently."""
        with self.rule("two-words") as f:
            out, sweep = f.folder / "run", f.folder / "sweep"
            words = ["run", f.scenario, "--out", out, *f.sets()]
            grid = ["sweep", f.scenario, "--out", sweep, "--seeds", "1,2", *f.sets()]
            f.environment["FURLONG_PARTS_VERSION"] = "1"
            f.run(*words, "--set", "scenario.rounds=4")
            f.run(*grid)
            f.environment |= OTHER_VERSION
            refused = "a registered part has another version than before: algorithm.aggregation.rule=two-words"
            for again in (words + ["--resume"], grid):
                done = f.run(*again, expect=USAGE)
                self.assertIn(refused, done.stderr)
                self.assertIn("--accept-changed-code", done.stderr)
            done = f.run(*words, "--resume", "--accept-changed-code")
            self.assertIn(f"warning: {out}: {refused}", done.stderr)
            self.assertEqual(f.summary()["parts"], {"algorithm.aggregation.rule=two-words": "2"})
            self.assertTrue(f.summary()["code_changed"])
            f.run(*grid, "--accept-changed-code")

    def test_version_of_the_program(self):
        """Parts without a version have that of the program, which is the same in each of its processes."""
        with self.rule("two-words") as f:
            f.start(aggregators=1)
            version = f.end()["parts"]["algorithm.aggregation.rule=two-words"]
            self.assertRegex(version, "^program-[0-9a-f]{16}$")

    def test_too_many_clients(self):
        """A node that hosts more clients than its messages can list does not begin."""
        with self.rule("uniform-mean") as f:
            done = f.run("join", "--server", "127.0.0.1:1", "--insecure", "--store", f.folder / "store", "--clients",
                         f"0-{1 << 20}", expect=USAGE)
            self.assertIn("--clients: names 1048577 clients, and a node hosts at most 1048576", done.stderr)


if __name__ == "__main__":
    main()
