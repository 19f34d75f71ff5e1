"""The process of a trainer: it ends with the command, and shows who ends it."""

from __future__ import annotations

import ctypes
import faulthandler
import fcntl
import os
import resource
import select
import signal
import socket
import time
from typing import Callable, NoReturn

#: Seconds from the end of the connection to the end of the process, also if the user's code is busy.
_GRACE = 2.0


def take_connection(descriptor: int) -> socket.socket:
    """The socket at a descriptor, moved to a high one, where code that closes and writes to small numbers does not find
    it; the descriptor becomes that of /dev/null. Raises OSError."""
    high = copy_of(descriptor)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, descriptor, inheritable=False)
    os.close(nothing)
    return socket.socket(fileno=high)


def copy_of(descriptor: int) -> int:
    """A descriptor of the same file with a high number. Raises OSError."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, min(1000, most - 8) if most > 16 else 5)


def release_memory() -> None:
    """Returns to the system what was freed, small blocks too. Does nothing without the GNU C library."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def end_with(control: socket.socket) -> None:
    """Ends the process and its children soon after the connection has ended, whatever the user's code does."""
    poll = select.poll()
    poll.register(control.fileno(), 0)  # reports the end only
    poll.poll()
    time.sleep(_GRACE)
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def shown(leave: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """os._exit, which in this process, though not in its children, first shows who calls it."""
    trainer = os.getpid()

    def shown(status: int) -> NoReturn:
        if os.getpid() == trainer:
            faulthandler.dump_traceback(all_threads=False)
        leave(status)

    return shown
