"""The command with the libraries that it needs, as a folder that runs on other distributions.

The folder has `_bin/furlong`, `_lib/` and `_licences/`. It is of one of two kinds: one that uses the C and C++ libraries
and the loader of the system, which must have at least the versions of LIMITS, or one that uses nothing of a system, but
runs in one place only, because a program names the path of its loader.
"""
from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from elf import ElfFile

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = re.compile(r"(libc|libm|libpthread|libdl|librt|libstdc\+\+|libgcc_s|ld-linux-[\w-]+)\.so\.[0-9]+")
# Of RHEL 9, Amazon Linux 2023, Ubuntu 22.04 and all later ones (the platform manylinux_2_34).
LIMITS = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}
# GCC 12 gave this function a second version, of equal contract. All later libraries have the first one as well.
RENAMED = {"GLIBCXX_3.4.30": ("GLIBCXX_3.4.11", {"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"})}


def make(command: Path, folder: Path, root: Path, place: str = "") -> None:
    """Fills an empty folder; with a place, one that runs there without a system. `root` has the libraries: / or that of
    sysroot.py.

    Exits with a message where a version is above LIMITS: the command was built on a later system than Debian 12."""
    machine = ElfFile(command).machine
    found = libraries(command, root / "usr/lib" / f"{machine}-linux-gnu", bool(place))
    target = folder / "_bin" / "furlong"
    target.parent.mkdir()
    subprocess.run([f"{machine}-linux-gnu-strip", "-o", target, command], check=True)
    # An RPATH, which other than a RUNPATH holds for what the libraries need as well.
    paths = ["--force-rpath", "--set-rpath", "$ORIGIN/../_lib"]
    if place:
        loader = next(name for name in found if name.startswith("ld-linux-"))
        paths += ["--set-interpreter", f"{place}/_lib/{loader}"]
    subprocess.run(["patchelf", *paths, target], check=True)
    (folder / "_lib").mkdir()
    copies = {target: target, **{path: folder / "_lib" / name for name, path in found.items()}}
    for source, copy in copies.items():
        if not place:
            _lower(source, copy)
        elif source != copy:
            shutil.copyfile(source, copy)
        os.chmod(copy, 0o755)
    _write_licences(folder / "_licences", found)


def libraries(command: Path, folder: Path, all_of_them: bool) -> dict[str, Path]:
    """Name -> file of what the command needs, directly or not, without or with the system's."""
    found: dict[str, Path] = {}
    waiting = [command]
    while waiting:
        for name in ElfFile(waiting.pop()).dynamic("NEEDED"):
            if name not in found and (all_of_them or not SYSTEM.fullmatch(name)):
                found[name] = folder / name
                waiting.append(found[name])
    return found


def _lower(source: Path, target: Path) -> None:
    """Copies a file, with versions lowered as RENAMED says."""
    file = ElfFile(source)
    for version in file.versions():
        name, symbols = RENAMED.get(version.name, ("", set()))
        if name and symbols.issuperset(file.symbols(version)):
            file.rename(version, name)
        elif above_limit(version.name):
            raise SystemExit(f"{source.name} needs {', '.join(file.symbols(version))} of {version.name}, which is above "
                             "the limit of tools/ship/bundle.py; build on Debian 12")
    file.write(target)


def above_limit(version: str) -> bool:
    """Whether a version of the system's libraries is above LIMITS; those of other libraries are not."""
    family, _, number = version.partition("_")
    if family not in LIMITS:
        return False
    return not re.fullmatch(r"[0-9.]+", number) or tuple(map(int, number.split("."))) > LIMITS[family]


def _write_licences(folder: Path, found: dict[str, Path]) -> None:
    """The copyright files of all packages whose code is in the folder, and the licences to which they refer. They are
    read from this system, whose packages are of the same versions as those of another processor."""
    folder.mkdir()
    written: set[str] = set()
    common: set[str] = set()
    for package in sorted(owners(found).union(header_packages())):
        text = Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8", errors="replace")
        common.update(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text))
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest not in written:  # packages of one source have equal files
            written.add(digest)
            (folder / package).write_text(text, encoding="utf-8")
    for name in common:
        shutil.copyfile(Path("/usr/share/common-licenses", name), folder / name)
    shutil.copyfile(ROOT / "LICENSE", folder / "furlong")
    for file in folder.iterdir():
        os.chmod(file, 0o644)


def owners(found: dict[str, Path]) -> set[str]:
    """The packages of these libraries on this system. Some list a file of /usr/lib as one of /lib."""
    names = {name for name in found if not name.startswith("ld-linux-")}  # of libc.so.6's package
    paths = [f"{top}/{os.uname().machine}-linux-gnu/{name}" for name in names for top in ("/usr/lib", "/lib")]
    told = subprocess.run(["dpkg-query", "-S", *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    packages = {line.rpartition("/")[2]: line.partition(":")[0] for line in told.splitlines()}
    if missing := sorted(names - packages.keys()):
        raise SystemExit(f"no package of this system has {', '.join(missing)}, whose licences must be packed")
    return set(packages.values())


def header_packages() -> list[str]:
    """Those of the group [build] whose headers or scripts are compiled into the command, beside the libraries."""
    text = (ROOT / "tools/packages.txt").read_text(encoding="utf-8")
    group = text.split("[build]\n")[1].split("\n[")[0].split()
    return [name for name in group if name.startswith(("lib", "nlohmann")) and name != "libboost-test-dev"]
