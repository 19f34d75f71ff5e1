"""Models in Python for Furlong, a federation framework for partially local models.

`Problem` describes a model and its clients in numpy or plain Python, `furlong.torch.Problem` in PyTorch. `partition`
divides a data set over clients, and `data` makes a problem's clients and batches of that. `run`, `sweep`, `tune`,
`compare`, `write_report` and `open` start the furlong command and read its run directories. ``python -m furlong.check FILE:CLASS``
tests a problem. Importing this package needs numpy only; `furlong.torch` and `furlong.plot` import PyTorch and
matplotlib.
"""

import sys


def _check_interpreter():
    """Says in one line what the interpreter lacks. Every version of Python must be able to compile this file."""
    lack = "is too old: it needs Python 3.9" if sys.version_info < (3, 9) else None
    if lack is None:
        try:
            import numpy  # noqa: F401
        except ImportError as error:
            lack = "cannot import numpy (%s): install numpy for it" % error
    if lack is None:
        return
    text = ("furlong: the interpreter %s (Python %d.%d) %s, or name another interpreter (python.interpreter in the "
            "scenario, or the environment variable FURLONG_PYTHON)")
    text %= (sys.executable,) + sys.version_info[:2] + (lack,)
    if sys.argv[:1] == ["-m"]:  # python -m furlong.trainer: no traceback
        sys.exit(text)
    error = ImportError(text)
    error.__cause__ = None
    error.__suppress_context__ = True
    raise error


_check_interpreter()

from . import data, partition  # noqa: E402
from .algorithm import Algorithm  # noqa: E402
from .arrays import Values  # noqa: E402
from .command import CommandError, Interrupted, Stop  # noqa: E402
from .groups import addressed, broadcast, kept, report, server, shared  # noqa: E402
from .options import option  # noqa: E402
from .phase import Phase  # noqa: E402
from .problem import PARTS, Client, Problem, Score, Step  # noqa: E402
from .results import Comparison, Run, Sweep, Tuning  # noqa: E402
from .runs import compare, open, run, sweep, tune, write_report  # noqa: E402
from .server_step import ServerStep  # noqa: E402
from .task import Task  # noqa: E402

__version__ = "0.1.0"
__all__ = ["Algorithm", "Client", "CommandError", "Comparison", "Interrupted", "PARTS", "Phase", "Problem", "Run",
           "Score", "ServerStep", "Step", "Stop", "Sweep", "Task", "Tuning", "Values", "addressed", "broadcast", "compare",
           "data", "kept", "open", "option", "partition", "report", "run", "server", "shared", "sweep", "tune",
           "write_report"]
