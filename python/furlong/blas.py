"""The threads of the BLAS libraries of this process: trainers have an environment for them, which a process that runs
cannot change."""

from __future__ import annotations

import ctypes
from typing import Dict, Mapping, Union

#: Functions that get and set the number, by a part of the library's name.
_FUNCTIONS = (("openblas", "openblas_get_num_threads", "openblas_set_num_threads"),
              ("openblas", "openblas_get_num_threads64_", "openblas_set_num_threads64_"),
              ("openblas", "scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
              ("openblas", "scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
              ("mkl_rt", "MKL_Get_Max_Threads", "MKL_Set_Num_Threads"))


def threads() -> Dict[str, int]:
    """How many each loaded OpenBLAS and MKL uses, by the path of the library."""
    found = {}
    for path in _libraries():
        library = ctypes.CDLL(path)
        for part, get, _ in _FUNCTIONS:
            if part in path and hasattr(library, get):
                found[path] = int(getattr(library, get)())
    return found


def limit(number: Union[int, Mapping[str, int]]) -> None:
    """Sets it, for all or by the path of the library."""
    for path in _libraries():
        wanted = number if isinstance(number, int) else number.get(path)
        library = ctypes.CDLL(path)
        for part, _, put in _FUNCTIONS:
            if wanted is not None and part in path and hasattr(library, put):
                getattr(library, put)(ctypes.c_int(wanted))


def _libraries() -> Dict[str, None]:
    """Paths, in the order of the first."""
    try:
        with open("/proc/self/maps") as maps:
            paths = (line.split(None, 5)[-1].strip() for line in maps)
            return {path: None for path in paths if path.startswith("/") and any(part in path for part, _, _ in _FUNCTIONS)}
    except OSError:
        return {}
