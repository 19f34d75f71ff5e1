#!/usr/bin/env python3
"""Makes a folder with what a build for another processor needs: the libraries of tools/packages.txt with all that they
depend on, unpacked from Debian's packages. Nothing is installed on this machine.

    sysroot.py FOLDER [--arch arm64]

The packages come from the sources that apt has here. Exit code 0 when the folder is complete, 1 with apt's message.
"""
import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Beside the libraries of the group [build]: what a compiler expects in its root.
TOOLCHAIN = ["libc6-dev", "libstdc++-12-dev"]


def libraries():
    """The packages of the group [build] that are linked or included."""
    text = (ROOT / "tools/packages.txt").read_text(encoding="utf-8")
    group = text.split("[build]\n")[1].split("\n[")[0].split()
    return [name for name in group if name.endswith("-dev")] + TOOLCHAIN


def apt(folder, arch, *words):
    """Runs apt-get with a state of its own in the folder, for another processor."""
    state = folder / ".apt"
    for name in ("lists/partial", "archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    options = [f"APT::Architecture={arch}", f"APT::Architectures={arch}", f"Dir::State={state}",
               f"Dir::State::lists={state}/lists", f"Dir::State::status={state}/status", f"Dir::Cache={state}",
               f"Dir::Cache::archives={state}/archives", "APT::Install-Recommends=false", "APT::Sandbox::User=root"]
    command = ["apt-get", "-q", "-y"]
    for option in options:
        command += ["-o", option]
    subprocess.run([*command, *words], check=True, stdout=sys.stderr, env=dict(os.environ, LC_ALL="C"))
    return state / "archives"


def unpack(package, folder):
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as tar:
        subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", folder], stdin=tar.stdout, check=True)
    if tar.returncode != 0:
        raise subprocess.CalledProcessError(tar.returncode, tar.args)


def mend(folder):
    """Absolute links, and absolute paths in CMake's files, would lead out of the folder."""
    for path in folder.rglob("*"):
        if path.is_symlink() and os.readlink(path).startswith("/"):
            target = folder / os.readlink(path).lstrip("/")
            path.unlink()
            path.symlink_to(os.path.relpath(target, path.parent))
    for path in folder.rglob("usr/lib/*/cmake/**/*.cmake"):
        text = path.read_text(encoding="utf-8")
        mended = text.replace('"/usr/lib/', f'"{folder}/usr/lib/').replace('"/usr/include', f'"{folder}/usr/include')
        if mended != text:
            path.write_text(mended, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--arch", default="arm64", help="Debian's name of the processor")
    options = parser.parse_args()
    folder = options.folder.resolve()
    for top in ("bin", "lib", "sbin"):  # before any package: Debian's are merged into usr
        (folder / "usr" / top).mkdir(parents=True, exist_ok=True)
        if not (folder / top).exists():
            (folder / top).symlink_to(f"usr/{top}")
    try:
        apt(folder, options.arch, "update")
        packages = apt(folder, options.arch, "--download-only", "install", *libraries())
        for package in sorted(packages.glob("*.deb")):
            unpack(package, folder)
    except subprocess.CalledProcessError as failed:
        print(f"sysroot.py: {failed}", file=sys.stderr)
        return 1
    mend(folder)
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
