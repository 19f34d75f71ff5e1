#!/usr/bin/env python3
"""Makes the wheel of the Python package with the command, its libraries and their licences. The same inputs give the
same bytes.

    make_wheel.py COMMAND FOLDER [--root ROOT]

COMMAND is built on Debian 12, for this processor or, with the libraries of the ROOT that sysroot.py makes, for another.
The wheel's path is printed. Run it with Debian's interpreter, which has setuptools and wheel of known versions.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import bundle
import setuptools
from elf import ElfFile
from wheel.bdist_wheel import bdist_wheel

# Only the wheel has the command: a package from the sources would put a script into PATH that starts none.
SCRIPT = """
[project.scripts]
furlong = "furlong.command:main"
"""


def stage(command: Path, folder: Path, root: Path) -> None:
    """The sources of the wheel."""
    sources = bundle.ROOT / "python"
    package = folder / "furlong"
    shutil.copytree(sources / "furlong", package, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (package, *package.rglob("*")):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)  # whatever the checkout's umask was
    bundle.make(command, package, root)
    shutil.copyfile(bundle.ROOT / "LICENSE", folder / "LICENSE")
    os.chmod(folder / "LICENSE", 0o644)
    text = (sources / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(text + SCRIPT, encoding="utf-8")


def build(folder: Path, target: Path, machine: str) -> Path:
    class BinaryDistribution(setuptools.Distribution):
        def has_ext_modules(self) -> bool:
            return True

    class PlatformWheel(bdist_wheel):
        def get_tag(self) -> tuple[str, str, str]:
            return "py3", "none", f"manylinux_2_34_{machine}"

    os.environ["SOURCE_DATE_EPOCH"] = "315532800"  # 1980, the first time that an archive can hold
    os.chdir(folder)
    warnings.simplefilter("ignore")  # of setuptools, which would rather be called by pip
    with contextlib.redirect_stdout(sys.stderr):
        setuptools.setup(script_args=["--quiet", "bdist_wheel", "--dist-dir", str(target)],
                         cmdclass={"bdist_wheel": PlatformWheel}, distclass=BinaryDistribution)
    wheel, = target.glob(f"*_{machine}.whl")
    return wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--root", type=Path, default=Path("/"))
    options = parser.parse_args()
    target = options.folder.resolve()
    os.umask(0o022)
    machine = ElfFile(options.command).machine
    with tempfile.TemporaryDirectory() as scratch:
        stage(options.command, Path(scratch), options.root)
        print(build(Path(scratch), target, machine))
        os.chdir("/")


if __name__ == "__main__":
    main()
