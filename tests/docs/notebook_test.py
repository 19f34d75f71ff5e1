#!/usr/bin/env python3
"""Runs docs/tutorial.ipynb by nbconvert, as it stands, and looks at what its cells show.

usage: notebook_test.py FURLONG ROOT

Exit code 3 if no python3 has nbconvert, ipykernel and what the notebook imports.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NEEDED = "import nbconvert, ipykernel, numpy, torch, sklearn, pandas, matplotlib"
SKIPPED = 3


def interpreter() -> str:
    for candidate in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([candidate, "-c", NEEDED], capture_output=True).returncode == 0:
            return candidate
    return ""


def shown(cell: dict, kind: str) -> str:
    """What a cell has printed ("stdout", "stderr"), or its result or display of this MIME type."""
    found = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream" and output["name"] == kind:
            found.append("".join(output["text"]))
        elif kind in output.get("data", {}):
            found.append("".join(output["data"][kind]))
    return "".join(found)


def check(cells: list[dict], folder: Path) -> None:
    by_text = {"".join(cell["source"]): cell for cell in cells if cell["cell_type"] == "code"}

    def cell(part: str) -> dict:
        found = [one for text, one in by_text.items() if part in text]
        assert len(found) == 1, f"{len(found)} cells with {part}"
        return found[0]

    for one in by_text.values():
        assert not shown(one, "stderr"), shown(one, "stderr")
    run = cell("plot.Live")
    pictures = [output for output in run["outputs"] if "image/png" in output.get("data", {})]
    assert len(pictures) == 1 and len(pictures[0]["data"]["image/png"]) > 5000  # one figure, drawn anew each time
    assert "furlong.open('runs/fedavg')" in shown(run, "text/plain")
    results = cell("describe()")
    assert "train" in shown(results, "stdout") and "unseen" in shown(results, "text/html")
    assert shown(cell("def early"), "stdout") == "ended: False after 12 rounds\n"
    assert shown(cell("resume=True"), "stdout") == "ended: True after 30 rounds\nthe same model: True\n"
    debugged = shown(cell("class Watched"), "stdout")
    assert "pdb> (2, 10)" in debugged and "breakpoint" in debugged, debugged  # before a run two examples are scored
    assert "report: comparison.html" in shown(cell("write_report"), "stdout")
    assert (folder / "comparison.html").is_file()


def main() -> int:
    furlong, root = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    page = root / "docs" / "tutorial.ipynb"
    for one in json.loads(page.read_text())["cells"]:
        assert not one.get("outputs") and not one.get("execution_count"), "the notebook has outputs: clear them"
    python = interpreter()
    if not python:
        print(f"skipped: no python3 can {NEEDED}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as scratch:
        environment = dict(os.environ, PYTHONPATH=str(root / "python"), FURLONG=str(furlong), IPYTHONDIR=scratch,
                           JUPYTER_CONFIG_DIR=scratch, JUPYTER_RUNTIME_DIR=scratch)
        (Path(scratch) / "notebook.ipynb").write_text(page.read_text())
        done = subprocess.run([python, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "done.ipynb",
                               "--ExecutePreprocessor.timeout=300", "notebook.ipynb"], cwd=scratch, env=environment,
                              capture_output=True, text=True, timeout=500)
        if done.returncode != 0:
            print(done.stderr)
            return 1
        check(json.loads((Path(scratch) / "done.ipynb").read_text())["cells"], Path(scratch))
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
