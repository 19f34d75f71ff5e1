"""Writes scenarios as TOML."""

from __future__ import annotations

import json
import re
from typing import Any, List, Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def literal(value: Any) -> str:
    """A value in TOML, on one line. Raises TypeError."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return literal(value.item())
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if any(c in text for c in ".en") else text + ".0"
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        # JSON's escapes are TOML's, but for characters outside of the basic plane, which are kept, and DEL.
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    raise TypeError(f"{value!r} ({type(value).__name__}) has no form in TOML; use a number, string, list or dict")


def document(scenario: Mapping[str, Any]) -> str:
    """A scenario of nested dicts as a TOML document. Lists of dicts become arrays of tables. Raises TypeError."""
    lines: List[str] = []
    _table(scenario, (), lines)
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(table: Mapping[str, Any], path: tuple, lines: List[str]) -> None:
    below = {}
    for key, value in table.items():
        if isinstance(value, Mapping) or (isinstance(value, (list, tuple)) and value
                                          and all(isinstance(entry, Mapping) for entry in value)):
            below[key] = value
        else:
            lines.append(f"{_key(key)} = {literal(value)}")
    for key, value in below.items():
        name = ".".join(_key(part) for part in (*path, key))
        if isinstance(value, Mapping):
            lines += ["", f"[{name}]"]
            _table(value, (*path, key), lines)
        else:
            for entry in value:
                lines += ["", f"[[{name}]]"]
                _table(entry, (*path, key), lines)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is no string")
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)
