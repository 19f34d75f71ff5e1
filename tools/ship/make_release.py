#!/usr/bin/env python3
"""Makes all files of a release from the checked-out commit, as root on Debian 12: sources, Debian packages (Debian 12 and
13), wheels and container images (x86-64 and ARM64), a list of their parts (SPDX), BUILDINFO and SHA256SUMS.

    make_release.py VERSION [--verify]    into build/ship/release-VERSION; --verify: twice, in two folders, and compared
    make_release.py --packages            only this system's Debian packages, into build/ship

The same commit and the same versions of Debian's packages give the same bytes in any folder. Debian 13 is a root made by
.ci/root: a temporary one, or the one that FURLONG_ROOT names.
"""
from __future__ import annotations

import argparse
import filecmp
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import bundle
from elf import ElfFile

ROOT = bundle.ROOT
OTHER_SYSTEM = "trixie"
GROUPS = ("build", "arm64", "ship", "image")  # of tools/packages.txt: what a release is made with


def run(*words: object, cwd: Path = ROOT, **environment: str) -> None:
    print("release:", *words, file=sys.stderr)
    subprocess.run([str(word) for word in words], cwd=cwd, check=True, stdout=sys.stderr, stdin=subprocess.DEVNULL,
                   env=os.environ | environment)


def output_of(*words: object, cwd: Path = ROOT) -> str:
    return subprocess.run([str(word) for word in words], cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def check(version: str) -> None:
    """Refuses what would not be a release of this version."""
    declared, = re.findall(r"^project\(furlong VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    if version != declared:
        raise SystemExit(f"this commit is version {declared} (CMakeLists.txt), not {version}")
    if changed := output_of("git", "status", "--porcelain").splitlines():
        raise SystemExit(f"{changed[0].split()[-1]} is not as in the commit ({len(changed)} files): commit or remove it")
    if f"## [{version}]" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        print(f"note: CHANGELOG.md has no section [{version}]", file=sys.stderr)


def suffix() -> str:
    """Of versions of this system's packages: those of a later release of Debian are newer."""
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return "1+deb" + release["VERSION_ID"].strip('"')


def compile_presets(source: Path, presets: dict[str, str]) -> None:
    """Builds the command by these presets, whose libraries are in the given roots. Neither the folder of the sources nor
    a root is in its bytes, and it comes from the compiler, not from a cache."""
    for preset, root in presets.items():
        maps = [f"-ffile-prefix-map={source}=."] + ([f"-ffile-prefix-map={root}=/"] if root else [])
        run("cmake", "--preset", preset, "-DBUILD_TESTING=OFF", "-DFURLONG_BENCH=OFF",
            *([f"-DFURLONG_SYSROOT={root}"] if root else []), cwd=source, CXXFLAGS=" ".join(maps))
        run("cmake", "--build", f"build/{preset}", "-j", os.environ.get("FURLONG_JOBS", str(os.cpu_count())), cwd=source,
            CCACHE_DISABLE="1")


def make_packages(source: Path, target: Path, arm64: bool) -> None:
    """The Debian packages of this system. Those for ARM64 depend on the same packages as those of this processor: their
    names and versions are the same in one release of Debian."""
    run("cpack", "-G", "DEB", "-D", f"CPACK_DEBIAN_PACKAGE_RELEASE={suffix()}", cwd=source / "build/release")
    packages = sorted((source / "build/release").glob("*.deb"))
    if arm64:
        native, = (path for path in packages if path.name.startswith("furlong_"))
        run("cpack", "-G", "DEB", "-D", f"CPACK_DEBIAN_PACKAGE_RELEASE={suffix()}",
            "-D", "CPACK_DEBIAN_PACKAGE_ARCHITECTURE=arm64", "-D", "CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS=OFF",
            "-D", f"CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS={output_of('dpkg-deb', '-f', native, 'Depends').strip()}",
            cwd=source / "build/arm64")
        packages += (source / "build/arm64").glob("furlong_*_arm64.deb")
    for path in packages:
        shutil.copyfile(path, target / path.name)


def packages_of_other_system(target: Path) -> str:
    """Makes those of OTHER_SYSTEM; what it has installed."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(os.environ.get("FURLONG_ROOT", f"{scratch}/root"))
        run(".ci/root", OTHER_SYSTEM, "--", "sh", "-euc",
            "./dev install-packages build; python3 tools/ship/make_release.py --packages", FURLONG_ROOT=str(root))
        made = root / "furlong/build/ship"
        for path in made.glob("*.deb"):
            shutil.copyfile(path, target / path.name)
        return (made / "installed.txt").read_text()


def installed() -> str:
    """The versions of the packages with which this system builds, a line each."""
    text = (ROOT / "tools/packages.txt").read_text(encoding="utf-8")
    names = {line for group in GROUPS if f"[{group}]\n" in text
             for line in text.split(f"[{group}]\n")[1].split("\n[")[0].split("\n") if line}
    told = output_of("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n", "libc6", "libstdc++6", "gcc",
                     "binutils", "dpkg", *sorted(names & installed_names()))
    return "".join(sorted({line.split(" ", 1)[1] + "\n" for line in told.splitlines() if line.startswith("installed")}))


def installed_names() -> set[str]:
    return set(output_of("dpkg-query", "-W", "-f", "${Package}\n").split())


def parts(command: Path) -> list[dict[str, str]]:
    """The Debian packages of which something is in the wheels and images: libraries, and headers that are compiled in."""
    folder = Path("/usr/lib") / f"{ElfFile(command).machine}-linux-gnu"
    names = bundle.owners(bundle.libraries(command, folder, True)) | set(bundle.header_packages())
    form = "${Package}\t${Version}\t${source:Package}\t${source:Version}\n"
    told = output_of("dpkg-query", "-W", "-f", form, *sorted(names))
    return [dict(zip(("name", "version", "source", "source_version"), line.split("\t")))
            for line in sorted(set(told.splitlines()))]


def write_spdx(target: Path, version: str, commit: str, time: str, of: list[dict[str, str]]) -> None:
    def package(name: str, number: str, **more: object) -> dict[str, object]:
        return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": number,
                "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
                "copyrightText": "NOASSERTION"} | more

    own = package("furlong", version, licenseDeclared="Apache-2.0")
    others = [package(part["name"], part["version"], licenseDeclared="NOASSERTION", supplier="Organization: Debian",
                      sourceInfo=f"built from the source package {part['source']} {part['source_version']}",
                      externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator":
                                     f"pkg:deb/debian/{part['name']}@{part['version']}?distro=debian-12"}])
              for part in of]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": own["SPDXID"]}]
    relations += [{"spdxElementId": own["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": one["SPDXID"]}
                  for one in others]
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
                "name": f"furlong-{version}", "documentNamespace": f"urn:furlong:{version}:{commit}",
                "creationInfo": {"created": time, "creators": ["Tool: tools/ship/make_release.py"]},
                "packages": [own, *others], "relationships": relations}
    target.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def write_buildinfo(target: Path, version: str, commit: str, time: str, of: list[dict[str, str]], other: str) -> None:
    sources = sorted({f"{part['source']} {part['source_version']}" for part in of})
    sections = {
        "": f"furlong {version}\ncommit {commit}\ntime {time}\n",
        "Debian's source packages of what is in the wheels and images (https://snapshot.debian.org keeps them)":
            "".join(line + "\n" for line in sources),
        "Debian 12, where all but the packages of Debian 13 are made": installed(),
        "Debian 13": other,
    }
    text = "\n".join(f"# {title}\n{body}" if title else body for title, body in sections.items())
    target.write_text(text, encoding="utf-8")


def make(version: str, target: Path) -> None:
    """Fills the folder with all files of the release."""
    commit = output_of("git", "rev-parse", "HEAD").strip()
    time = output_of("git", "show", "-s", "--format=%ct", "HEAD").strip()
    os.environ["SOURCE_DATE_EPOCH"] = time
    written = output_of("date", "-u", "-d", f"@{time}", "+%Y-%m-%dT%H:%M:%SZ").strip()
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        tar = Path(scratch, "sources.tar")
        run("git", "archive", "--format=tar", f"--prefix=furlong-{version}/", "-o", tar, "HEAD")
        with (target / f"furlong-{version}.tar.gz").open("wb") as file, \
                gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            packed.write(tar.read_bytes())
        run("tar", "-xf", tar, "-C", scratch)
        source = Path(scratch, f"furlong-{version}")
        (source / "build").mkdir()
        sysroot = (ROOT / "build/arm64-root").resolve()
        compile_presets(source, {"release": "", "arm64": str(sysroot)})
        make_packages(source, target, arm64=True)
        for preset, root in (("release", "/"), ("arm64", sysroot)):
            for tool in ("make_wheel", "make_image"):
                run(sys.executable, f"tools/ship/{tool}.py", source / f"build/{preset}/furlong", target, "--root", root)
        of = parts(source / "build/release/furlong")
    other = packages_of_other_system(target)
    write_spdx(target / f"furlong-{version}.spdx.json", version, commit, written, of)
    write_buildinfo(target / "BUILDINFO", version, commit, written, of, other)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(target.iterdir())]
    (target / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def verify(version: str, first: Path) -> None:
    """Makes the release again elsewhere, and compares."""
    with tempfile.TemporaryDirectory() as scratch:
        second = Path(scratch, "again")
        make(version, second)
        names = sorted({path.name for folder in (first, second) for path in folder.iterdir()})
        _, different, missing = filecmp.cmpfiles(first, second, names, shallow=False)
    if different or missing:
        raise SystemExit(f"made twice, these differ: {', '.join(different + missing)}")
    print(f"made twice: {len(names)} files, each with the same bytes", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--packages", action="store_true")
    options = parser.parse_args()
    if options.packages == bool(options.version):
        parser.error("give either a version or --packages")
    os.umask(0o022)
    if options.packages:
        os.environ["SOURCE_DATE_EPOCH"] = output_of("git", "show", "-s", "--format=%ct", "HEAD").strip()
        target = ROOT / "build/ship"
        target.mkdir(parents=True, exist_ok=True)
        compile_presets(ROOT, {"release": ""})
        make_packages(ROOT, target, arm64=False)
        (target / "installed.txt").write_text(installed(), encoding="utf-8")
        return
    check(options.version)
    target = ROOT / f"build/ship/release-{options.version}"
    shutil.rmtree(target, ignore_errors=True)
    make(options.version, target)
    if options.verify:
        verify(options.version, target)
    print(target)


if __name__ == "__main__":
    main()
