"""on_round, on_evaluation and stop_after of furlong.run, trackers and the live plot."""

import json
import re
import selectors
import sys
import types
from pathlib import Path

import pytest

import furlong
from furlong import command
from furlong.callbacks import Callbacks

ROOT = Path(__file__).resolve().parents[2]
QUICK = {"scenario.rounds": 6, "data.users": 60, "data.items": 30, "data.ratings_per_user": 20,
         "participation.per_round": 10, "evaluation.every": 2}


def records(frame):
    return frame.to_dict("records") if hasattr(frame, "to_dict") else frame


def needs_command():
    try:
        command.find()
    except FileNotFoundError:
        pytest.skip("no furlong command")


@pytest.fixture
def quick(tmp_path):
    """Runs a small scenario with the real command."""
    needs_command()

    def run(out="run", **arguments):
        return furlong.run(ROOT / "scenarios" / "quickstart.toml", set=QUICK, out=tmp_path / out, progress=False,
                           **arguments)

    return run


@pytest.fixture
def lines(fake, tmp_path):
    """What the fake command sends."""
    sent = [{"round": 1, "ended": 2.5, "loss": 0.5}, {"round": 2, "ended": 4.5, "loss": 0.4}]
    sent.append({**sent[-1], "eval": {"seen": {"loss": 0.3, "by_participation": []}, "unseen": {"loss": 0.6}}})
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in sent))


def test_callbacks_get_rows_of_frames(lines):
    rounds, evaluations = [], []
    run = furlong.run("quick.toml", on_round=rounds.append, on_evaluation=evaluations.append, progress=False)
    assert rounds == [{"round": 1, "ended": 2.5, "loss": 0.5}, {"round": 2, "ended": 4.5, "loss": 0.4}]
    assert evaluations == [{"round": 2, "time": 4.5, "group": "seen", "loss": 0.3},
                           {"round": 2, "time": 4.5, "group": "unseen", "loss": 0.6}]
    assert run.path == Path("runs/quick-7")


def test_an_exception_of_a_callback_warns_once(lines):
    calls = []

    def broken(row):
        calls.append(row["round"])
        raise ValueError("no such metric")

    with pytest.warns(RuntimeWarning) as told:
        furlong.run("quick.toml", on_round=broken, progress=False)
    assert calls == [1, 2]
    line = broken.__code__.co_firstlineno + 2
    assert [str(one.message) for one in told] == [
        f"on_round failed in round 1 ({__file__}:{line}): ValueError: no such metric; the run goes on, and it is called "
        "again, without another warning"]
    with pytest.raises(TypeError, match="on_evaluation='x' cannot be called"):
        furlong.run("quick.toml", on_evaluation="x")


def test_lines_are_answered_also_after_an_interrupt():
    seen = []

    def interrupted(row):
        seen.append(row["round"])
        if row["round"] == 2:
            raise KeyboardInterrupt
        if row["round"] == 3:
            raise furlong.Stop

    with selectors.DefaultSelector() as selector:
        calls = Callbacks(on_round=interrupted)
        answers = []
        with calls.attach(selector) as end:
            for number in range(1, 5):
                end.sendall(b'{"round": ')
                selector.select(timeout=10)[0][0].data()
                end.sendall(b'%d}\n' % number)
                try:
                    selector.select(timeout=10)[0][0].data()
                except KeyboardInterrupt:
                    answers.append("interrupted")
                answers.append(end.recv(1))
        selector.select(timeout=10)[0][0].data()
        assert not selector.get_map()
        calls.close()
    assert seen == [1, 2, 3, 4]
    assert answers == [b"g", "interrupted", b"g", b"s", b"s"]


def test_callbacks_see_each_round_and_evaluation_once(quick):
    rounds, evaluations = [], []
    run = quick(on_round=rounds.append, on_evaluation=evaluations.append)
    assert [row["round"] for row in rounds] == [1, 2, 3, 4, 5, 6]
    assert [row["loss"] for row in rounds] == [row["loss"] for row in records(run.rounds)]
    assert [(row["round"], row["group"]) for row in evaluations] == [
        (row["round"], row["group"]) for row in records(run.evaluations)]
    assert [row["rmse"] for row in evaluations] == [row["rmse"] for row in records(run.evaluations)]


def test_stop_in_a_callback_can_be_resumed(quick):
    whole = quick(out="whole")
    rounds = []

    def until_three(row):
        rounds.append(row["round"])
        if row["round"] == 3:
            raise furlong.Stop

    part = quick(out="part", on_round=until_three)
    assert not part.ended and rounds == [1, 2, 3, 4]  # the next round has begun by then
    rest = quick(out="part", resume=True, on_round=lambda row: rounds.append(row["round"]))
    assert rest.ended and rounds == [1, 2, 3, 4, 5, 6]
    assert rest.summary["model_sha256"] == whole.summary["model_sha256"]
    assert records(rest.evaluations) == records(whole.evaluations)


def test_stop_after_is_an_option_of_the_command(fake):
    run = furlong.run("quick.toml", stop_after=1, progress=False)
    assert fake()["arguments"] == ["run", "quick.toml", "--stop-after", "1", "--format", "json"]
    assert not run.ended and run.path == Path("runs/quick-7")


def test_a_run_that_stops_after_a_round_goes_on(quick):
    evaluations = []
    part = quick(stop_after=3, on_evaluation=evaluations.append)
    assert not part.ended and evaluations[-1]["round"] == 3
    assert quick(resume=True).summary["rounds"] == 6


def block(name):
    """The file of this name that docs/python.md shows."""
    return re.search(rf"^```python {name}\n(.*?)^```$", (ROOT / "docs" / "python.md").read_text(), re.M | re.S)[1]


class Mlflow(types.ModuleType):
    """What the documented example calls of MLflow 2."""

    def __init__(self):
        super().__init__("mlflow")
        self.told, self.params, self.files, self.runs = [], {}, [], []

    def start_run(self, run_name: str):
        self.runs.append(run_name)
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.runs.append("ended")

    def log_metrics(self, metrics: dict, step: int):
        assert all(type(value) in (int, float) for value in metrics.values()) and type(step) is int
        self.told.append((metrics, step))

    def log_params(self, params: dict):
        self.params.update(params)

    def log_artifact(self, local_path: str):
        assert isinstance(local_path, str)
        self.files.append(local_path)


class Wandb(types.ModuleType):
    """What the documented example calls of Weights & Biases."""

    def __init__(self):
        super().__init__("wandb")
        self.told, self.config, self.summary, self.ended = [], None, {}, False

    def init(self, project: str, config: dict):
        self.config = config
        return self

    def log(self, data: dict, step: int):
        assert not self.told or step >= self.told[-1][1]  # others are dropped
        self.told.append((data, step))

    def finish(self):
        self.ended = True


def test_the_example_with_mlflow(lines, monkeypatch, tmp_path):
    stand_in = Mlflow()
    monkeypatch.setitem(sys.modules, "mlflow", stand_in)
    (tmp_path / "taste.toml").write_text("")
    monkeypatch.setattr(furlong.Run, "summary", {"model_sha256": "a1"})
    exec(compile(block("track_mlflow.py"), "track_mlflow.py", "exec"), {"__name__": "__main__"})
    assert stand_in.told == [({"seen/loss": 0.3}, 2), ({"unseen/loss": 0.6}, 2)]
    assert stand_in.runs[-1] == "ended" and stand_in.params and stand_in.files


def test_the_example_with_wandb(lines, monkeypatch, tmp_path):
    stand_in = Wandb()
    monkeypatch.setitem(sys.modules, "wandb", stand_in)
    exec(compile(block("track_wandb.py"), "track_wandb.py", "exec"), {"__name__": "__main__"})
    assert stand_in.told[0][0]["training/loss"] == 0.5
    assert stand_in.told[-2:] == [({"seen/loss": 0.3}, 2), ({"unseen/loss": 0.6}, 2)]
    assert stand_in.ended


def test_the_live_plot_grows(monkeypatch):
    pytest.importorskip("matplotlib")
    from furlong import plot

    live = plot.Live("accuracy")
    live({"round": 1, "loss": 0.5})
    for number in (1, 2, 3):
        live({"round": number, "group": "seen", "accuracy": number / 10})
        live({"round": number, "group": "unseen", "accuracy": number / 20})
    seen, unseen = live.figure.axes[0].lines
    assert [list(values) for values in seen.get_data()] == [[1, 2, 3], [0.1, 0.2, 0.3]]
    assert unseen.get_ydata()[-1] == 0.15
    assert [text.get_text() for text in live.figure.axes[0].get_legend().get_texts()] == ["seen", "unseen"]
    assert live.figure.axes[0].get_xlim()[1] > 3


def test_the_live_plot_is_shown_in_a_notebook(monkeypatch):
    pytest.importorskip("matplotlib")
    from furlong import plot

    shown, updates = [], []
    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    display.Image = lambda data, format, width: data

    def show(image, display_id):
        shown.append(image)
        return types.SimpleNamespace(update=updates.append)

    display.display = show
    core = types.ModuleType("IPython.core")
    core.pylabtools = types.ModuleType("IPython.core.pylabtools")  # which matplotlib looks for
    for module in (ipython, display, core, core.pylabtools):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    live = plot.Live()
    for number in (1, 2, 3):
        live({"round": number, "loss": 1 / number})
    assert len(shown) == 1 and len(updates) == 2
    assert all(image.startswith(b"\x89PNG") for image in (*shown, *updates)) and updates[0] != updates[1]
    ipython.get_ipython = lambda: object()  # a terminal
    live({"round": 4, "loss": 0.1})
    assert len(updates) == 2
