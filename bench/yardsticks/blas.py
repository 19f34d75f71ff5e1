"""The BLAS library that numpy or PyTorch has loaded, and the kernels that it has chosen."""
import ctypes
import pathlib


def blas_in_use():
    """For example ["libopenblasp-r0.3.21.so: SkylakeX"]. Call it after a product: libraries are loaded when used."""
    files = {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if "blas" in line}
    names = {described(pathlib.Path(file).resolve()) for file in files}
    # Debian's libblas of OpenBLAS is a layer above libopenblas.
    return sorted(name for name in names if "openblas" in name) or sorted(names)


def described(file):
    try:
        name = ctypes.CDLL(file).openblas_get_corename
    except (AttributeError, OSError):
        return file.name
    name.restype = ctypes.c_char_p
    return f"{file.name}: {name().decode()}"
