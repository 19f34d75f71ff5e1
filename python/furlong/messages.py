"""The form of the messages between the furlong command and a trainer (docs/trainer-protocol.md)."""

from __future__ import annotations

import json
import struct
from typing import Any

from .errors import ProblemError

PROTOCOL = 2
OPEN, INITIAL, GRADIENT, EVALUATE, PREDICT, CONSTANTS, FIT = range(1, 8)
TRAIN, PERSONALIZE, SERVER_STEP, COSTS, LABELS, ERROR = 8, 9, 10, 12, 13, 255

HEAD = struct.Struct("<II")
OFFSET = struct.Struct("<Q")
#: Offset of the constants, and whether they are there.
CONSTANTS_AT = struct.Struct("<QI")
#: Seed, round, number of parameters, number of groups, dropout.
STEP = struct.Struct("<QIIII")
#: The end of STEP in a message.
OFFSETS = HEAD.size + STEP.size
GROUP = struct.Struct("<III")
LOSS = struct.Struct("<IId")
#: Seed, round, number of parameters, number of terms, client, part, examples of an order, examples, bytes of settings.
FIT_HEAD = struct.Struct("<Q8I")
#: Factor and form of a term.
TERM = struct.Struct("<fI")
#: Sum of losses, examples, steps, sum of learning rates.
FITTED = struct.Struct("<dQQd")
#: Seed, round, number of parameters, number of tensors of groups, client, part, examples of an order, examples, bytes of
#: settings.
TRAIN_HEAD = struct.Struct("<Q8I")
#: After it, in a personalization: flags, what is asked, number of asked examples.
ASKED_HEAD = struct.Struct("<3I")
#: Of a step of the server: seed, round, number of arrays, bytes of settings.
STEP_HEAD = struct.Struct("<Q3I")
#: Sum of losses, weight, examples.
TRAINED = struct.Struct("<dQQ")

_LONGEST = 1 << 30


def message(kind: int, body: bytes) -> bytes:
    """A message with its head. Raises ProblemError if it is longer than the command takes."""
    if 4 + len(body) > _LONGEST:
        raise ProblemError(f"a reply of {len(body) >> 20} MiB is too long, the most are {_LONGEST >> 20} MiB",
                           "return less for each example")
    return HEAD.pack(4 + len(body), kind) + body


def to_json(value: Any) -> bytes:
    """JSON of a value that may have numpy's and PyTorch's scalars and arrays. Raises TypeError and ValueError."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False,
                      default=_plain).encode()


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")
