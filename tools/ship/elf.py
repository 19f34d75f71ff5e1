"""Reads and edits what a program or shared library needs of others: their names, and versions of their symbols.

The format is that of 64-bit little-endian ELF with GNU symbol versions (System V ABI; Linux Standard Base, "Symbol
Versioning").
"""
from __future__ import annotations

import dataclasses
import struct
from pathlib import Path
from typing import Iterator

_DYNAMIC, _SYMBOLS, _NEEDED_VERSIONS, _SYMBOL_VERSIONS = 6, 11, 0x6FFFFFFE, 0x6FFFFFFF  # types of sections
_TAGS = {"NEEDED": 1, "RPATH": 15, "RUNPATH": 29}  # of entries of the dynamic section
_MACHINES = {62: "x86_64", 183: "aarch64"}


@dataclasses.dataclass
class Version:
    """A version of symbols that a library must have."""
    library: str
    name: str       # such as GLIBC_2.34
    index: int      # by which the file's symbols refer to it
    _entry: int     # offsets in the file: of the entry,
    _text: int      # of the name


class ElfFile:
    """A file in memory."""

    def __init__(self, path: Path) -> None:
        self._data = bytearray(path.read_bytes())
        if self._data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is not a 64-bit little-endian ELF file")
        first, = struct.unpack_from("<Q", self._data, 40)
        count, = struct.unpack_from("<H", self._data, 60)
        self._sections = [struct.unpack_from("<IIQQQQIIQQ", self._data, first + 64 * i) for i in range(count)]

    @property
    def machine(self) -> str:
        """As `uname -m` names it."""
        number, = struct.unpack_from("<H", self._data, 18)
        return _MACHINES.get(number, f"machine {number}")

    def dynamic(self, tag: str) -> list[str]:
        """The texts of the entries NEEDED, RPATH or RUNPATH."""
        found = []
        for at, texts in self._entries(_DYNAMIC, 16):
            kind, value = struct.unpack_from("<qQ", self._data, at)
            if kind == _TAGS[tag]:
                found.append(self._text(texts + value))
        return found

    def versions(self) -> list[Version]:
        found = []
        for section in self._of_type(_NEEDED_VERSIONS):
            texts = self._sections[section[6]][4]
            at = section[4]
            for _ in range(section[7]):
                _, count, file, first, following = struct.unpack_from("<HHIII", self._data, at)
                entry = at + first
                for _ in range(count):
                    _, _, index, name, step = struct.unpack_from("<IHHII", self._data, entry)
                    found.append(Version(self._text(texts + file), self._text(texts + name), index, entry, texts + name))
                    entry += step
                at += following
        return found

    def symbols(self, version: Version) -> list[str]:
        """The symbols that the file takes of a version."""
        indices = [struct.unpack_from("<H", self._data, at)[0] & 0x7FFF for at, _ in self._entries(_SYMBOL_VERSIONS, 2)]
        symbols = [(at, texts) for at, texts in self._entries(_SYMBOLS, 24)]
        return [self._text(texts + struct.unpack_from("<I", self._data, at)[0])
                for (at, texts), index in zip(symbols, indices) if index == version.index]

    def rename(self, version: Version, name: str) -> None:
        """Takes the symbols of a version from another one of the same library, with a name of the same length."""
        if len(name) != len(version.name):
            raise ValueError(f"{version.name} and {name} differ in length")
        self._data[version._text:version._text + len(name)] = name.encode()
        struct.pack_into("<I", self._data, version._entry, _hash(name))

    def write(self, path: Path) -> None:
        path.write_bytes(self._data)

    def _of_type(self, kind: int) -> Iterator[tuple[int, ...]]:
        return (section for section in self._sections if section[1] == kind)

    def _entries(self, kind: int, size: int) -> Iterator[tuple[int, int]]:
        """Offsets of a section's entries, each with that of the section's texts."""
        for section in self._of_type(kind):
            for at in range(section[4], section[4] + section[5], size):
                yield at, self._sections[section[6]][4]

    def _text(self, at: int) -> str:
        return self._data[at:self._data.index(0, at)].decode()


def _hash(name: str) -> int:
    """The hash of the System V ABI."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high
    return value
