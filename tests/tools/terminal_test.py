#!/usr/bin/env python3
"""What a run shows while it is under way: on a terminal a line with a curve, in a file none.

usage: terminal_test.py FURLONG
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

SCENARIO = """
[scenario]
name = "shown"
rounds = 6000
[data]
source = "synthetic-texts"
task = "next-word"
users = 20
[model]
kind = "gru-lm"
embedding = 8
hidden = 8
[algorithm]
kind = "fedavg"
client = {lr = 0.5, batch_size = 4}
[participation]
per_round = 4
[evaluation]
every = 1
target = {metric = "seen.accuracy", at_least = 2}
"""


def on_terminal(words, folder, locale):
    """What the command wrote to a terminal of 200 columns, until it had drawn a curve; it is then stopped."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs, env=dict(os.environ, LC_ALL=locale))
    os.close(theirs)
    text = b""
    while True:
        try:
            text += os.read(ours, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if process.poll() is None and re.search(rb"left  seen.accuracy [0-9.]+  \S{2,}", text):
            process.terminate()
    process.wait()
    os.close(ours)
    return text.decode()


def main():
    furlong = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="furlong-terminal-") as folder:
        (Path(folder) / "shown.toml").write_text(SCENARIO, encoding="utf-8")
        words = [furlong, "run", "shown.toml", "--out"]
        found = r"data: 20 clients \(20 to train;.* words \([0-9.]+ % of the tokens unknown\), 1000 examples \(.*\)"
        bars = on_terminal([*words, "bars"], folder, "C.UTF-8")
        assert re.match(found, bars), bars[:300]
        assert re.search(r"\] round \d+/6000 .* left  seen\.accuracy [0-9.]+  [\u2581-\u2588]{2,16}", bars), bars[-300:]
        digits = on_terminal([*words, "digits"], folder, "C")
        assert re.search(r" left  seen\.accuracy [0-9.]+  [0-7]{2,16}", digits) and digits.isascii(), digits[-300:]
        quiet = subprocess.run([*words, "quiet", "--set", "scenario.rounds=3"], cwd=folder, capture_output=True, text=True,
                               check=False, env=dict(os.environ, LC_ALL="C.UTF-8"))
        assert quiet.returncode == 0 and re.match(found, quiet.stderr), quiet.stderr
        assert "\r" not in quiet.stderr and quiet.stderr.isascii(), quiet.stderr
    return 0


if __name__ == "__main__":
    sys.exit(main())
