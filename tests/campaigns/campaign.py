"""What the campaigns share: the folders, the modules of tests/processes, and figures."""
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FURLONG_BUILD", ROOT / "build/release"))
sys.path.insert(0, str(ROOT / "tests/processes"))


def figure(case: str, metric: str, value: float, unit: str, bound: float | None = None) -> None:
    """Prints a JSON line as benchmarks do (bench/README.md); the script's name is `bench`."""
    print(json.dumps({"bench": Path(sys.argv[0]).stem, "case": case, "metric": metric, "value": value, "unit": unit,
                      "baseline": bound, "ratio": None if bound is None else round(bound / value, 2)}), flush=True)
