#!/usr/bin/env python3
"""Makes the tables and figures of a study's page: runs its sweeps, keeps what is finished, and writes docs/.

usage: study.py NAME --furlong PROGRAM [--size SIZE] [--out DIR] [--jobs N] [--again] [--plan]

NAME is a module of this folder (crossover, privacy-utility, ...), which has

    SIZES                  names of sizes, the default first; "smoke" is tiny and changes nothing in docs/
    DATA                   folders that the scenarios read, below the data root
    results(run, size)     run(Sweep) -> the rows of its runs; returns what the next two take
    tables(results, size)  Markdown, for between the two markers of docs/NAME.md
    figures(results, size) {name: SVG}, for docs/images/

Runs are in DIR (default: runs/NAME, or runs/NAME-SIZE; for smoke a temporary folder); an interrupted command continues.
The figures of the first size are kept in docs/figures/NAME.jsonl: a sweep that is there is not run again unless its
scenario or arguments changed. --again forgets these figures.
--plan lists the runs and their expected cost, and runs nothing. The data root is the first of $FURLONG_DATA, data/ and
../shared/data that has all DATA. Exit codes are those of furlong: 3 for missing data.
"""
import argparse
import importlib
import os
import pathlib
import sys
import tempfile

from sweeps import ROOT, Figures, Planner, Runner

STUDIES = ("crossover", "privacy-utility", "results-ranking", "robustness", "sparse-participation", "sparse-rankings")
END = "<!-- end of tables -->"


def begin(name):
    return f"<!-- tables: written by ./dev study {name} -->"


def replace_tables(page, name, tables):
    before, rest = page.split(begin(name))
    _, after = rest.split(END)
    return f"{before}{begin(name)}\n\n{tables}\n{END}{after}"


def module_of(name):
    return importlib.import_module(name.replace("-", "_"))


def parse_arguments():
    parser = argparse.ArgumentParser(description="Makes the tables and figures of a study's page.")
    parser.add_argument("name", choices=STUDIES, help="the study")
    parser.add_argument("--furlong", required=True, type=pathlib.Path, help="the furlong program")
    parser.add_argument("--size", help="size of the runs (default: the study's first)")
    parser.add_argument("--out", type=pathlib.Path, help="folder of the runs (default: runs/NAME or runs/NAME-SIZE)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at once (default: one per core)")
    parser.add_argument("--again", action="store_true", help="run all sweeps, whatever figures are kept")
    parser.add_argument("--plan", action="store_true", help="list the runs and their expected cost, and run nothing")
    options = parser.parse_args()
    sizes = module_of(options.name).SIZES
    options.size = options.size or sizes[0]
    if options.size not in sizes:
        parser.error(f"--size {options.size}: {options.name} has the sizes {', '.join(sizes)}")
    return options


def make(options):
    study, docs = module_of(options.name), ROOT / "docs"
    options.out.mkdir(parents=True, exist_ok=True)
    kept = Figures(docs / "figures" / f"{options.name}.jsonl") if options.size == study.SIZES[0] else None
    if options.again and kept:
        kept.sweeps.clear()
    run = Runner(options, study.DATA, kept)
    results = study.results(run, options.size)
    tables, figures = study.tables(results, options.size), study.figures(results, options.size)
    if options.size == "smoke":
        (options.out / "tables.md").write_text(tables)
    else:
        page = docs / f"{options.name}.md"
        page.write_text(replace_tables(page.read_text(), options.name, tables))
    for name, figure in figures.items():
        ((options.out if options.size == "smoke" else docs / "images") / name).write_text(figure)
    print(f"{options.name}: {run.runs} runs, {run.cpu_seconds:.0f} CPU seconds; written to "
          f"{options.out if options.size == 'smoke' else docs}", file=sys.stderr)


def main():
    options = parse_arguments()
    if options.plan:
        planner = Planner()
        module_of(options.name).results(planner, options.size)
        print(planner.table(), end="")
        return
    if options.out is None and options.size == "smoke":
        with tempfile.TemporaryDirectory() as folder:
            options.out = pathlib.Path(folder)
            make(options)
        return
    whole = options.size == module_of(options.name).SIZES[0]
    options.out = options.out or ROOT / "runs" / (options.name if whole else f"{options.name}-{options.size}")
    make(options)


if __name__ == "__main__":
    main()
