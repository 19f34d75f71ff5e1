#!/usr/bin/env python3
"""The private store at 100,000 clients in both layouts: bench_store --case 100k. Separate from `store`, because it needs 4 GB."""
import os
import subprocess
import sys
from pathlib import Path

BUILD = Path(os.environ.get("FURLONG_BUILD", Path(__file__).resolve().parent.parent / "build/release"))

if __name__ == "__main__":
    sys.exit(subprocess.run([BUILD / "bench/bench_store", "--case", "100k"], check=False).returncode)
