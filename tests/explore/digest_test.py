"""explore --digest writes the same line for a world whenever it is played, and another line for another world."""
import subprocess
import sys
import tempfile
from pathlib import Path


def lines(explore, folder, seed, worlds):
    file = Path(folder, "digests")
    subprocess.run([explore, "0", "--seed", str(seed), "--worlds", str(worlds), "--digest", str(file)], check=True,
                   capture_output=True, timeout=120)
    return file.read_text().splitlines()


def main(explore):
    with tempfile.TemporaryDirectory() as folder:
        first = lines(explore, folder, 1, 24)
        assert lines(explore, folder, 9, 16) == first[8:], "a world's digest depends on those before it"
    words = [line.split() for line in first]
    assert [row[0] for row in words] == [str(seed) for seed in range(1, 25)], words
    assert all(len(row) in (2, 3) and all(len(hash) == 64 for hash in row[1:]) for row in words), words
    assert len({row[1] for row in words}) == len(words), "two worlds have the same digest"
    assert {len(row) for row in words} == {2, 3}, "some worlds are promised to end as if undisturbed, others not"
    nowhere = subprocess.run([explore, "0", "--worlds", "1", "--digest", "/nowhere/digests"], capture_output=True,
                             text=True, timeout=60)
    assert nowhere.returncode == 2 and "/nowhere/digests: cannot be written" in nowhere.stderr, nowhere


main(sys.argv[1])
