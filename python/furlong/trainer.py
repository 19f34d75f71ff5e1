"""The trainer process: answers the requests of the furlong command for one problem (docs/trainer-protocol.md).

Started by the command as ``python -m furlong.trainer``, with the control socket at descriptor 3 and the memory file at
descriptor 4.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading

from . import process
from .memory import Memory
from .serving import Trainer

CONTROL, MEMORY = 3, 4


def main() -> None:
    """Serves the connection at descriptor 3 until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command decides when a trainer ends
    sys.stdin = open(os.devnull)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    try:
        control = process.take_connection(CONTROL)
        memory = Memory(MEMORY)
    except OSError:
        sys.exit("furlong.trainer is started by the furlong command, with a socket and a memory file; "
                 "to test a problem: python -m furlong.check FILE.py:CLASS")
    os.set_inheritable(MEMORY, False)
    threading.Thread(target=process.end_with, args=(control,), daemon=True).start()
    trainer = Trainer(control, memory)
    signal.signal(signal.SIGUSR1, trainer.interrupt)
    faulthandler.register(signal.SIGUSR1, chain=True)  # also shows where code in C is
    faulthandler.enable()
    os._exit = process.shown(os._exit)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    try:
        trainer.serve()
        trainer.write_profile()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the command has ended
    except OSError as error:
        sys.exit(f"the trainer cannot go on: {error}; a problem must not close descriptors that it has not opened")


if __name__ == "__main__":
    main()
