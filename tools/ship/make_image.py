#!/usr/bin/env python3
"""Makes a container image of the command, from nothing: the command with all libraries and the loader. The same inputs
give the same bytes.

    make_image.py COMMAND FOLDER [--root ROOT]

COMMAND is built on Debian 12, for this processor or, with the libraries of the ROOT that sysroot.py makes, for another.
The path of the image, an OCI archive, is printed. Needs buildah, as root or with user namespaces; nothing is downloaded.
"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

import bundle
from elf import ElfFile

PLACE = "opt/furlong"
FILES = {
    "etc/passwd": "root:x:0:0:root:/:\nfurlong:x:10001:10001:Furlong:/:\n",
    "etc/group": "root:x:0:\nfurlong:x:10001:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
VOLUMES = ("data", "runs", "store", "tls")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def stage(command: Path, folder: Path, root: Path) -> None:
    """The context of the Containerfile."""
    system = folder / "system"
    (system / PLACE).mkdir(parents=True)
    bundle.make(command, system / PLACE, root, f"/{PLACE}")
    (system / "etc").mkdir()
    for name, text in FILES.items():
        (system / name).write_text(text, encoding="utf-8")
    for name in VOLUMES:
        (folder / "volumes" / name).mkdir(parents=True)


def build(folder: Path, name: str, architecture: str) -> Path:
    """The image as a folder in the OCI layout. Buildah keeps its own state in the folder too."""
    state = ["--root", folder / "storage", "--runroot", folder / "run", "--storage-driver", "vfs"]
    subprocess.run(["buildah", *state, "build", "--quiet", "--arch", architecture, "--isolation", "chroot",
                    "--timestamp", "0", "--identity-label=false", "--format", "oci", "--tag", name,
                    "--file", bundle.ROOT / "packaging/image/Containerfile", folder], check=True, stdout=subprocess.DEVNULL)
    layout = folder / "layout"
    subprocess.run(["buildah", *state, "push", "--quiet", name, f"oci:{layout}:{name}"], check=True)
    return layout


def archive(layout: Path, target: Path) -> None:
    """Only names and contents are the same in each build."""
    with tarfile.open(target, "w") as tar:
        for path in sorted(layout.rglob("*")):
            entry = tarfile.TarInfo(str(path.relative_to(layout)))
            if path.is_dir():
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
            else:
                entry.size = path.stat().st_size
                with path.open("rb") as file:
                    tar.addfile(entry, file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--root", type=Path, default=Path("/"))
    options = parser.parse_args()
    os.umask(0o022)
    architecture = ARCHITECTURES[ElfFile(options.command).machine]
    options.folder.mkdir(parents=True, exist_ok=True)
    version, = re.findall(r"^project\(furlong VERSION (\S+)", (bundle.ROOT / "CMakeLists.txt").read_text(), re.M)
    target = options.folder / f"furlong-{version}-oci-{architecture}.tar"
    with tempfile.TemporaryDirectory() as scratch:
        stage(options.command, Path(scratch), options.root)
        archive(build(Path(scratch), f"furlong:{version}", architecture), target)
    print(target)


if __name__ == "__main__":
    main()
