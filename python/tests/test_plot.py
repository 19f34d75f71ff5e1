"""Figures of run directories."""

import json

import pytest

import furlong

pytest.importorskip("matplotlib")
from furlong import plot  # noqa: E402


def run_in(folder, algorithm, offset):
    folder.mkdir()
    (folder / "scenario.toml").write_text("")
    lines = [{"round": r, "ended": 2.0 * r, "loss": 1.0, "eval": {"seen": {"loss": 1 / r + offset, "accuracy": 0.5}}}
             for r in range(1, 6)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    summary = {"algorithm": algorithm, "participation": {"mean": 2.0, "p10": 1, "p50": 2, "p90": 3, "max": 9}}
    (folder / "summary.json").write_text(json.dumps(summary))
    return furlong.open(folder)


@pytest.fixture
def both(tmp_path):
    return [run_in(tmp_path / str(i), kind, 0.1 * i) for i, kind in enumerate(["furl", "furl", "fedavg"])]


def test_curves_are_means_with_bands(both):
    axes = plot.curves(both).axes[0]
    assert [line.get_label() for line in axes.lines] == ["furl", "fedavg"]
    assert list(axes.lines[0].get_ydata()) == pytest.approx([1 / r + 0.05 for r in range(1, 6)])
    assert list(axes.lines[0].get_xdata()) == [1, 2, 3, 4, 5]
    assert len(axes.collections) == 1  # a band only where there are several runs
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(1.05 + 0.1 / 2**0.5)


def test_curves_over_time_with_names(both):
    axes = plot.curves({"one": both[0], "two": both[1:]}, "accuracy", over="time").axes[0]
    assert list(axes.lines[0].get_xdata()) == [2, 4, 6, 8, 10]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two"]


def test_participation_has_a_bar_for_each_quantile(both):
    heights = [bar.get_height() for bar in plot.participation(both[0]).axes[0].patches]
    assert heights == [1, 2, 2, 3, 9]


def test_missing_figures_are_named(both):
    with pytest.raises(ValueError, match="has no rmse of seen clients; it has accuracy, loss of seen"):
        plot.curves(both, "rmse")
    with pytest.raises(ValueError, match="has no private_staleness"):
        plot.staleness(both)


@pytest.mark.parametrize("ending, begin", [("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_files_are_the_same_each_time(both, tmp_path, ending, begin):
    contents = []
    for name in ("a", "b"):
        plot.save(plot.curves(both), tmp_path / f"{name}.{ending}")
        contents.append((tmp_path / f"{name}.{ending}").read_bytes())
    assert contents[0] == contents[1] and contents[0].startswith(begin)
