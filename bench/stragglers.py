#!/usr/bin/env python3
"""Virtual time to the target validation error of scenarios/stragglers-*.toml: synchronous rounds with and without
over-selection against FedBuff and FedAsync. `./dev bench stragglers` runs this; by hand:
bench/stragglers.py [BUILD_FOLDER [FIGURE.svg]]. JSON lines on stdout, a table on stderr.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEEDS = (1, 2, 3)
TARGET = 0.73
# Name in the figure, scenario, settings beside the scenario's own. Learning rates were chosen on seed 100.
CONTESTANTS = {
    "sync": ("synchronous", "stragglers-sync", {}),
    "sync-over-selection": ("synchronous, 130 asked", "stragglers-sync", {"participation.over_selection": 1.3}),
    "fedbuff": ("FedBuff", "stragglers-fedbuff", {}),
    "fedasync": ("FedAsync", "stragglers-fedbuff",
                 {"participation.update": "model", "participation.buffer": 1, "participation.mixing": 0.8,
                  "algorithm.client.lr": 0.3, "scenario.until.rounds": 60000, "evaluation.every": 200}),
}
COLOURS = {"sync": "#4477aa", "sync-over-selection": "#66ccee", "fedbuff": "#ee6677", "fedasync": "#228833"}


def run(build, contestant, seed):
    """The summary, and the (virtual seconds, validation RMSE) of every evaluation."""
    _, scenario, settings = CONTESTANTS[contestant]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        command = [build / "furlong", "run", ROOT / "scenarios" / f"{scenario}.toml", "--seed", seed, "--out", out,
                   "--format", "json"]
        for key, value in {"evaluation.target.at_most": TARGET, **settings}.items():
            command += ["--set", f"{key}={value}"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"bench stragglers: {contestant}, seed {seed}: status {done.returncode}: {done.stderr[-300:]}")
        rounds = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        course = [(one["ended"], one["eval"]["validation"]["rmse"]) for one in rounds if "eval" in one]
        return json.loads(done.stdout), course


def tell(case, metric, value, unit, baseline=None, ratio=None):
    print(json.dumps({"bench": "stragglers", "case": case, "metric": metric, "value": value, "unit": unit,
                      "baseline": baseline, "ratio": ratio}), flush=True)
    against = "" if ratio is None else f"{ratio:9.3g} x {baseline}"
    print(f"{'stragglers':11} {case:22} {metric:18} {value:12.4g} {unit:8} {against}", file=sys.stderr)


def svg(courses):
    """Validation RMSE over virtual time (a decade every so many pixels), one line a run."""
    width, height, left, bottom, top, right = 760, 420, 60, 50, 20, 190
    first, last, low, high = 1.0, 4.5, 0.68, 1.08  # decades of seconds; RMSE
    def x(seconds): return left + (math.log10(max(seconds, 10.0)) - first) / (last - first) * (width - left - right)
    def y(rmse): return height - bottom - (min(rmse, high) - low) / (high - low) * (height - bottom - top)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'font-size="13">', f'<rect width="{width}" height="{height}" fill="white"/>']
    def text(at_x, at_y, what, anchor="middle"):
        out.append(f'<text x="{at_x:.0f}" y="{at_y:.0f}" text-anchor="{anchor}" fill="#333">{what}</text>')
    def line(x1, y1, x2, y2, more='stroke="#ddd"'):
        out.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {more}/>')
    for decade in (10, 100, 1000, 10000):
        line(x(decade), top, x(decade), height - bottom)
        text(x(decade), height - bottom + 18, f"{decade:,}")
    for tenths in (7, 8, 9, 10):
        line(left, y(tenths / 10), width - right, y(tenths / 10))
        text(left - 8, y(tenths / 10) + 4, f"{tenths / 10:.1f}", "end")
    line(left, y(TARGET), width - right, y(TARGET), 'stroke="#333" stroke-dasharray="4 4"')
    text(width - right + 8, y(TARGET) + 4, f"target, {TARGET}", "start")
    for row, (contestant, runs) in enumerate(courses.items()):
        colour = COLOURS[contestant]
        for course in runs:
            points = " ".join(f"{x(seconds):.1f},{y(rmse):.1f}" for seconds, rmse in course if seconds >= 10)
            out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        at = top + 20 + 20 * row
        line(width - right + 8, at - 4, width - right + 28, at - 4, f'stroke="{colour}" stroke-width="3"')
        text(width - right + 34, at, CONTESTANTS[contestant][0], "start")
    text((left + width - right) / 2, height - 12, "virtual time, seconds")
    out.append(f'<text transform="translate(16 {height / 2 - 10:.0f}) rotate(-90)" text-anchor="middle" fill="#333">'
               "RMSE on validation users</text></svg>")
    return "\n".join(out) + "\n"


def main():
    build = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FURLONG_BUILD", ROOT / "build/release"))
    taken, courses = {}, {}
    for contestant in CONTESTANTS:
        runs = [run(build, contestant, seed) for seed in SEEDS]
        courses[contestant] = [course for _, course in runs]
        ends = [summary["time_to_target"] for summary, _ in runs]
        if not all(end["reached"] for end in ends):
            sys.exit(f"bench stragglers: {contestant} did not reach {TARGET}: {ends}")
        taken[contestant] = [end["virtual_seconds"] for end in ends]
        for seed, seconds in zip(SEEDS, taken[contestant]):
            tell(f"{contestant}-seed-{seed}", "time_to_target", seconds, "s")
        tell(contestant, "updates_to_target", statistics.median(s["folded"] for s, _ in runs), "updates")
        tell(contestant, "bytes_to_target", statistics.median(s["bytes_up"] + s["bytes_down"] for s, _ in runs), "bytes")
    for contestant, seconds in taken.items():
        for baseline in ("sync", "sync-over-selection"):
            if baseline != contestant:
                ratio = statistics.median(theirs / ours for theirs, ours in zip(taken[baseline], seconds))
                tell(contestant, "time_to_target", statistics.median(seconds), "s", baseline, ratio)
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(svg(courses))


if __name__ == "__main__":
    main()
