#!/usr/bin/env python3
"""Makes the container image twice, checks what is in it, and uses it as a container does: as its user, with a root that
cannot be written.

usage: image_test.py COMMAND

Exit code 3 where no image is made: elsewhere than on Debian 12, without the group [image], or not as root, which
chroot needs.
"""
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIZE = 45_000_000
USER = 10001
VOLUMES = {"/data", "/runs", "/store", "/tls"}
QUICK = ["--set", "scenario.rounds=3", "--format", "json"]
# What a container runtime does, as far as it matters here. Arguments: the root, the scenarios, the folder of runs.
CONTAINER = """
mount --make-rprivate /
mount --bind "$0" "$0"
mount --bind "$1" "$0/data"
mount --bind "$2" "$0/runs"
mount -t proc proc "$0/proc"
mount -o remount,bind,ro "$0"
shift 2
exec env -i "$@"
"""


def check_system():
    release = Path("/etc/os-release")
    if not release.exists() or "VERSION_CODENAME=bookworm" not in release.read_text():
        print("skipped: the image is made on Debian 12")
        sys.exit(3)
    known = subprocess.run(["dpkg-query", "-W", "buildah", "patchelf"], capture_output=True)
    if known.returncode != 0 or os.geteuid() != 0:
        print("skipped: needs root, and ./dev install-packages image")
        sys.exit(3)


def make(command, scratch):
    builds = [subprocess.Popen(["/usr/bin/python3", ROOT / "tools/ship/make_image.py", command, scratch / name],
                               stdout=subprocess.PIPE, text=True, umask=mask)
              for name, mask in (("first", 0o022), ("second", 0o077))]
    told = [build.communicate(timeout=300)[0].strip() for build in builds]
    if any(build.returncode != 0 for build in builds):
        sys.exit("make_image.py failed")
    if Path(told[0]).read_bytes() != Path(told[1]).read_bytes():
        sys.exit("the same command gave two different images")
    return Path(told[0])


def unpack(image, scratch):
    """The image's settings, and its root in a folder."""
    tarfile.open(image).extractall(scratch / "layout")

    def blob(reference):
        return scratch / "layout/blobs" / reference["digest"].replace(":", "/")

    index = json.loads((scratch / "layout/index.json").read_text())
    manifest = json.loads(blob(index["manifests"][0]).read_text())
    root = scratch / "root"
    for layer in manifest["layers"]:
        tarfile.open(blob(layer)).extractall(root, numeric_owner=True)
    return json.loads(blob(manifest["config"]).read_text()), root


def check_settings(settings):
    config = settings["config"]
    found = {key: config.get(key) for key in ("User", "Entrypoint", "WorkingDir")}
    expected = {"User": f"{USER}:{USER}", "Entrypoint": ["furlong"], "WorkingDir": "/"}
    if found != expected or set(config["Volumes"]) != VOLUMES:
        sys.exit(f"the image's settings: {config}")


def check_files(root):
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    print(size, "bytes unpacked")
    if size > SIZE:
        sys.exit("the image is too large")
    owned = {f"/{path.relative_to(root)}" for path in root.rglob("*") if path.stat().st_uid != 0}
    if owned != VOLUMES:
        sys.exit(f"its user owns {owned}")
    if not {"furlong", "libc6", "librocksdb-dev"} <= {path.name for path in (root / "opt/furlong/_licences").iterdir()}:
        sys.exit("licences are missing")


def contained(root, runs, environment, *words, code=0):
    line = ["unshare", "-m", "bash", "-euc", CONTAINER, root, ROOT / "scenarios", runs, *environment,
            "/usr/sbin/chroot", f"--userspec={USER}:{USER}", "--groups=", root, "furlong", *words]
    done = subprocess.run([str(word) for word in line], capture_output=True, text=True, timeout=300)
    if done.returncode != code:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr[-1500:]}")
    return done.stdout


def use(command, root, runs, environment):
    (root / "proc").mkdir()  # runtimes do
    runs.mkdir()
    os.chown(runs, USER, USER)
    outside = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    if contained(root, runs, environment, "--version") != outside:
        sys.exit("the image has another version")
    scenario = ROOT / "scenarios/quickstart.toml"
    expected = json.loads(subprocess.run([command, "run", scenario, "--out", runs.parent / "expected", *QUICK],
                                         capture_output=True, text=True, check=True).stdout)
    run = json.loads(contained(root, runs, environment, "run", "data/quickstart.toml", *QUICK))
    if run["model_sha256"] != expected["model_sha256"]:
        sys.exit(f"the run in the image ended with another model: {run['model_sha256']}, {expected['model_sha256']}")
    contained(root, runs, environment, "test", "data/quickstart.toml", "--smoke")
    if {path.stat().st_uid for path in runs.rglob("*")} != {USER}:
        sys.exit(f"files of another user than {USER}")
    contained(root, runs, environment, "run", "data/quickstart.toml", "--out", "elsewhere", code=4)


def main():
    check_system()
    command = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        os.chmod(scratch, 0o755)
        image = make(command, scratch)
        print(image.name, image.stat().st_size, "bytes")
        settings, root = unpack(image, scratch)
        check_settings(settings)
        check_files(root)
        use(command, root, scratch / "runs", settings["config"]["Env"])


if __name__ == "__main__":
    main()
