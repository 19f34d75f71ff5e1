"""What the server and the aggregators of a federation receive and keep: the words of updates and partial sums from
recorded connections, tests of their uniformity, and a search for plain ones in the memory of processes.

Needs numpy, and root to read the memory of processes.
"""
import itertools
import re
import signal
from pathlib import Path

import numpy as np

# Numbers of Message's union, and of the pointers of its messages (wire/furlong.capnp).
UPDATE, PARTIAL, MASKED_UPDATE = 2, 3, 25
TASK, TENSORS, WORDS, VALUES, SUMS = 0, 2, 2, 0, 3

# The head of a frame: one segment, its words, a pointer to a struct of one word and one pointer, protocol 1.
FRAME = re.compile(rb"\0{4}(.{4})\0{4}\x01\0\x01\0\x01\0", re.DOTALL)


# ---- connections -----------------------------------------------------------------------------------------------------

class Struct:
    """A struct of Cap'n Proto: the words of its data, and its pointers."""

    def __init__(self, words: np.ndarray, begin: int, data: int, pointers: int):
        self.words, self.data = words, words[begin:begin + data]
        self.pointers = range(begin + data, begin + data + pointers)

    def at(self, number: int):
        return pointed_at(self.words, self.pointers[number])


def pointed_at(words: np.ndarray, at: int):
    """A struct, the bytes of Data, or the structs of a list."""
    pointer = int(words[at])
    offset = (pointer >> 2) & 0x3fffffff
    begin = at + 1 + (offset - (1 << 30) if offset >> 29 else offset)
    sizes = (pointer >> 32) & 0xffff, pointer >> 48
    if pointer & 3 == 0:
        return Struct(words, begin, *sizes)
    kind, count = (pointer >> 32) & 7, pointer >> 35
    if kind == 2:
        return words[begin:].tobytes()[:count]
    assert kind == 7, f"a list of kind {kind}"
    tag = int(words[begin])
    data, pointers = (tag >> 32) & 0xffff, tag >> 48
    return [Struct(words, begin + 1 + i * (data + pointers), data, pointers) for i in range((tag >> 2) & 0x3fffffff)]


def messages(stream: bytes):
    """(number in the union, content) of every whole frame. Between them are the heads of pieces, and heartbeats."""
    at = 0
    while head := FRAME.search(stream, at):
        at = head.start() + 8 * (int.from_bytes(head[1], "little") + 1)
        if at > len(stream):
            return
        words = np.frombuffer(bytes(stream[head.start() + 8:at]), "<u8")
        message = pointed_at(words, 0)
        yield (int(message.data[0]) >> 16) & 0xffff, message.at(0)


def masked_words(streams) -> list[np.ndarray]:
    """Of every masked update and partial sum."""
    return [np.frombuffer(content.at(WORDS if kind == MASKED_UPDATE else SUMS), "<u8") for stream in streams
            for kind, content in messages(stream) if kind in (MASKED_UPDATE, PARTIAL)]


def partial_sums(streams) -> dict[int, list[np.ndarray]]:
    found: dict[int, list[np.ndarray]] = {}
    for stream in streams:
        for kind, content in messages(stream):
            if kind == PARTIAL:
                found.setdefault(int(content.data[1]), []).append(np.frombuffer(content.at(SUMS), "<i8"))
    return found


def updates(streams) -> dict[int, list[list[np.ndarray]]]:
    """By version and connection: the values of updates, all tensors in their order."""
    found: dict[int, list[list[np.ndarray]]] = {}
    for number, stream in enumerate(streams):
        for kind, content in messages(stream):
            if kind != UPDATE:
                continue
            of = found.setdefault(int(content.at(TASK).data[1]), [[] for _ in streams])
            of[number].append(np.frombuffer(b"".join(one.at(VALUES) for one in content.at(TENSORS)), "<f4"))
    return found


# ---- uniformity ------------------------------------------------------------------------------------------------------

def deviation(cells: np.ndarray) -> float:
    """Pearson's chi-square against equal frequencies, as a standard normal value (Wilson and Hilferty 1931)."""
    expected, freedom = cells.sum() / cells.size, cells.size - 1
    square = float(((cells - expected) ** 2 / expected).sum())
    return ((square / freedom) ** (1 / 3) - 1 + 2 / (9 * freedom)) / (2 / (9 * freedom)) ** 0.5


def worst_deviation(words: np.ndarray) -> float:
    """The largest of: each of the 8 bytes of a word, all bytes, pairs of adjacent bytes."""
    octets = words.view(np.uint8)
    tests = [np.bincount(octets[i::8], minlength=256) for i in range(8)]
    tests += [np.bincount(octets, minlength=256), np.bincount(octets.view(np.uint16), minlength=1 << 16)]
    return max(deviation(cells) for cells in tests)


# ---- memory ----------------------------------------------------------------------------------------------------------

def memory(process: int):
    """What a stopped process may write to, in parts."""
    with open(f"/proc/{process}/mem", "rb", buffering=0) as content:
        for line in Path(f"/proc/{process}/maps").read_text().splitlines():
            place, rights = line.split()[:2]
            if not rights.startswith("rw"):
                continue
            begin, end = (int(number, 16) for number in place.split("-"))
            content.seek(begin)
            yield content.read(end - begin)


def memory_of(processes) -> list[bytes]:
    """Of processes that run: they are stopped for it."""
    for one in processes:
        one.signal(signal.SIGSTOP)
    found = [b"".join(memory(one.process.pid)) for one in processes]
    for one in processes:
        one.signal(signal.SIGCONT)
    return found


def pairs(words: np.ndarray) -> np.ndarray:
    """A hash of each two neighbours that are not the same and no small integers, which are everywhere."""
    first, second = words[:-1], words[1:]
    mixed = second * np.uint64(0xff51afd7ed558ccd)
    hashes = first * np.uint64(0x9e3779b97f4a7c15) ^ (mixed >> np.uint64(31) | mixed << np.uint64(33))
    small = np.uint64(1 << 24)
    large = words + small > 2 * small  # a negative number wraps
    return hashes[large[:-1] & large[1:] & (first != second)]


class PlainValues:
    """Finds updates, and sums of the updates of some nodes, in memory: as float32 and as words of exact sums. The sums
    of whole rounds are left out: the server opens them, with rows that one client alone has changed."""
    BITS = 26

    def __init__(self, of_updates: dict, of_partials: dict):
        self.scale = self._scale(of_updates, of_partials)
        targets, opened = [], []
        for by_node in of_updates.values():
            sums = [sum(map(self.words, of_node)) for of_node in by_node if of_node]
            targets += [pairs(values[i:values.size // 2 * 2 - i].view(np.uint64))
                        for of_node in by_node for values in of_node for i in (0, 1)]
            targets += [pairs(self.words(values).view(np.uint64)) for of_node in by_node for values in of_node]
            targets += [pairs(sum(some).view(np.uint64)) for count in range(1, len(sums))
                        for some in itertools.combinations(sums, count)]
            opened.append(pairs(sum(sums).view(np.uint64)))
        self.targets = np.setdiff1d(np.concatenate(targets), np.concatenate(opened))
        self.filter = np.zeros(1 << self.BITS, bool)
        self.filter[self.targets >> np.uint64(64 - self.BITS)] = True

    @staticmethod
    def _scale(of_updates: dict, of_partials: dict) -> float:
        """Units of words in 1, a power of two: the partial sums of a version add up to its updates."""
        version = next(iter(of_partials))
        values = sum(one.astype(float) for of_node in of_updates[version] for one in of_node)
        words = sum(one[:values.size] for one in of_partials[version])
        largest = np.argmax(np.abs(values))
        return 2.0 ** round(np.log2(words[largest] / values[largest]))

    def words(self, values: np.ndarray) -> np.ndarray:
        return np.rint(values.astype(float) * self.scale).astype(np.int64)

    def count(self, content: bytes) -> int:
        """How many places of a process's memory or of a file hold two words in a row of what is looked for."""
        found = 0
        for offset in range(min(8, len(content))):
            words = np.frombuffer(content, "<u8", count=(len(content) - offset) // 8, offset=offset)
            hashes = pairs(words)
            hashes = hashes[self.filter[hashes >> np.uint64(64 - self.BITS)]]
            at = np.minimum(np.searchsorted(self.targets, hashes), self.targets.size - 1)
            found += int((self.targets[at] == hashes).sum())
        return found
