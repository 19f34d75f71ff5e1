#!/usr/bin/env python3
"""Every command with algorithms and an aggregation rule that were registered from outside: run, validate, sweep, store,
infer, report, test, and a federation over TLS.

usage: use_fedalt.py FURLONG SCENARIO
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "processes"))
from federation import Federation  # noqa: E402

furlong, scenario = sys.argv[1:3]


def call(*words, expect: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run([furlong, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == expect, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def run(out: Path, *more) -> dict:
    call("run", scenario, "--out", out, *more)
    return json.loads((out / "summary.json").read_text())


def check_validate() -> None:
    call("validate", scenario)
    said = call("validate", scenario, "--set", "algorithm.fedalt.private_epochs=-1", expect=2).stderr
    assert "algorithm.fedalt.private_epochs" in said, said
    said = call("validate", scenario, "--set", "algorithm.fedalt.private_epoch=1", expect=2).stderr
    assert "did you mean algorithm.fedalt.private_epochs?" in said, said
    said = call("validate", scenario, "--set", "model.private=[]", expect=2).stderr
    assert "fedalt needs at least one private tensor" in said, said
    done = call("validate", scenario, "--set", "algorithm.kind=furl")  # the table waits for its algorithm
    assert "algorithm.fedalt.private_epochs has no effect" in done.stdout + done.stderr, done.stdout + done.stderr


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        check_validate()
        one = run(work / "one", "--threads", "1")
        assert one["algorithm"] == "fedalt" and one["private_state"] and one["private_clients"] > 0, one
        two = run(work / "two", "--threads", "2")
        part = run(work / "part", "--set", "scenario.rounds=12")
        resumed = run(work / "part", "--resume")
        for key in ("model_sha256", "private_sha256", "eval"):
            assert one[key] == two[key], key
            assert one[key] == resumed[key] != part[key], key
        # Without private passes the private values stay where they begin, and nothing else is as it was.
        frozen = run(work / "frozen", "--set", "algorithm.fedalt.private_epochs=0", "--set", "private.cold_start=default")
        assert frozen["model_sha256"] != one["model_sha256"]
        text = call("store", "ls", work / "one").stdout
        assert "client" in text, text
        call("store", "verify", work / "one")
        client = next(int(word) for line in text.splitlines() for word in line.split()[:1] if word.isdigit())
        assert "stored" in call("infer", work / "one", "--client", client, "--top", "3").stdout
        call("sweep", scenario, "--out", work / "sweep", "--grid", "algorithm.kind=fedalt,furl,fedavg", "--grid",
             "algorithm.fedalt.private_lr=0.05,0.1", "--set", "scenario.rounds=4")
        call("report", work / "one", work / "two", "--out", work / "report.html")
        assert "fedalt" in (work / "report.html").read_text()
        call("test", scenario)
        votes = {"algorithm.aggregation.rule": '"sign-majority"', "algorithm.aggregation.step": 0.02}
        controls = {"algorithm.kind": "scaffold", "model.private": "[]"}
        words = [word for key, value in controls.items() for word in ("--set", f"{key}={value}")]
        controlled = run(work / "controlled", *words)
        part = run(work / "half", *words, "--set", "scenario.rounds=12")
        resumed = run(work / "half", "--resume")
        for key in ("model_sha256", "private_sha256", "added_sha256", "eval"):
            assert controlled[key] == resumed[key] != part[key], key
        assert controlled["algorithm"] == "scaffold" and controlled["eval"]["seen"]["rmse"] < 1.0, controlled
        call("report", work / "controlled", "--out", work / "controlled.html")
        assert controlled["added_sha256"] in (work / "controlled.html").read_text()
        for key, value in (("algorithm.client.momentum", 0.5), ("privacy.clip", 1), ("network.compression", '"int8"')):
            assert key in call("validate", scenario, *words, "--set", f"{key}={value}", expect=2).stderr, key
        voted = run(work / "voted", *[word for key, value in votes.items() for word in ("--set", f"{key}={value}")])
        assert voted["eval"]["seen"]["rmse"] < 1.0 and voted["model_sha256"] != one["model_sha256"], voted["eval"]
        call("validate", scenario, "--set", "algorithm.aggregation.step=0.1")  # a key of the rule that is not chosen
    for settings, alone in (({}, one), (votes, voted), (controls, controlled)):
        with Federation(furlong, scenario=Path(scenario).read_text(), settings=settings) as f:
            f.start(aggregators=1, nodes=4)
            together = f.end()
            for key in ("model_sha256", "added_sha256", "eval", "folded"):
                assert together.get(key) == alone.get(key), key


if __name__ == "__main__":
    main()
