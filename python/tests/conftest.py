import json
import sys
import textwrap
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]


@pytest.fixture
def real(tmp_path, monkeypatch):
    """The furlong command, in a folder of its own as the working directory."""
    from furlong import command  # by the path above

    try:
        command.find()
    except FileNotFoundError:
        pytest.skip("no furlong command")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A command that makes a run directory and writes its arguments and environment to called.json."""
    file = tmp_path / "furlong"
    file.write_text(f"#!{sys.executable}\n" + textwrap.dedent("""
        import json, os, pathlib, signal, socket, sys, time
        here = pathlib.Path(__file__).parent
        arguments = sys.argv[1:]
        scenario = pathlib.Path(arguments[1]).read_text() if os.path.isfile(arguments[1]) else ""
        (here / "called.json").write_text(json.dumps(
            {"arguments": arguments, "scenario": scenario, "python": os.environ.get("FURLONG_PYTHON"),
             "path": os.environ.get("PYTHONPATH"), "parent": os.environ.get("FURLONG_PARENT")}))
        print("round 1: 3 of 3", file=sys.stderr)
        if "fail" in arguments[1]:
            print("fail.toml:3: rounds: no number; write one", file=sys.stderr)
            sys.exit(2)
        if "killed" in arguments[1]:
            print("round 2", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if "bad" in scenario:
            for part in (arguments[1][:9], arguments[1][9:] + ":3:7: scenario.rounds: is \\"x\\" (round 1)\\n"):
                print(part, file=sys.stderr, end="", flush=True)
                time.sleep(0.1)
            print(f"{arguments[1]}: model.kind: is missing; see {arguments[1]}", file=sys.stderr)
            sys.exit(2)
        if arguments[:2] == ["store", "show"]:
            print(json.dumps({"client": 3, "tensors": {"b": [1.0], "user": [0.5, 0.5]}}))
            sys.exit()
        if arguments[0] == "report":
            print(json.dumps({"report": "page.html", "private": False, "runs": []}))
            sys.exit()
        if arguments[0] == "export" and arguments[2] == "--clients":
            pathlib.Path(arguments[3]).write_text("client,name,role,loss\\n0,7,train,0.5\\n1,b,test,\\n")
            sys.exit()
        if arguments[0] == "export" and arguments[2] == "--cohorts":
            pathlib.Path(arguments[3]).write_text("round,client,aggregated\\n1,4,2\\n1,6,\\n")
            sys.exit()
        if arguments[0] == "export":
            import numpy
            numpy.savez(arguments[3], w=numpy.ones(2), b=numpy.ones(1),
                        user=numpy.full((1, 2), 0.5))
            sys.exit()
        if "slow" in arguments[1]:
            signal.signal(signal.SIGINT, lambda *_: sys.exit(5))
            print("ready", file=sys.stderr, flush=True)
            time.sleep(60)
        out = pathlib.Path(arguments[arguments.index("--out") + 1] if "--out" in arguments else "runs/quick-7")
        out.mkdir(parents=True, exist_ok=True)
        (out / "scenario.toml").write_text("")
        if "FURLONG_LINES" in os.environ:
            script = socket.socket(fileno=int(os.environ["FURLONG_LINES"]))
            lines = [json.dumps({"run": str(out)})]
            if (here / "lines.jsonl").exists():
                lines += (here / "lines.jsonl").read_text().splitlines()
            for line in lines:
                script.sendall(line.encode() + b"\\n")
                if script.recv(1) == b"n":
                    break
        if "--stop-after" in arguments:
            print("furlong: stopped after round 1; continue with --resume", file=sys.stderr)
            sys.exit(5)
        (out / "sweep.csv").write_text("rounds,name\\n3,a\\n4,b\\n")
        (out / "tune.json").write_text(json.dumps({"scenario": "quick", "settings": [
            {"rank": 2, "grid": {"model.rank": 3}, "rounds": 2, "figure": None},
            {"rank": 1, "grid": {"model.rank": 4}, "rounds": 6, "figure": 0.5}],
            "best": {"grid": {"model.rank": 4}}}))
        print(json.dumps({"scenario": "quick", "seed": 7}))
    """))
    file.chmod(0o755)
    monkeypatch.setenv("FURLONG", str(file))
    monkeypatch.delenv("FURLONG_PYTHON", raising=False)
    monkeypatch.chdir(tmp_path)
    return lambda: json.loads((tmp_path / "called.json").read_text())
