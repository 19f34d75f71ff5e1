"""The BLAS library of PyTorch."""
import os
import pathlib

import torch


def blas_in_use():
    """Rejects the slow reference implementation."""
    torch.ones(8, 8) @ torch.ones(8, 8)
    files = {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if "blas" in line}
    return sorted(os.path.basename(os.path.realpath(file)) for file in files)
