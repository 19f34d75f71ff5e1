#!/usr/bin/env python3
"""Makes the wheel with the command, looks at what is in it, and uses it as its users do.

usage: wheel_test.py COMMAND             makes the wheel of this command twice, checks and installs it
       wheel_test.py --installed WHEEL   only installs it and uses it; needs Debian's or Ubuntu's python3-pip and -numpy
       wheel_test.py --emulated WHEEL EMULATOR   one of another processor: checks it, and runs only its command

Checked are: equal bytes; the size; the files; which libraries and versions the programs in it need; then in a virtual
environment without network: the version, the exit code, a scenario's expectations, the hashes of portable runs, a class
in Python, started by the script and by the package. Exit code 3 where no wheel is made: elsewhere than on Debian 12, or
without the group [ship].
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
LOGISTIC = ROOT / "python/examples/logistic.toml"
SIZE = 16_000_000
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2",
          "ld-linux-aarch64.so.1"}
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}
EXPECTED = {"furlong/_bin/furlong", "furlong/_lib/librocksdb.so.7.8", "furlong/_lib/libcrypto.so.3",
            "furlong/_licences/librocksdb-dev", "furlong/_licences/libssl-dev", "furlong/_licences/libeigen3-dev",
            "furlong/_licences/Apache-2.0", "furlong/__init__.py", "furlong/trainer.py", "furlong/py.typed"}


def run(*words, code=0, timeout=300, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout, **more)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stdout[-500:]}{done.stderr[-1500:]}")
    return done.stdout


def check_system():
    release = Path("/etc/os-release")
    if not release.exists() or "VERSION_CODENAME=bookworm" not in release.read_text():
        print("skipped: the wheel is made on Debian 12")
        sys.exit(3)
    known = subprocess.run(["dpkg-query", "-W", "patchelf", "python3-setuptools", "python3-wheel", "python3-pip"],
                           capture_output=True)
    if known.returncode != 0:
        print("skipped: needs ./dev install-packages ship")
        sys.exit(3)


def make(command, scratch):
    """Two at the same time, one with files that only their owner may read."""
    builds = [subprocess.Popen([PYTHON, ROOT / "tools/ship/make_wheel.py", command, scratch / name],
                               stdout=subprocess.PIPE, text=True, umask=mask)
              for name, mask in (("first", 0o022), ("second", 0o077))]
    told = [build.communicate(timeout=300)[0].strip() for build in builds]
    if any(build.returncode != 0 for build in builds):
        sys.exit("make_wheel.py failed")
    first, second = (Path(line).read_bytes() for line in told)
    if first != second:
        sys.exit("the same command gave two different wheels")
    if len(first) > SIZE:
        sys.exit(f"the wheel has {len(first)} bytes")
    return Path(told[0])


def check_files(wheel, scratch):
    """Unpacks it."""
    archive = zipfile.ZipFile(wheel)
    names = set(archive.namelist())
    wrong = [name for name in names if not re.fullmatch(r"furlong/(\w+\.py|py\.typed|_bin/furlong|_lib/lib[\w.-]+|"
                                                        r"_licences/[\w.-]+)|furlong-[^/]+\.dist-info/[\w.]+", name)]
    if wrong or not EXPECTED <= names:
        sys.exit(f"not the wheel's: {wrong}; missing: {EXPECTED - names}")
    for entry in archive.infolist():
        mode = entry.external_attr >> 16 & 0o777
        program = entry.filename.startswith(("furlong/_bin/", "furlong/_lib/"))
        if mode != (0o755 if program else 0o644) and "dist-info" not in entry.filename:
            sys.exit(f"{entry.filename} has mode {mode:o}")
    archive.extractall(scratch)
    return scratch / "furlong"


def check_needs(package):
    """All that a program or library needs is in the wheel, or on every system of the wheel's platform."""
    libraries = {path.name for path in (package / "_lib").iterdir()}
    used = set()
    for path in (package / "_bin/furlong", *(package / "_lib").iterdir()):
        dynamic = run("readelf", "-d", path)
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
        if unknown := needed - libraries - SYSTEM:
            sys.exit(f"{path.name} needs {unknown}")
        used |= needed
        # A RUNPATH of a library would end the search of its libraries in the command's RPATH.
        paths = re.findall(r"\((RPATH|RUNPATH)\).*\[(.+)\]", dynamic)
        if paths != ([("RPATH", "$ORIGIN/../_lib")] if path.name == "furlong" else []):
            sys.exit(f"{path.name} looks for libraries in {paths}")
        for family, number in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_(\S+)", run("readelf", "-V", "-W", path)):
            if tuple(map(int, number.split("."))) > NEWEST[family]:
                sys.exit(f"{path.name} needs {family}_{number}")
    if unused := libraries - used:
        sys.exit(f"nothing needs {unused}")


def use(wheel, scratch):
    """Installs the wheel and runs the command by its script, as after `activate`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("FURLONG", "PYTHON", "VIRTUAL"))}
    environment["PATH"] = f"{scratch / 'venv/bin'}:/usr/bin:/bin"
    own = {"cwd": scratch, "env": environment}
    run(PYTHON, "-m", "venv", "--without-pip", "--system-site-packages", "venv", **own)  # with the system's pip
    run("venv/bin/python", "-m", "pip", "install", "--no-index", "--disable-pip-version-check", wheel, **own)
    command = scratch / "venv/bin/furlong"
    version = run(command, "--version", **own).split()[1]
    if f"-{version}-" not in wheel.name:
        sys.exit(f"{wheel.name} has the command {version}")
    run(command, "run", "absent.toml", code=2, **own)
    run(command, "test", "--smoke", ROOT / "scenarios/federation.toml", **own)
    print(run(PYTHON, ROOT / "tests/oracles/check.py", command, "--portable", "-k", "quickstart", **own).strip())
    # A checkout around the environment is not that of this command.
    (scratch / "python/furlong").mkdir(parents=True)
    (scratch / "python/furlong/trainer.py").write_text("raise SystemExit('not the trainer of the wheel')")
    (scratch / "python/furlong/__init__.py").touch()
    run(command, "run", LOGISTIC, "--out", "script", **own)
    run("venv/bin/python", "-c", f"import furlong; furlong.run({str(LOGISTIC)!r}, out='package')", **own)
    hashes = {json.loads((scratch / name / "summary.json").read_text())["model_sha256"] for name in ("script", "package")}
    if len(hashes) != 1:
        sys.exit(f"the script and the package's function ended with different models: {hashes}")


def emulate(command, emulator):
    command.chmod(0o755)
    print(run(PYTHON, ROOT / "tests/oracles/check.py", command, "--portable", "--under", emulator,
              timeout=1800).strip())


def main():
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if sys.argv[1].startswith("--"):
            wheel = Path(sys.argv[2]).resolve()
        else:
            check_system()
            wheel = make(Path(sys.argv[1]).resolve(), scratch)
        print(wheel.name, wheel.stat().st_size, "bytes")
        if sys.argv[1] != "--installed":
            package = check_files(wheel, scratch / "unpacked")
            check_needs(package)
        if sys.argv[1] == "--emulated":
            emulate(package / "_bin/furlong", sys.argv[3])
        else:
            use(wheel, scratch)


if __name__ == "__main__":
    main()
