#!/usr/bin/env python3
"""Enforces which folder may include which, and whose elementary functions, over all tracked and new sources.

    check_layers.py                    the includes: a second or less
    check_layers.py --headers BUILD    each installed header compiles alone, with the flags of BUILD/compile_commands.json
    check_layers.py --headers BUILD --all    each header, which takes ten minutes of a processor

Exit code 0 when all is well, 1 with one line per violation, 2 for a misuse.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Layer:
    """What the sources of one folder may include, beside the folder itself and the standard library."""
    folders: frozenset   # other folders of the project
    packages: frozenset  # names of PACKAGES
    system: bool         # headers of the operating system; without it, also no I/O and no clock of the standard library


# How an included path gives away its package.
PACKAGES = {
    "eigen": r"(unsupported/)?Eigen/",
    "expected": r"tl/expected\.hpp$",
    "openssl": r"openssl/",
    "capnp": r"(capnp|kj)/",
    "rocksdb": r"rocksdb/",
    "zstd": r"zstd\.h$",
    "caf": r"caf/",
    "spdlog": r"(spdlog|fmt)/",
    "toml": r"toml\+\+/",
    "json": r"nlohmann/",
    "cli": r"CLI/",
    "prometheus": r"prometheus/",
    "boost-test": r"boost/(test|mpl)/",
    "asio": r"boost/(asio|beast|system)/",
    "boost-math": r"boost/math/",
    "boost-container": r"boost/container/",
}
# Random numbers come from base/random.hpp and time from the clocks of actors/: both must be reproducible.
IMPURE = {"chrono", "ctime", "filesystem", "fstream", "iostream", "random"}
INTRINSICS = re.compile(r"(\w+mmintrin|immintrin|arm_neon|cpuid)\.h$")


def layer(folders="", packages="", system=True):
    return Layer(frozenset(folders.split()), frozenset(packages.split()), system)


LAYERS = {
    "base": layer("", "expected openssl", system=False),
    "models": layer("base", "eigen expected", system=False),
    "federated": layer("models base", "expected", system=False),
    "wire": layer("federated models base", "expected capnp zstd", system=False),
    "storage": layer("federated models base", "expected capnp rocksdb openssl"),
    "actors": layer("storage wire federated models base", "expected caf spdlog openssl asio"),
    "scenarios": layer("federated models base", "expected toml json spdlog openssl"),
    "tools": layer("scenarios actors storage wire federated models base",
                   "expected caf capnp cli json spdlog openssl asio prometheus boost-math "
                   "boost-container"),
}
FOLDERS = frozenset(LAYERS)
# Folders of tests that mirror a part of a folder, and which.
MIRRORED = {"certs": "tools", "net": "actors", "dashboard": "tools"}
# No result depends on these: on time that is measured for a report, on the pages that arrays lie in, on files that only
# folders with input and output write.
HARMLESS = {
    ("federated/rounds/stopwatch.hpp", "chrono"),
    ("federated/rounds/stopwatch.cpp", "ctime"),
    ("base/durable_file.cpp", "fcntl.h"),
    ("base/durable_file.cpp", "sys/stat.h"),
    ("base/durable_file.cpp", "unistd.h"),
    ("base/durable_file.hpp", "filesystem"),
    ("base/large_memory.cpp", "sys/mman.h"),
    ("base/program_version.cpp", "fstream"),
    ("base/shared_memory.cpp", "fcntl.h"),
    ("base/shared_memory.cpp", "sys/mman.h"),
    ("base/shared_memory.cpp", "unistd.h"),
}
# Headers that a folder may not see though it may see their folder, and why.
WALLS = {
    ("wire", "federated/experiment/private_store.hpp"): "private values have no way onto the network",
    **{(folder, "base/durable_file.hpp"): f"does input and output: {folder}/ is free of these"
       for folder in ("models", "federated", "wire")},
}
# Folders that only these may include, beside themselves, tests and benchmarks, and why.
RESERVED = {
    "federated/simulation/cluster": (("actors/cluster", "tools/cluster", "tools/cli"),
                                     "private values travel between the processes of a cluster alone"),
}

# Functions of <cmath> whose last bits differ between C libraries and processors: results come from base/exact_math.hpp.
INEXACT = re.compile(r"\bstd::((?:exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|hypot|sin|cos|tan|asin|acos|atan|atan2|sinh"
                     r"|cosh|tanh|asinh|acosh|atanh|erf|erfc|lgamma|tgamma)[fl]?)\(")
# No result depends on these: on the accountant and the audit of privacy, on what a message or a picture shows.
WITHOUT_RESULTS = {
    "federated/audit/audit_bound.cpp", "federated/audit/canaries.cpp", "federated/privacy/detail/fourier.cpp",
    "federated/privacy/gaussian.cpp", "federated/privacy/loss_distribution.cpp", "federated/privacy/renyi.cpp",
    "federated/privacy/run_account.cpp", "scenarios/schema/fit.cpp", "tools/cli/test_proposal.cpp",
    "tools/report/tsne.cpp",
}

# The folders inside a folder, a line for each rank from the lowest: a folder includes itself and those of lower ranks, so
# there is no cycle. "." has the files of the folder itself, and detail/ belongs to the folder that it is in.
RANKS = {
    "federated": (
        "settings",
        "experiment",
        "aggregation/robust privacy/secure_aggregation ranking state",
        "aggregation",
        "participation privacy",
        "world",
        "attack",
        "client",
        "algorithms audit evaluation",
        "rounds",
        "protocol",
        "processes",
        "simulation",
        "simulation/network",
        "engine",
        "simulation/cluster",
    ),
    "actors": (". net tls", "federation"),
    "tools": ("certs conformance expectations page", "runs", "compare dashboard", "report sweep", "cli"),
}
# Libraries in tools/, and those that each may include: the ones that it is linked with.
LIBRARIES = {"page": (), "certs": (), "runs": (), "compare": ("runs",), "report": ("runs", "compare", "page"),
             "dashboard": ("runs", "page")}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def sources():
    """All C++ files that git tracks or would add, relative to the root; without a repository, all in the folders."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.hpp", "*.h", "*.cpp"],
        cwd=ROOT, check=False, capture_output=True, text=True)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    else:
        names = [file.relative_to(ROOT) for top in sorted(FOLDERS | {"tests", "bench"})
                 for file in (ROOT / top).rglob("*.*pp")]
    return sorted({pathlib.PurePosixPath(name) for name in names})


def is_bench(path):
    """Whether a source belongs to benchmarks or campaigns, which share helpers and may see the details of all folders."""
    return path.parts[0] == "bench" or path.parts[:2] == ("tests", "campaigns")


def layer_of(path):
    """The layer of a source: tests and benchmarks may see all folders, and the packages of the folder they mirror."""
    top = path.parts[0]
    if top in LAYERS:
        return LAYERS[top]
    if is_bench(path):
        return Layer(FOLDERS | {"bench", "tests"}, frozenset(PACKAGES) - {"toml", "boost-test"}, True)
    if top == "tests":
        mirrored = LAYERS.get(MIRRORED.get(path.parts[1], path.parts[1]))
        packages = mirrored.packages if mirrored else frozenset({"expected"})
        return Layer(FOLDERS | {"tests"}, packages | {"boost-test", "json"}, True)
    return None


def package_of(included):
    return next((name for name, pattern in PACKAGES.items() if re.match(pattern, included)), None)


def is_standard(included):
    return re.fullmatch(r"[a-z_]+", included) is not None


def folder_inside(path):
    """The folder of a source inside its top one: "simulation/network"; "." for the top one itself."""
    parts = path.parts[1:-1]
    return "/".join(parts[:parts.index("detail")] if "detail" in parts else parts) or "."


def rank_of(top, folder):
    """Its place in RANKS, or None."""
    return next((rank for rank, folders in enumerate(RANKS[top]) if folder in folders.split()), None)


def judge_rank(path, target):
    """Why a source may not include a header of another folder inside the same top one, or None."""
    top = path.parts[0]
    source, included = folder_inside(path), folder_inside(target)
    if top not in RANKS or source == included:
        return None
    ranks = rank_of(top, source), rank_of(top, included)
    if None in ranks:
        unknown = source if ranks[0] is None else included
        return f"is of another folder, and {top}/{unknown} has no rank in tools/check_layers.py"
    if ranks[1] < ranks[0]:
        return None
    place = "beside" if ranks[0] == ranks[1] else "above"
    return f"is {place} it: {top}/{source} may include what has a lower rank in tools/check_layers.py"


def judge_quoted(path, included, allowed):
    """Why a source may not include a header of the project, or None."""
    target = pathlib.PurePosixPath(included)
    top = target.parts[0]
    if top not in FOLDERS | {"tests", "bench"} or ".." in target.parts:
        # A test's helper or an example beside the source itself.
        if path.parts[0] in ("tests", "bench") and (ROOT / path.parent / included).is_file():
            return None
        return "is not written from the root of the project, as in \"models/layout.hpp\""
    if top != path.parts[0] and top not in allowed.folders:
        return f"is above it: {path.parts[0]}/ may include {', '.join(sorted(allowed.folders)) or 'no other folder'}"
    if top == path.parts[0] and (why := judge_rank(path, target)) is not None:
        return why
    library = path.parts[1] if path.parts[0] == "tools" else None
    if library in LIBRARIES and top == "tools" and target.parts[1] not in (library, *LIBRARIES[library]):
        return f"is above it: of tools/, {library}/ may include {', '.join(LIBRARIES[library]) or 'no other folder'}"
    if (path.parts[0], included) in WALLS:
        return WALLS[path.parts[0], included]
    for folder, (users, why) in RESERVED.items():
        if target.is_relative_to(folder) and path.parts[0] in FOLDERS and not any(
                path.is_relative_to(user) for user in (folder, *users)):
            return f"is for {', '.join(users)}: {why}"
    if "detail" in target.parts and top not in (*path.parts[:2], MIRRORED.get(path.parts[1])) and not is_bench(path):
        return f"is a detail of {top}/"
    if included.endswith(".capnp.h"):  # generated beside its schema
        schema = included.removesuffix(".h")
        if "capnp" not in allowed.packages or path.parts[0] not in (top, "tests"):
            return f"is the schema of {top}/, which only {top}/ reads"
        return None if (ROOT / schema).is_file() else "has no schema"
    # With .in, a template that CMake fills in.
    return None if (ROOT / included).is_file() or (ROOT / f"{included}.in").is_file() else "does not exist"


def judge_angled(path, included, allowed):
    """Why a source may not include a header of the system, or None."""
    if (str(path), included) in HARMLESS:
        return None
    package = package_of(included)
    if package is not None:
        return None if package in allowed.packages else f"belongs to {package}, which {path.parts[0]}/ may not use"
    if is_standard(included):
        if included in IMPURE and not allowed.system:
            return f"does input, output, time or unkeyed randomness: {path.parts[0]}/ is free of these"
        return None
    if INTRINSICS.match(included):
        return None if path.parts[0] == "models" else "is for the kernels of models/"
    if "/" in included and pathlib.PurePosixPath(included).parts[0] in FOLDERS:
        return "is the project's own: write it in quotes"
    if re.fullmatch(r"((sys|netinet|arpa|linux|net)/)?\w+\.h", included):
        return None if allowed.system else f"belongs to the operating system, which {path.parts[0]}/ may not use"
    return "belongs to no package that tools/check_layers.py knows"


def check_includes(paths):
    """One line per violation."""
    problems = []
    for path in paths:
        allowed = layer_of(path)
        if allowed is None:
            problems.append(f"{path}: is in no folder that tools/check_layers.py knows")
            continue
        if path.parts[:2] == ("tests", "install"):
            continue  # a project of its own, compiled against what is installed
        # Comments go, line numbers stay.
        text = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), (ROOT / path).read_text(encoding="utf-8"))
        if path.suffix == ".hpp" and "\n#pragma once\n" not in "\n" + text:
            problems.append(f"{path}: has no #pragma once")
        for match in INCLUDE.finditer(text):
            quoted, angled = match.groups()
            why = judge_quoted(path, quoted, allowed) if quoted else judge_angled(path, angled, allowed)
            if why is not None:
                line = text.count("\n", 0, match.start(match.lastindex)) + 1
                problems.append(f"{path}:{line}: {quoted or angled} {why}")
        if path.parts[0] in FOLDERS and str(path) not in WITHOUT_RESULTS:
            problems += [f"{path}:{text.count(chr(10), 0, match.start()) + 1}: std::{match[1]} has other bits elsewhere: "
                         "take that of base/exact_math.hpp" for match in INEXACT.finditer(text)]
    return problems


def read_compile_commands(build):
    """The compiler and its flags for each folder, without what belongs to one file, by its path below the root."""
    flags = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        target = pathlib.PurePosixPath(words[words.index("-o") + 1])  # tools/CMakeFiles/furlong_tools.dir/cli/json.cpp.o
        folder = str(target).partition("/CMakeFiles/")[0]
        if folder in flags:
            continue
        kept, rest = [], iter(words)
        for word in rest:
            if word in ("-o", "-c", "-include", "-MF", "-MT"):
                next(rest, None)
            elif word not in ("-MD", "-Winvalid-pch", "-fpch-preprocess"):
                kept.append(word)
        flags[folder] = (kept, entry["directory"])
    return flags


def compile_alone(header, flags):
    """What the compiler says against a source that includes only this header, or an empty text."""
    words, directory = flags
    done = subprocess.run([*words, f"-I{ROOT}", "-fsyntax-only", "-x", "c++", "-"], cwd=directory, text=True,
                          input=f'#include "{header}"\n', capture_output=True, check=False)
    return done.stderr if done.returncode != 0 else ""


def flags_of(header, flags):
    """Those of the nearest folder above a header in which something is compiled; None: there is none."""
    return next((flags[str(folder)] for folder in header.parents if str(folder) in flags), None)


def installed():
    """The headers that other projects include."""
    text = (ROOT / "cmake" / "FurlongHeaders.cmake").read_text(encoding="utf-8")
    return [pathlib.PurePosixPath(name) for name in re.findall(r"\S+\.hpp\b", text)]


def check_headers(paths, build, jobs):
    """One text per header that does not compile alone, and how many were looked at."""
    flags = read_compile_commands(build)
    headers = [path for path in paths if path.suffix == ".hpp" and flags_of(path, flags)]
    if not headers:
        return [f"{build}/compile_commands.json compiles nothing of this project"], 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        said = list(pool.map(lambda header: compile_alone(header, flags_of(header, flags)), headers))
    return [f"{header}: does not compile alone\n{text}" for header, text in zip(headers, said) if text], len(headers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", metavar="BUILD", type=pathlib.Path, help="compile each installed header alone")
    parser.add_argument("--all", action="store_true", help="with --headers: all headers of the project")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at once")
    options = parser.parse_args()
    paths = sources()
    if options.headers is None:
        problems, checked, what = check_includes(paths), len(paths), "sources keep to their layers"
    else:
        if not (options.headers / "compile_commands.json").is_file():
            parser.error(f"{options.headers} has no compile_commands.json: configure it first")
        headers = paths if options.all else installed()
        (problems, checked), what = check_headers(headers, options.headers, options.jobs), "headers compile alone"
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"{len(problems)} violations", file=sys.stderr)
        return 1
    print(f"{checked} {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
