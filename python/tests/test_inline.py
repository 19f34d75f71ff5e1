"""furlong.run(trainer="inline"): the calling process trains."""

import ctypes
import os
import pdb
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy
import pytest

import furlong
from furlong import sources

ROOT = Path(__file__).resolve().parents[2]
CLASS = '''
import furlong, numpy
from helping import scaled

class Taste(furlong.Problem):
    options = {"slope": 1.0}
    metrics = {"mae": "min"}

    def __init__(self):
        random = numpy.random.default_rng(3)
        self.x = random.normal(size=(6, 12, 3)).astype(numpy.float32)

    def parameters(self, seed):
        return {"w": numpy.zeros(3, numpy.float32), "own": numpy.zeros(1, numpy.float32)}

    def clients(self):
        return [furlong.Client(f"c{c}", 8, 2, 2) for c in range(6)]

    def gradient(self, step):
        rows = self.x[step.client, step.examples] + scaled(numpy.random.normal())
        error = rows @ step.parameters["w"] + step.parameters["own"] - self.slope * rows.sum(axis=1)
        for name, value in (("w", rows.T @ error / len(rows)), ("own", error.mean())):
            if name in step.gradients:
                step.gradients[name][...] = value
        return float((error ** 2).mean() / 2)

    def evaluate(self, step):
        rows = self.x[step.client, step.examples]
        error = rows @ step.parameters["w"] + step.parameters["own"] - self.slope * rows.sum(axis=1)
        return {"loss": ((error ** 2).sum() / 2, len(rows)), "mae": (abs(error).sum(), len(rows))}

    def predict(self, step):
        return [0.0] * len(step.examples)
'''
SCENARIO = {
    "scenario": {"name": "taste", "rounds": 4, "seed": 2}, "data": {"source": "python"},
    "model": {"kind": "python", "private": ["own"]},
    "algorithm": {"kind": "furl", "client": {"lr": 0.1, "batch_size": 4}},
    "participation": {"per_round": 3}, "evaluation": {"every": 2}, "checkpoint": {"every": 1},
}


@pytest.fixture
def place(real, tmp_path, monkeypatch):
    """A folder with the class in taste.py, as the working directory."""
    (tmp_path / "helping.py").write_text("def scaled(x):\n    return 0.01 * x\n")
    (tmp_path / "taste.py").write_text(CLASS)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def run(problem, out, trainer="inline", **arguments):
    return furlong.run(SCENARIO, problem=problem, out=out, trainer=trainer, progress=False, **arguments)


def imported():
    import taste

    return taste.Taste


def test_the_run_is_that_of_trainer_processes(place):
    inline = run(imported(), "inline", threads=2)
    other = run("taste.py:Taste", "other", trainer="processes")
    for key in ("model_sha256", "private_sha256", "eval", "code"):
        assert inline.summary[key] == other.summary[key], key
    assert sorted(inline.summary["code"]) == ["helping.py", "taste.py"]
    assert {k: v.tolist() for k, v in inline.model().items()} == {k: v.tolist() for k, v in other.model().items()}
    by_name = run("taste.py:Taste", "by-name")
    assert by_name.summary["model_sha256"] == other.summary["model_sha256"]


def test_runs_of_processes_go_on_inline_and_the_reverse(place):
    whole = run("taste.py:Taste", "whole", trainer="processes").summary["model_sha256"]
    for first, then in (("inline", "processes"), ("processes", "inline")):
        run(imported(), first, trainer=first, stop_after=2)
        assert run(imported(), first, trainer=then, resume=True).summary["model_sha256"] == whole


def test_the_state_of_the_caller_stays(place):
    random.seed(1), numpy.random.seed(1)
    wanted = [random.random(), numpy.random.random()]
    random.seed(1), numpy.random.seed(1)
    handler = signal.getsignal(signal.SIGINT)
    files = len(os.listdir("/proc/self/fd"))
    run(imported(), "a")
    assert [random.random(), numpy.random.random()] == wanted
    assert signal.getsignal(signal.SIGINT) is handler
    assert len(os.listdir("/proc/self/fd")) == files


def test_callbacks_and_inline_steps_take_turns(place):
    kind, seen = imported(), []

    class Watched(kind):
        def gradient(self, step):
            seen.append(("step", step.round))
            return super().gradient(step)

    run(Watched, "a", on_round=lambda row: seen.append(("round", row["round"])))
    rounds = [number for what, number in seen if what == "round"]
    assert rounds == [1, 2, 3, 4]
    for number in rounds:
        assert all(step <= number for what, step in seen[: seen.index(("round", number))])


def test_a_class_without_a_file(place):
    kind = imported()

    class Local(kind):
        options = {"slope": 2.0}

    with pytest.raises(ValueError, match='trainer="inline"'):
        run(Local, "a", trainer="processes")
    made = run(Local, "a")
    assert made.model()["w"].shape == (3,) and len(made.predict(0))
    made.export(split="split.csv")
    assert f'problem = "{place}/notebook:Local"' in (place / "a" / "scenario.toml").read_text()
    with pytest.raises(furlong.CommandError, match=r"Local of a notebook or prompt, and opened with it alone: furlong.open\(RUN, problem=Local\)"):
        furlong.open("a").model()
    assert furlong.open("a", problem=Local).model()["w"].tolist() == made.model()["w"].tolist()


def test_an_exception_has_the_users_traceback(place):
    kind = imported()

    class Broken(kind):
        def gradient(self, step):
            if step.round == 3:
                raise ValueError("no such row")
            return super().gradient(step)

    with pytest.raises(furlong.CommandError, match="no such row.*kept up to round 2") as told:
        run(Broken, "a")
    assert isinstance(told.value.__cause__, ValueError) and told.value.code == 4
    frame = told.value.__cause__.__traceback__
    while frame.tb_next:
        frame = frame.tb_next
    assert frame.tb_frame.f_locals["step"].round == 3  # for a debugger

    Broken.gradient = kind.gradient
    mended = run(Broken, "a", resume=True)
    assert mended.summary["model_sha256"] == run(kind, "b").summary["model_sha256"]


def test_a_debugger_stops_in_the_class(place, monkeypatch):
    kind, stops = imported(), []

    class Stopped(kind):
        def gradient(self, step):
            if step.round == 2 and not stops:
                breakpoint()
            return super().gradient(step)

    class Debugger(pdb.Pdb):
        def interaction(self, frame, traceback):
            stops.append(frame.f_locals["step"].round)
            self.set_continue()

    monkeypatch.setattr(sys, "breakpointhook", lambda: Debugger(nosigint=True).set_trace(sys._getframe(1)))
    assert run(Stopped, "a").ended
    assert stops == [2]


def script(place, text):
    file = place / "script.py"
    file.write_text(textwrap.dedent(text))
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
    return subprocess.Popen([sys.executable, "-u", str(file)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env=environment, cwd=place, start_new_session=True)


SLOW = '''
import time, furlong, taste, test_inline_scenario
class Slow(taste.Taste):
    def gradient(self, step):
        if step.seed:
            print("step of", step.round, flush=True)
            time.sleep(NAP if step.round > 1 else 0)
        return super().gradient(step)
try:
    run = furlong.run(test_inline_scenario.SCENARIO, problem=Slow, out="a", trainer="inline", progress=False)
    print("ended", run.ended)
except KeyboardInterrupt as error:
    print("interrupted:", error)
'''


@pytest.fixture
def slow(place):
    (place / "test_inline_scenario.py").write_text(f"SCENARIO = {SCENARIO!r}")

    def start(nap):
        process = script(place, SLOW.replace("NAP", str(nap)))
        for line in process.stdout:
            if line.startswith("step of 2"):
                return process
        raise AssertionError("it has no second round")

    return start


def test_an_interrupt_ends_the_round_and_the_run_goes_on(slow, place):
    process = slow(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    assert "interrupted: the run was stopped (exit code 5); continue it with furlong.run(..., out='a', resume=True)" in said
    assert "Traceback" not in said
    assert "ended True" in script(place, SLOW.replace("NAP", "0").replace('out="a"', 'out="a", resume=True, accept_changed_code=True')).communicate(
        timeout=60)[0]


def test_a_second_interrupt_ends_a_step_that_hangs(slow):
    process = slow(1000)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[0]
    assert "interrupted: the run was stopped (exit code -9)" in said


@pytest.mark.parametrize("killed", ["caller", "command"])
def test_the_end_of_either_side_ends_the_other(slow, place, killed):
    process = slow(0.5)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 1
    os.kill(process.pid if killed == "caller" else int(children[0]), signal.SIGKILL)
    said = process.communicate(timeout=60)[0]
    if killed == "command":
        assert process.returncode == 1 and "furlong was killed by SIGKILL" in said
    deadline = time.monotonic() + 60
    while Path(f"/proc/{children[0]}").exists() and "Z" not in Path(f"/proc/{children[0]}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_run_in_another_thread(place):
    kind, made = imported(), []
    thread = threading.Thread(target=lambda: made.append(run(kind, "a").ended))
    thread.start()
    thread.join(60)
    assert made == [True]


def test_forked_processes_leave_the_connection(place):
    kind = imported()

    class Forking(kind):
        def gradient(self, step):
            child = os.fork()
            if child == 0:
                return 0.0  # the process comes to its end in the package
            os.waitpid(child, 0)
            return super().gradient(step)

    assert run(Forking, "a").ended


def test_threads_of_blas_are_limited_meanwhile(place):
    """With a library that looks like OpenBLAS."""
    (place / "blas.c").write_text("static int n = 6; int openblas_get_num_threads(void) { return n; }\n"
                                  "void openblas_set_num_threads(int wanted) { n = wanted; }\n")
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "libopenblas-stand-in.so", "blas.c"], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler")
    library = ctypes.CDLL(str(place / "libopenblas-stand-in.so"))
    kind, seen = imported(), set()

    class Watched(kind):
        def gradient(self, step):
            seen.add(library.openblas_get_num_threads())
            return super().gradient(step)

    run(Watched, "a")
    assert seen == {1} and library.openblas_get_num_threads() == 6


def test_wrong_arguments(place):
    with pytest.raises(ValueError, match='trainer=.thread. is none; write "processes" or "inline"'):
        run(imported(), "a", trainer="thread")


def test_code_of_a_class_without_a_file(place):
    """In a process without a file: the cells of a notebook, and what their classes import."""
    (place / "far").mkdir()
    (place / "far" / "other.py").write_text("import helping\nVALUE = 1\n")
    (place / "unrelated.py").write_text("")
    text = textwrap.dedent("""
        import linecache, sys
        sys.path[:0] = [PATH, "far"]
        import furlong, unrelated
        from furlong import sources
        def cell(name, text):
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            exec(compile(text, name, "exec"), globals())
        cell("<cell 1>", "import other\\ndef helper():\\n    return other.VALUE\\n")
        cell("<cell 2>", "class A(furlong.Problem):\\n    def clients(self):\\n        return helper()\\n")
        cell("<cell 3>", "def unused(): pass")
        first = sources.digests("notebook", of=[A])
        cell("<cell 4>", "def unused(): return 2")
        assert sources.digests("notebook", of=[A]) == first
        cell("<cell 5>", "import other\\ndef helper():\\n    return 2 + other.VALUE\\n")
        second = sources.digests("notebook", of=[A])
        assert first["notebook"] != second["notebook"]
        print(sorted(first))
    """).replace("PATH", repr(str(ROOT / "python")))
    said = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True, cwd=place, timeout=60)
    assert said.stdout == "['far/other.py', 'helping.py', 'notebook']\n", said.stderr


def test_sources_of_a_package(place):
    (place / "nets").mkdir()
    for name, text in (("__init__", ""), ("block", "from .deep import layer"), ("deep", "layer = 1"), ("other", "")):
        (place / "nets" / f"{name}.py").write_text(text)
    (place / "mine.py").write_text("import furlong, json\nfrom nets import block\nclass Mine(furlong.Problem):\n    pass\n")
    import mine
    import nets.other

    assert list(sources.digests("mine.py", of=[mine.Mine])) == ["mine.py", "nets/__init__.py", "nets/block.py",
                                                              "nets/deep.py"]


NET = '''
import furlong.torch, torch

class Net(furlong.torch.Problem):
    metrics = {"accuracy": "max"}

    def __init__(self):
        self.x = torch.randn(240, 20)
        self.y = (self.x[:, 0] > 0).long()

    def module(self):
        return torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.BatchNorm1d(16), torch.nn.Dropout(0.2),
                                   torch.nn.Linear(16, 2))

    def clients(self):
        return [furlong.Client(f"c{c}", 30, 0, 10) for c in range(6)]

    def batch(self, client, part, examples):
        first = 40 * client + (30 if part == "test" else 0)
        return self.x[first + examples], self.y[first + examples]

    def loss(self, outputs, targets):
        return torch.nn.functional.cross_entropy(outputs, targets)

    def score(self, outputs, targets):
        return {"accuracy": ((outputs.argmax(1) == targets).sum(), len(targets))}


class Kept(furlong.torch.Algorithm):
    groups = {"own": furlong.kept("model", first="received")}
    predicts = "kept"

    def train(self, t):
        t.fit()
        t["own"] = 0.5 * (t["own"] + t.weights)

    def personalize(self, t):
        if t.has_state:
            t.weights = t["own"]
'''


def test_torch_and_algorithms(place):
    torch = pytest.importorskip("torch")
    (place / "net.py").write_text(NET)
    import net

    torch.manual_seed(5)
    wanted = torch.rand(1)
    torch.manual_seed(5)
    modes = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    scenario = {**SCENARIO, "model": {"kind": "python"}}
    runs = [furlong.run(scenario, problem=net.Net, algorithm=net.Kept, out=trainer, trainer=trainer, progress=False)
            for trainer in ("inline", "processes")]
    assert torch.equal(torch.rand(1), wanted)
    assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()) == modes
    for key in ("model_sha256", "private_sha256", "eval", "code"):
        assert runs[0].summary[key] == runs[1].summary[key], key
