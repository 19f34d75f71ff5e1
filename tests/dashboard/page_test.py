#!/usr/bin/env python3
"""Loads the dashboard's page in headless Chromium and looks at what became of it.

usage: page_test.py SAMPLE_SERVER [--picture FILE]

SAMPLE_SERVER is the built dashboard_sample. With --picture only a screenshot is made (docs/images/dashboard.png).
Exit code 0 when all is well, 1 with one line per fault, 3 when there is no Chromium or it does not start.
"""
import argparse
import html.parser
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BROWSER_FAILED = (subprocess.TimeoutExpired, subprocess.CalledProcessError)
SECTIONS = ["tiles", "clients", "learning", "outcomes", "loss", "staleness", "map", "reasons", "nodes", "events"]
NO_BROWSER = 3
PATIENCE = 200  # seconds for one start of the browser


class Page(html.parser.HTMLParser):
    """What stands in a page: elements by id, texts, and elements within each section."""
    VOID = {"meta", "link", "br", "img", "input", "hr"}

    def __init__(self, source):
        super().__init__()
        self.open, self.ids, self.text, self.within = [], {}, {}, {}
        self.elements = []
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        for name in self.sections():
            self.within.setdefault(name, []).append((tag, attributes))
        if "id" in attributes:
            self.ids[attributes["id"]] = attributes
        if tag not in self.VOID:
            self.open.append((tag, attributes.get("id")))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for name in self.sections() | {self.open[-1][0]} if self.open else set():
            self.text[name] = self.text.get(name, "") + data

    def sections(self):
        return {name for _, name in self.open if name}

    def drawn(self, section, attribute, value):
        return sum(1 for _, attributes in self.within.get(section, []) if attributes.get(attribute) == value)

    def count(self, section, tag):
        return sum(1 for name, _ in self.within.get(section, []) if name == tag)


class Served:
    """A sample server for as long as the block lasts."""

    def __init__(self, program, *options):
        self.command = [program, *options]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self.process.stdout.readline().strip()

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=20)


def browser():
    return next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


def browse(url, *options):
    """What the browser prints, and what the page said on its console."""
    # The browser's helpers may still write to the profile when it has ended.
    with tempfile.TemporaryDirectory(prefix="furlong-page-", ignore_cleanup_errors=True) as profile:
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        done = subprocess.run(
            [browser(), "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", *root,
             f"--user-data-dir={profile}", "--enable-logging=stderr", *options, url],
            capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def browser_starts():
    """Whether it shows a page that is not ours: in some containers it cannot."""
    try:
        return "of itself" in browse("data:text/html,<p>of%20itself</p>", "--dump-dom")[0]
    except BROWSER_FAILED:
        return False


def load(url, milliseconds=3000):
    source, console = browse(url, "--window-size=1200,2000", f"--virtual-time-budget={milliseconds}", "--dump-dom")
    return Page(source), console


def check_sections(program, fault):
    with Served(program) as url:
        page, console = load(url)
    for line in console:
        fault(f"console: {line}")
    for section in SECTIONS:
        if section not in page.ids:
            fault(f"no section {section}")
    for section in ["learning", "outcomes", "loss", "staleness", "map"]:
        if page.count(section, "svg") != 1:
            fault(f"{section}: {page.count(section, 'svg')} drawings")
    expected = {
        "scenario": "films-furl", "about": "asynchronous", "phase": "training", "progress-text": "round 141 of 200",
        "tiles": "7,911", "clients": "adrift", "learning": "unseen", "outcomes": "surplus", "map": "aggregator-b",
        "reasons": "norm-bound", "nodes": "rack-2-node-8", "events": "node lost", "foot": "As of"}
    for section, part in expected.items():
        if part not in page.text.get(section, ""):
            fault(f"{section}: {part!r} is not in {page.text.get(section, '')[:200]!r}")
    if page.count("nodes", "tr") != 17:
        fault(f"nodes: {page.count('nodes', 'tr')} rows, not 16 and a head")
    for name in [f"rack-{rack}-node-{node}" for rack in (1, 2) for node in range(1, 9)]:
        if name not in page.text.get("map", ""):
            fault(f"map: no {name}")
    if page.drawn("learning", "stroke-width", "1.9") != 3:
        fault("learning: not three curves")
    if page.drawn("map", "aria-label", "Map of nodes: server, aggregators, nodes. at work 9, idle 6, gone 1.") != 1:
        fault("map: not described in words")
    if "hidden" not in page.ids["trouble"]:
        fault(f"trouble: {page.text.get('trouble')!r}")
    if "films-furl" not in page.text.get("title", ""):
        fault("the title does not name the scenario")


def check_hostile(program, fault):
    """Names that are markup come out as text."""
    with Served(program, "--hostile") as url:
        page, console = load(url)
    for line in console:
        fault(f"hostile names, console: {line}")
    if page.text.get("title", "").strip() == "owned":
        fault("hostile names: a script of theirs ran")
    if sum(1 for tag, _ in page.elements if tag == "script") != 1:
        fault("hostile names: another script element")
    if any(tag in ("img", "b") and attributes.get("src") for tag, attributes in page.elements):
        fault("hostile names: an image of theirs")
    if any(key.startswith("on") for _, attributes in page.elements for key in attributes):
        fault("hostile names: an event handler")
    for section in ["nodes", "events", "scenario"]:
        if "<script>document.title='owned'</script>" not in page.text.get(section, ""):
            fault(f"hostile names: not shown as text in {section}")


def check_empty(program, fault):
    with Served(program, "--empty") as url:
        page, console = load(url)
    for line in console:
        fault(f"nothing known, console: {line}")
    expected = {"trouble": "starting", "learning": "No evaluation", "outcomes": "No round", "nodes": "No node",
                "events": "Nothing"}
    for section, part in expected.items():
        if part not in page.text.get(section, ""):
            fault(f"nothing known: {section} says {page.text.get(section)!r}")


def check_server_away(program, fault):
    """A server that dies while the page is open."""
    with Served(program, "--answers", "3") as url:
        # Of the page's own time, of which many polls may pass before the server is gone.
        page, _ = load(url, milliseconds=400000)
    if "has not answered since" not in page.text.get("trouble", ""):
        fault(f"server away: the page says {page.text.get('trouble')!r}")
    if not any(f"again in {seconds} s" in page.text.get("trouble", "") for seconds in (8, 16, 30)):
        fault(f"server away: the page does not wait longer: {page.text.get('trouble')!r}")
    if "7,911" not in page.text.get("tiles", ""):
        fault("server away: what was known is gone")


def take_picture(program, file):
    with Served(program) as url:
        browse(url, "--window-size=1200,1966", "--virtual-time-budget=3000", f"--screenshot={file}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sample_server")
    parser.add_argument("--picture", metavar="FILE", type=Path, help="only make a screenshot")
    options = parser.parse_args()
    program = str(Path(options.sample_server).resolve())
    if browser() is None:
        print("no Chromium here: skipped", file=sys.stderr)
        return NO_BROWSER
    if not browser_starts() and not browser_starts():
        print(f"{browser()} does not start here: skipped", file=sys.stderr)
        return NO_BROWSER
    if options.picture:
        take_picture(program, options.picture.resolve())
        return 0
    faults = []
    for check in [check_sections, check_hostile, check_empty, check_server_away]:
        try:
            check(program, faults.append)
        except BROWSER_FAILED as failed:  # not the page's fault: once more
            print(f"{check.__name__}: {failed}", file=sys.stderr)
            check(program, faults.append)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
