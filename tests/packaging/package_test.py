#!/usr/bin/env python3
"""Makes the Debian packages of a build, unpacks them beside the system, and uses what is in them.

usage: package_test.py BUILD

Checked are: the files that belong there and no others, the dependencies (all are packages of this system, and cover
every library), the maintainer scripts' syntax, what a purge leaves, the units (systemd-analyze, where it is there), and
a scenario run by the unpacked command from the unpacked scenarios, another with the unpacked Python package; also that
pip installs this from the sources without network (where Debian's pip is there). Exit code 3 where there is no dpkg:
that is no Debian system.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXPECTED = {"usr/bin/furlong", "usr/lib/systemd/system/furlong-serve@.service",
            "usr/lib/systemd/system/furlong-aggregate@.service", "usr/lib/systemd/system/furlong-join@.service",
            "usr/lib/sysusers.d/furlong.conf", "usr/share/doc/furlong/copyright",
            "usr/share/doc/furlong/docs/privacy.md",
            "usr/share/doc/furlong/serve-NAME.conf.example", "usr/share/furlong/scenarios/federation.toml",
            "usr/share/furlong/scenarios/traces/office.csv", "usr/share/furlong/tools/split_ratings.py"}
# Where Debian's interpreter looks.
MODULES = "usr/lib/python3/dist-packages"
EXPECTED_PYTHON = {f"{MODULES}/furlong/__init__.py", f"{MODULES}/furlong/trainer.py", f"{MODULES}/furlong/py.typed",
                   "usr/share/doc/python3-furlong/copyright", "usr/share/furlong/python/examples/logistic.py",
                   "usr/share/furlong/python/examples/logistic.toml"}
PYTHON = "/usr/bin/python3"
NEEDED = {"cpack": "cmake", "dpkg-shlibdeps": "dpkg-dev", "file": "file", "ldd": "libc-bin", "readelf": "binutils"}
FORBIDDEN = re.compile(r"\.(hpp|h|a|cmake|pyc)$")


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stdout[-500:]}{done.stderr[-1500:]}")
    return done.stdout


def check_files(root, expected):
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    missing, wrong = expected - files, sorted(name for name in files if FORBIDDEN.search(name))
    empty = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir() and not any(path.iterdir()))
    if missing or wrong or empty:
        sys.exit(f"missing: {sorted(missing)}; not the package's: {wrong}; empty folders: {empty}")


def check_purge(script, scratch):
    """Removing the package leaves what its user made; purging it leaves nothing, but what is not its own."""
    system = scratch / "system"
    wants = "etc/systemd/system/multi-user.target.wants/"
    own = ["etc/furlong/head/key.pem", "var/lib/furlong/rack/private/LOCK", wants + "furlong-join@rack.service",
           wants + "furlong-serve@head.service", wants + "furlong-aggregate@west.service"]
    foreign = [wants + "furlong-viewer.service", wants + "ssh.service", "etc/furlong.conf"]
    for name in own + foreign:
        (system / name).parent.mkdir(parents=True, exist_ok=True)
        (system / name).touch()
    for action, left in (("remove", own + foreign), ("purge", foreign)):
        run("sh", script, action, env={"DPKG_ROOT": str(system), "PATH": "/usr/bin:/bin"})
        found = sorted(str(path.relative_to(system)) for path in system.rglob("*") if path.is_file())
        if found != sorted(left):
            sys.exit(f"after postrm {action}: {found}, expected {sorted(left)}")


def check_tools():
    """Without some of these CPack makes a package all the same, one that depends on nothing."""
    if shutil.which("dpkg-deb") is None:
        sys.exit(3)
    missing = {tool: package for tool, package in NEEDED.items() if shutil.which(tool) is None}
    if missing:
        sys.exit(f"not found: {', '.join(missing)}; to install them: apt-get install {' '.join(missing.values())}")


def libraries_of(program):
    """The shared libraries that the program itself names."""
    loaded = re.findall(r"^\s*(\S+) => /", run("ldd", program), re.MULTILINE)
    named = re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-d", program))
    return [library for library in named if library in loaded]  # not the loader


def names_of(*packages):
    """What these packages (none: all that are installed) can be depended on by: their own names, what they provide."""
    told = run("dpkg-query", "-W", "-f", "${Package} ${Provides}\n", *packages)
    return set(re.findall(r"[a-z0-9][a-z0-9+.-]+", told))


def check_dependencies(package, command):
    depends = run("dpkg-deb", "-f", package, "Depends")
    names = {re.split(r"[ |(:]", one.strip())[0] for one in depends.split(",")}
    libraries = libraries_of(command)
    if not any(library.startswith("librocksdb") for library in libraries):
        sys.exit(f"RocksDB is not among the libraries found: {libraries}")
    for library in libraries:
        owners = re.findall(r"^([^:,\s]+)", run("dpkg-query", "-S", f"*/{library}"), re.MULTILINE)
        if not names_of(*owners) & names:
            sys.exit(f"{library} comes from {owners}, none of which it depends on: {depends}")
    if unknown := names - names_of():
        sys.exit(f"depends on what this system does not have: {unknown}")


def check_units(root, scratch):
    if shutil.which("systemd-analyze") is None:
        return
    for unit in sorted((root / "usr/lib/systemd/system").glob("*.service")):
        # As if it were installed: the command is where it was unpacked.
        copy = scratch / unit.name.replace("@", "@test")
        copy.write_text(unit.read_text().replace("/usr/bin/furlong", str(root / "usr/bin/furlong")))
        run("systemd-analyze", "verify", "--man=no", copy)


def check_python(scratch, command):
    """python3-furlong, used by the command of the other package."""
    (package,) = (scratch / "made").glob("python3-furlong_*_all.deb")
    root = scratch / "python"
    run("dpkg-deb", "-R", package, root)
    check_files(root, EXPECTED_PYTHON)
    if (found := sorted(path.name for path in (root / MODULES).iterdir())) != ["furlong"]:
        sys.exit(f"python3-furlong has these modules: {found}")
    for field in ("Depends", "Recommends"):
        told = run("dpkg-deb", "-f", package, field)
        names = {re.split(r"[ |(:]", one.strip())[0] for one in told.split(",")}
        expected = {"Depends": {"python3", "python3-numpy"},
                    "Recommends": {"furlong", "python3-torch", "python3-pandas", "python3-matplotlib"}}[field]
        if names != expected:
            sys.exit(f"python3-furlong {field.lower()}: {told}")
    for script in ("postinst", "prerm"):
        run("sh", "-n", root / "DEBIAN" / script)
    # Installed, it is found without a variable; the command itself names no folder.
    if f"/{MODULES}" not in run(PYTHON, "-c", "import sys; print(*sys.path, sep='\\n')", cwd=scratch).splitlines():
        sys.exit(f"{PYTHON} does not look in /{MODULES}")
    environment = {**os.environ, "PYTHONPATH": str(root / MODULES), "PYTHONDONTWRITEBYTECODE": "1",
                   "FURLONG_PYTHON": PYTHON}
    run(command, "run", root / "usr/share/furlong/python/examples/logistic.toml", "--set", "scenario.rounds=2",
        "--out", scratch / "logistic", cwd=scratch, env=environment)


def check_pip(scratch):
    """Installs the Python package from the sources, as docs/python.md does, without network."""
    if subprocess.run([PYTHON, "-c", "import pip, setuptools, wheel"], capture_output=True).returncode != 0:
        return
    sources = scratch / "sources"
    shutil.copytree(Path(__file__).resolve().parents[2] / "python", sources,
                    ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    run(PYTHON, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps", "--target", scratch / "pip",
        sources, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    told = run(PYTHON, "-c", "import furlong, furlong.trainer; print(furlong.__file__)", cwd=scratch,
               env={**os.environ, "PYTHONPATH": str(scratch / "pip")})
    if not told.startswith(str(scratch / "pip")) or not (scratch / "pip/furlong/py.typed").is_file():
        sys.exit(f"pip installed something else: {told}")


def main():
    check_tools()
    build = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        run("cpack", "-G", "DEB", "-B", scratch / "made", "--config", build / "CPackConfig.cmake", cwd=build)
        (package,) = (scratch / "made").glob("furlong_*.deb")
        root = scratch / "root"
        run("dpkg-deb", "-R", package, root)
        check_files(root, EXPECTED)
        check_dependencies(package, root / "usr/bin/furlong")
        for script in ("postinst", "prerm", "postrm"):
            run("sh", "-n", root / "DEBIAN" / script)
        check_purge(root / "DEBIAN/postrm", scratch)
        check_units(root, scratch)
        command = root / "usr/bin/furlong"
        print(run(command, "--version").strip(), package.stat().st_size, "bytes")
        run(command, "test", "--smoke", root / "usr/share/furlong/scenarios/federation.toml", cwd=scratch)
        check_python(scratch, command)
        check_pip(scratch)


if __name__ == "__main__":
    main()
