"""Models in Python for Furlong, a federation framework for partially local models.

`Problem` describes a model and its clients in numpy or plain Python, `furlong.torch.Problem` in PyTorch. `run`, `sweep`,
`tune`, `compare` and `open` start the furlong command and read its run directories. ``python -m furlong.check FILE:CLASS`` tests a
problem. Importing this package needs numpy only; `furlong.torch` and `furlong.plot` import PyTorch and matplotlib.
"""

from .command import CommandError, Interrupted
from .problem import PARTS, Client, Problem, Score, Step
from .runs import Comparison, Run, Sweep, Tuning, compare, open, run, sweep, tune

__version__ = "0.1.0"
__all__ = ["Client", "CommandError", "Comparison", "Interrupted", "PARTS", "Problem", "Run", "Score", "Step", "Sweep", "Tuning",
           "compare", "open", "run", "sweep", "tune"]
