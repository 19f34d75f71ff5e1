#!/usr/bin/env python3
"""Every command with an algorithm and aggregation rules that were registered from outside: run, validate, sweep, store,
infer, report, test, and a federation over TLS.

usage: use_fednova.py FURLONG SCENARIO
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "processes"))
from federation import Federation  # noqa: E402

furlong, scenario = sys.argv[1:3]
DRAWS = {"algorithm.kind": "furl", "algorithm.aggregation.rule": '"median-of-means"',
         "algorithm.aggregation.buckets": 3}


def call(*words, expect: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run([furlong, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == expect, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def run(out: Path, *more) -> dict:
    call("run", scenario, "--out", out, *more)
    return json.loads((out / "summary.json").read_text())


def check_reference() -> None:
    said = call("reference", "fednova", "sign-majority").stdout
    assert '### kind = "fednova"' in said and "| `effective_steps` |" in said, said
    assert '### rule = "sign-majority"' in said and "| `step` |" in said, said


def check_validate() -> None:
    call("validate", scenario)
    said = call("validate", scenario, "--set", "algorithm.fednova.effective_steps=-1", expect=2).stderr
    assert "algorithm.fednova.effective_steps" in said, said
    said = call("validate", scenario, "--set", "algorithm.fednova.effective_step=1", expect=2).stderr
    assert "did you mean algorithm.fednova.effective_steps?" in said, said
    said = call("validate", scenario, "--set", "model.private=[]", expect=2).stderr
    assert "fednova needs at least one private tensor" in said, said
    idle = ("--set", "algorithm.kind=furl", "--set", "algorithm.fednova.effective_steps=2")
    done = call("validate", scenario, *idle)  # the table waits for its algorithm
    assert "algorithm.fednova.effective_steps has no effect" in done.stdout + done.stderr, done.stdout + done.stderr
    for key, value in (("algorithm.client.momentum", 0.5), ("privacy.clip", 1), ("participation.mode", '"async"'),
                       ("algorithm.aggregation.rule", '"uniform-mean"')):
        assert key in call("validate", scenario, "--set", f"{key}={value}", expect=2).stderr, key
    call("validate", scenario, "--set", "algorithm.aggregation.step=0.1")  # a key of the rule that is not chosen


def check_steps(work: Path, one: dict) -> None:
    """Where all clients take one step it is FURL; else not, and the number of steps is what they report."""
    step = ("--set", "algorithm.client.max_steps=1")
    plain = run(work / "plain", "--set", "algorithm.kind=furl")
    assert abs(one["eval"]["seen"]["rmse"] - plain["eval"]["seen"]["rmse"]) > 1e-4, plain["eval"]
    single, same = run(work / "single", *step), run(work / "same", *step, "--set", "algorithm.kind=furl")
    assert abs(single["eval"]["seen"]["loss"] - same["eval"]["seen"]["loss"]) < 1e-5, single["eval"]
    fixed = run(work / "fixed", *step, "--set", "algorithm.fednova.effective_steps=1")
    assert fixed["model_sha256"] == single["model_sha256"] != one["model_sha256"], fixed


def sets(settings: dict) -> list:
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def check_draws(work: Path) -> dict:
    """A rule that draws draws alike on any number of threads, and in a resumed run."""
    one = run(work / "drawn", "--threads", "1", *sets(DRAWS))
    part = run(work / "drawn_part", *sets(DRAWS), "--set", "scenario.rounds=12")
    for other in (run(work / "drawn_two", "--threads", "2", *sets(DRAWS)),
                  run(work / "drawn_part", *sets(DRAWS), "--resume")):
        assert one["model_sha256"] == other["model_sha256"] != part["model_sha256"], other
    assert one["eval"]["seen"]["rmse"] < 1.0, one["eval"]
    assert run(work / "drawn_alone", *sets(DRAWS), "--set", "algorithm.aggregation.buckets=1")["model_sha256"] != \
        one["model_sha256"]
    return one


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        check_validate()
        check_reference()
        one = run(work / "one", "--threads", "1")
        assert one["algorithm"] == "fednova" and one["private_state"] and one["private_clients"] > 0, one
        two = run(work / "two", "--threads", "2")
        part = run(work / "part", "--set", "scenario.rounds=12")
        resumed = run(work / "part", "--resume")
        for key in ("model_sha256", "private_sha256", "eval"):
            assert one[key] == two[key], key
            assert one[key] == resumed[key] != part[key], key
        check_steps(work, one)
        text = call("store", "ls", work / "one").stdout
        assert "client" in text, text
        call("store", "verify", work / "one")
        client = next(int(word) for line in text.splitlines() for word in line.split()[:1] if word.isdigit())
        assert "stored" in call("infer", work / "one", "--client", client, "--top", "3").stdout
        call("sweep", scenario, "--out", work / "sweep", "--grid", "algorithm.kind=fednova,furl,fedavg", "--grid",
             "algorithm.fednova.effective_steps=0,5", "--set", "scenario.rounds=4")
        call("report", work / "one", work / "two", "--out", work / "report.html")
        assert "fednova" in (work / "report.html").read_text()
        call("test", scenario)
        votes = {"algorithm.kind": "furl", "algorithm.aggregation.rule": '"sign-majority"',
                 "algorithm.aggregation.step": 0.02}
        voted = run(work / "voted", *sets(votes))
        assert voted["eval"]["seen"]["rmse"] < 1.0 and voted["model_sha256"] != one["model_sha256"], voted["eval"]
        drawn = check_draws(work)
    for settings, alone in (({}, one), (votes, voted), (DRAWS, drawn)):
        with Federation(furlong, scenario=Path(scenario).read_text(), settings=settings) as f:
            f.start(aggregators=1, nodes=4)
            together = f.end()
            for key in ("model_sha256", "eval", "folded"):
                assert together[key] == alone[key], key


if __name__ == "__main__":
    main()
