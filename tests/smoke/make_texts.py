#!/usr/bin/env python3
"""Writes a stand-in for the texts that scenarios read: small, generated, the same every time.

usage: make_texts.py FOLDER

Makes FOLDER/ptb, FOLDER/wikitext-2 and FOLDER/furl-openstack in the layout of the real data, for smoke tests on machines
without these. The stand-in of PTB has as many word types as PTB, so that a model that learned nothing has the same
perplexity on both.
"""
import random
import sys
from pathlib import Path

PTB_TYPES = 9998  # and start, end and unknown: 10,001
FREQUENT = 200


def sentence(stream: random.Random, least: int, most: int, topic: int = 0) -> list[str]:
    """Words of a power law, those of a topic in an order of their own."""
    length = stream.randint(least, most)
    return [f"w{(int(FREQUENT ** stream.random()) - 1 + 17 * topic) % FREQUENT}" for _ in range(length)]


def write_ptb(folder: Path, stream: random.Random) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rare = [f"r{i}" for i in range(PTB_TYPES - FREQUENT)] + [f"w{i}" for i in range(FREQUENT)]
    for part, lines in (("train", 2500), ("valid", 300), ("test", 300)):
        with open(folder / f"ptb.{part}.txt", "w", encoding="utf-8") as out:
            for _ in range(lines):
                words = sentence(stream, 4, 20) + ["<unk>"]
                if part == "train":  # every type occurs
                    words, rare = words + rare[:4], rare[4:]
                out.write(" " + " ".join(words) + " \n")
    if rare:
        raise ValueError("some words never occur")


def write_wikitext(folder: Path, stream: random.Random) -> None:
    """Paragraphs of several sentences below headings. More word types than wikitext-reduced keeps."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, lines in (("train", 1200), ("valid", 100), ("test", 100)):
        with open(folder / f"{part}.txt", "w", encoding="utf-8") as out:
            for line in range(lines):
                if line % 10 == 0:
                    out.write(f" \n = w{line % FREQUENT} = \n \n")
                sentences = [" ".join([*sentence(stream, 4, 20), f"r{3 * line + i}", "."]) for i in range(3)]
                out.write(" " + " ".join(sentences) + " \n")


def write_openstack(folder: Path, stream: random.Random) -> None:
    """Users who write about two projects each; what is frequent depends on the project."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "data.tsv", "w", encoding="utf-8") as out:
        out.write("user\tclass\ttext\n")
        for user in range(60):
            for text in range(50):
                project = (user + text % 2) % 12
                words = sentence(stream, 3, 10, project) + [f"own{user}x{stream.randint(0, 3)}"]
                out.write(f"{user}\t{2 * project}\t{' '.join(words)}\n")  # 22 is what the binary ones call positive


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    write_ptb(folder / "ptb", random.Random(1))
    write_wikitext(folder / "wikitext-2", random.Random(3))
    write_openstack(folder / "furl-openstack", random.Random(2))


if __name__ == "__main__":
    main()
