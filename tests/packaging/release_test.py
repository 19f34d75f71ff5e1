#!/usr/bin/env python3
"""What a release says of itself, of the command that was built: its parts, how it was made, and when it is refused.
Whether all of it is made, twice with the same bytes, is for `./dev release VERSION --verify`.

usage: release_test.py COMMAND

Exit code 3 elsewhere than on Debian 12.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/ship"))
import make_release  # noqa: E402
from wheel_test import check_system  # noqa: E402

TIME = "2026-01-02T03:04:05Z"


def check_refusal():
    done = subprocess.run([sys.executable, ROOT / "tools/ship/make_release.py", "9.9.9"], capture_output=True, text=True)
    if done.returncode != 1 or "is version 0.1.0 (CMakeLists.txt), not 9.9.9" not in done.stderr:
        sys.exit(f"a wrong version is not refused: {done.returncode} {done.stderr}")


def check_parts(parts):
    """All that is linked or compiled in, with the source package that Debian made it of."""
    sources = {part["name"]: part["source"] for part in parts}
    expected = {"librocksdb7.8": "rocksdb", "libssl3": "openssl", "libcaf-core0.17": "actor-framework", "libc6": "glibc",
                "libeigen3-dev": "eigen3", "libstdc++6": "gcc-12"}
    missing = {name for name, source in expected.items() if sources.get(name) != source}
    if missing or not all(all(part.values()) for part in parts):
        sys.exit(f"not among the parts, or of another source: {missing}; there are {sources}")


def check_spdx(file, parts):
    document = json.loads(file.read_text())
    packages = {one["SPDXID"]: one for one in document["packages"]}
    related = {one["relatedSpdxElement"] for one in document["relationships"]}
    if len(packages) != len(parts) + 1 or related != set(packages) or document["creationInfo"]["created"] != TIME:
        sys.exit("the SPDX document does not relate furlong and each part once")
    for part in parts:
        if not any(part["source_version"] in one.get("sourceInfo", "") for one in packages.values()):
            sys.exit(f"the SPDX document has no source of {part['name']}")


def main():
    check_system()
    check_refusal()
    parts = make_release.parts(Path(sys.argv[1]))
    check_parts(parts)
    with tempfile.TemporaryDirectory() as scratch:
        spdx, info = Path(scratch, "spdx.json"), Path(scratch, "BUILDINFO")
        make_release.write_spdx(spdx, "0.1.0", "c0ffee", TIME, parts)
        check_spdx(spdx, parts)
        make_release.write_buildinfo(info, "0.1.0", "c0ffee", TIME, parts, "gcc 14\n")
        text = info.read_text()
        for line in ("commit c0ffee\n", "\nrocksdb 7.8.3", "\nlibrocksdb-dev 7.8.3", "\ngcc 4:12", "# Debian 13\ngcc 14\n"):
            if line not in text:
                sys.exit(f"BUILDINFO has no {line!r}:\n{text}")
    print(f"{len(parts)} parts")


if __name__ == "__main__":
    main()
