#!/usr/bin/env python3
"""Opens reports in headless Chromium and looks at what became of them.

usage: report_page_test.py FURLONG [--pictures FOLDER]

FURLONG is the built command; run it in the root of the sources. With --pictures only screenshots are made, light and
dark. Exit code 0 when all is well, 1 with one line per fault, 3 when there is no Chromium or it does not start.
"""
import argparse
import json
import math
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from browser import BrowserFailed, Chromium, browser  # noqa: E402

NO_BROWSER = 3
GOLDEN = Path("tests/tools/report_runs")
HOSTILE = "</script><script>document.title='owned'</script><b onclick=x>"


def write_run(folder, name, lr, seed, rounds, attention=False, virtual=True, diverged=False):
    """A run as its folder says it, with curves of a known form."""
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text(
        f'[scenario]\nname = {json.dumps(name)}\nseed = {seed}\n[algorithm]\nkind = "furl"\nclient.lr = {lr}\n')
    wave, lines, last = math.sin(seed * 1.7), [], {}
    for r in range(1, rounds + 1):
        rmse = 0.8 + lr / 10 + 2 * math.exp(-r / 9) + 0.02 * math.sin(r / 5 + 3 * wave) + 0.02 * wave
        rmse *= 10 ** r if diverged else 1
        last = {group: {"rmse": rmse + shift, "accuracy": 0.45 - rmse / 10, "clients": 100, "examples": 2000}
                for group, shift in [("validation", 0.01), ("seen", -0.02), ("unseen", 0.03)]}
        line = {"round": r, "selected": 40, "folded": 40, "rejected": 0, "examples": 5000 + 100 * (r % 7),
                "bytes_up": 4000000, "bytes_down": 8000000, "loss": rmse * rmse, "change_norm": 1 / r, "eval": last}
        if virtual:
            line.update(began=60.0 * (r - 1), ended=60.0 * r + wave)
        if attention:
            line["attention"] = {"tensors": [{"tensor": "item", "min": 0.5 + r / 1000, "max": 1.5}]}
        lines.append(json.dumps(line))
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "summary.json").write_text(json.dumps({
        "furlong": "test", "scenario": name, "algorithm": "furl", "model": "mf", "seed": seed, "rounds": rounds,
        "selected": 40 * rounds, "folded": 40 * rounds, "bytes_up": 4000000 * rounds, "bytes_down": 8000000 * rounds,
        "clock": "virtual", "virtual_seconds": 60.0 * rounds, "model_sha256": "ab" * 32, "eval": last,
        **({"failed": "training diverged: the loss is not finite"} if diverged else {})}))
    return folder


def make(command, folder):
    """Reports of all kinds, by name."""
    def report(name, runs, *options):
        subprocess.run([command, "report", *map(str, runs), "--out", str(folder / f"{name}.html"), *options], check=True,
                       stdout=subprocess.DEVNULL, timeout=200)
        return (folder / f"{name}.html").resolve()

    def configurations(count, seeds, rounds, name):
        return [write_run(folder / "runs" / name / f"{i}-{seed}", name, i / 4, seed, rounds)
                for i in range(count) for seed in range(1, seeds + 1)]
    def train(name, kind, seed):
        subprocess.run([command, "run", "scenarios/quickstart.toml", "--out", str(folder / name), "--set",
                        "scenario.rounds=4", "--set", f"algorithm.kind={kind}", "--seed", str(seed), "--set",
                        "devices.correlation.speed_taste=0.7", "--set", "participation.over_selection=1.5"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=400)
        return folder / name
    trained = [train(f"{kind}-{seed}", kind, seed) for kind in ("fedavg", "furl") for seed in (1, 2)]
    long_name = "a-scenario-whose-name-is-as-long-as-names-of-scenarios-get"
    return {"compared": report("compared", configurations(3, 3, 80, "films")),
            "diverged": report("diverged", [*configurations(2, 2, 60, "good"), write_run(
                folder / "runs" / "good" / "diverged", "good", 9, 1, 12, diverged=True)]),
            "large": report("large", configurations(9, 3, 500, "large")),
            "many": report("many", configurations(30, 1, 5, long_name)),
            "sparse": report("sparse", [GOLDEN / "sparse"]), "async": report("async", [GOLDEN / "async"]),
            "attention": report("attention", [write_run(folder / "attention", "a", 1, 1, 70, attention=True)]),
            "hostile": report("hostile", [write_run(folder / "h" / str(i), HOSTILE + str(i), i, 1, 3) for i in (1, 2)]),
            "clients": report("clients", trained, "--clients"),
            "embeddings": report("embeddings", trained[-1:], "--embeddings", "--clients")}


def open_page(tab, page, width=1280):
    tab.size(width, 1000)
    tab.emulate(scheme="light")
    tab.open(page.as_uri())
    tab.run("figures.forEach(draw)")
    tab.wait("figures.every(one => one.querySelector('.holder svg'))")
    tab.run("Promise.all(figures.map(one => one.view().runAsync())).then(() => 1)")


def check_drawing(tab, pages, fault):
    """Every kind of chart is drawn, its pictures can be saved and stand alone, and the page is quiet."""
    kinds = set()
    for name, page in pages.items():
        open_page(tab, page)
        for said in tab.complaints():
            fault(f"{name}: console: {said}")
        if any(not address.startswith(page.as_uri()) for address in tab.requests()):
            fault(f"{name}: asks for {tab.requests()}")
        if tab.run("document.documentElement.scrollWidth") > 1280:
            fault(f"{name}: wider than 1,280 pixels")
        if name in ("large", "many"):
            if tab.run("document.querySelector('.common').scrollHeight") == 0:
                fault(f"{name}: no legend for all charts")
            continue
        charts = tab.run("figures.map(({chart, state}) => ({kind: chart.kind, title: chart.title, "
                         "line: chart.line, series: chart.series.map(one => one.name)}))")
        for i, chart in enumerate(charts):
            kinds.add(chart["kind"])
            what = f"{name}: {chart['title']}"
            marks = tab.run(f"figures[{i}].querySelectorAll('.holder svg path, .holder svg line').length")
            if marks < 3:
                fault(f"{what}: {marks} marks")
            labels = f"[...figures[{i}].querySelectorAll('.holder .role-axis-label text')].filter(one => " \
                     "getComputedStyle(one).opacity > 0).map(one => one.textContent)"
            if tab.run(f"figures[{i}].chart.labelled && !figures[{i}].chart.bars.every(bar => {labels}.includes(bar.label))"):
                fault(f"{what}: bars without labels: {tab.run(labels)}")
            check_svg(tab.run(f"figures[{i}].paper().toSVG()"), chart, what, fault)
            if tab.run(f"figures[{i}].paper().toCanvas().then(canvas => canvas.toDataURL().length)") < 2000:
                fault(f"{what}: an empty PNG")
            rows = tab.run(f"csvOf(kinds[figures[{i}].chart.kind](figures[{i}].chart, 'rounds'))").splitlines()
            if len(rows) < 2 or len(rows[0].split(",")) < 3:
                fault(f"{what}: CSV {rows[:2]}")
    for kind in {"curves", "bars", "timeline", "points", "quantiles", "participants"} - kinds:
        fault(f"no chart of {kind} is drawn")


def check_svg(text, chart, what, fault):
    try:
        picture = xml.fromstring(text)
    except xml.ParseError as why:
        return fault(f"{what}: saved SVG: {why}")
    words = " ".join(element.text or "" for element in picture.iter() if element.tag.endswith("text"))
    if chart["title"] not in words:
        fault(f"{what}: saved SVG has no title")
    if "line" in chart and chart["line"] not in words:
        fault(f"{what}: saved SVG does not name its dashed line")
    for name in chart["series"]:
        if len(chart["series"]) > 1 and name[:20] not in words:
            fault(f"{what}: saved SVG does not name {name}")
    if "var(" in text or any(part in text for part in ("<script", "<image", "NaN", "undefined")):
        fault(f"{what}: saved SVG does not stand alone")
    return None


def check_use(tab, pages, fault):
    """Legends, switches, zoom, tooltips and sorting, with mouse and keyboard."""
    open_page(tab, pages["compared"])
    lines = "document.querySelectorAll('figure .mark-line.role-mark path[stroke-width=\"1.9\"]').length"
    before = tab.run(lines)
    tab.run("document.querySelector('.legend button').focus()")
    for kind in ("keyDown", "keyUp"):
        tab.ask("Input.dispatchKeyEvent", type=kind, key=" ", code="Space", windowsVirtualKeyCode=32, text=" ")
    if tab.run("document.querySelector('.legend button').ariaPressed") != "false":
        fault("the space bar does not press a legend's button")
    tab.run("Promise.all(figures.map(one => one.view().runAsync())).then(() => 1)")
    if not 0 < tab.run(lines) < before:
        fault(f"a hidden configuration: {before} curves before, {tab.run(lines)} after")
    tab.run("document.querySelector('.legend button').click()")
    axis = "figures[0].view().signal('xTitle')"
    for title, wanted in [("virtual time", "virtual time, "), ("data moved", "data up and down, ")]:
        tab.run(f"[...document.querySelectorAll('.switch button')].find(one => one.textContent === '{title}').click()")
        if not tab.run(axis).startswith(wanted):
            fault(f"by {title}: the axis says {tab.run(axis)}")
    tab.run("[...document.querySelectorAll('.switch button')][0].click()")
    for name, shown in [("log", "figures[0].view().scale('y').type === 'log'"),
                        ("runs", "figures[0].view().data('singles').length > 100")]:
        tab.run(f"[...figures[0].querySelectorAll('.tools button')].find(one => one.textContent === '{name}').click()")
        tab.run("figures[0].view().runAsync().then(() => 1)")
        if not tab.run(shown):
            fault(f"the button {name} does nothing")
        tab.run(f"[...figures[0].querySelectorAll('.tools button')].find(one => one.textContent === '{name}').click()")
    tab.run("figures[0].scrollIntoView({block: 'center'})")
    box = tab.run("figures[0].view().runAsync().then(() => (({x, y, width, height}) => ({x, y, width, height}))("
                  "figures[0].querySelector('.holder').getBoundingClientRect()))")
    middle = box["y"] + box["height"] / 2

    def mouse(kind, share, **more):
        tab.ask("Input.dispatchMouseEvent", type=kind, x=box["x"] + share * box["width"], y=middle, **more)
    mouse("mouseMoved", 0.45)
    mouse("mouseMoved", 0.5)
    tab.wait("!byId('tip').hidden")
    told = tab.run("byId('tip').textContent")
    if "round " not in told or told.count("lr=") != 3:
        fault(f"the tooltip says {told!r}")
    mouse("mousePressed", 0.5, button="left", clickCount=1)
    mouse("mouseMoved", 0.6, button="left", buttons=1)
    mouse("mouseMoved", 0.7, button="left", buttons=1)
    mouse("mouseReleased", 0.7, button="left", clickCount=1)
    tab.run("figures[0].view().runAsync().then(() => 1)")
    zoom = tab.run("figures[0].view().signal('zoom')")
    if not zoom or not 30 < zoom[0] < zoom[1] < 60:
        fault(f"a zoom from the middle to the right shows {zoom}")
    tab.run("[...figures[0].querySelectorAll('.tools button')].find(one => one.textContent === 'reset zoom').click()")
    if tab.run("figures[0].view().signal('zoom')") is not None:
        fault("the zoom is not reset")
    first = "[...document.querySelectorAll('.runs tbody tr')].map(row => row.cells[0].textContent)"
    order = tab.run(first)
    tab.run("document.querySelector('.runs thead tr:last-child th button').click()")
    tab.run("document.querySelector('.runs thead tr:last-child th button').click()")
    if tab.run(first) != sorted(order, reverse=True):
        fault("the table is not sorted")
    if tab.run("document.querySelector('.runs thead tr:last-child th').ariaSort") != "descending":
        fault("the table does not say how it is sorted")


def check_ranges(tab, pages, fault):
    """A configuration that diverged does not move the y axis; time begins at 0, and is the axis of asynchronous runs;
    equal curves and many bands leave each other visible."""
    open_page(tab, pages["diverged"])
    for i in range(tab.run("figures.length")):
        title, top = tab.run(f"[figures[{i}].chart.title, figures[{i}].view().scale('y').domain()[1]]")
        if title.startswith("RMSE") and not 1 < top < 5:
            fault(f"{title}: up to {top}")
    if "lr=9 (diverged) is outside the axis from round 1 on." not in tab.run("figures[0].innerText"):
        fault("nothing says where a curve is outside the axis")
    open_page(tab, pages["async"])
    if tab.run("document.querySelector('.switch [aria-pressed=true]').textContent") != "virtual time":
        fault("an asynchronous run is not drawn by time")
    if tab.run("figures[0].view().scale('x').domain()[0]") != 0:
        fault("the virtual time does not begin at 0")
    open_page(tab, pages["compared"])
    if tab.run("new Set([...figures.find(one => one.chart.title === 'Data up so far').querySelectorAll("
               "'.mark-line.role-mark path')].map(one => one.getAttribute('stroke-width'))).size") != 3:
        fault("equal curves hide each other")
    opacity = tab.run("figures[0].view().signal('bandOpacity')")
    open_page(tab, pages["large"])
    if tab.run("figures[0].view().signal('bandOpacity')") > opacity / 2:
        fault("nine bands are as dark as three")
    open_page(tab, pages["many"])
    counts = "[...figures.find(one => one.chart.title === 'Clients folded a round').querySelectorAll('.role-axis text')]"
    if tab.run(f"{counts}.some(one => one.textContent.includes('.'))"):
        fault("an axis of clients has fractions")
    equal = "figures.filter(one => one.innerText.includes('All 30 curves lie on each other.'))"
    if tab.run(f"{equal}.length") < 5:
        fault("nothing says that 30 curves are equal")
    if tab.run(f"{equal}.some(one => one.querySelector('.mark-line.role-mark path:not([stroke-width=\"1.9\"])'))"):
        fault("equal curves look like an interval")


def check_names(tab, pages, fault):
    """What a screen reader says."""
    for name in ("compared", "sparse", "embeddings"):
        open_page(tab, pages[name])
        nodes = tab.ask("Accessibility.getFullAXTree")["nodes"]
        roles = {}
        for node in nodes:
            if not node.get("ignored"):
                roles.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
        for role in ("button", "image", "figure"):
            if not roles.get(role) or not all(roles[role]):
                fault(f"{name}: without a name: {role} {roles.get(role)}")
        if name == "compared" and not any("lowest" in text and "highest" in text for text in roles.get("image", [])):
            fault("no chart is described in words")


def check_looks(tab, pages, fault):
    open_page(tab, pages["compared"])
    colour = "getComputedStyle(figures[0].querySelector('.mark-line.role-mark path')).stroke"
    light = tab.run(colour)
    tab.emulate(scheme="dark")
    if tab.run(colour) == light:
        fault("curves have the same colour in the dark")
    if tab.run("figures[0].paper().toSVG()").count(tab.run("onPaper()('c0')")) == 0:
        fault("a saved picture has not the light colours")
    tab.emulate(media="print", scheme="dark")
    if tab.run("getComputedStyle(document.querySelector('.tools')).display") != "none":
        fault("buttons are printed")
    if tab.run(colour) != light:
        fault("the dark colours are printed")


def check_hostile(tab, pages, fault):
    open_page(tab, pages["hostile"])
    if tab.run("document.title").strip() == "owned" or tab.run("document.scripts.length") != 2:
        fault("a script from a name ran")
    if tab.run("document.querySelectorAll('[onclick]').length"):
        fault("an element from a name")
    tab.run("document.querySelectorAll('details').forEach(one => one.open = true)")
    if HOSTILE not in tab.run("document.querySelector('.legend').textContent"):
        fault("a name is not shown as it is")


def check_without_scripts(tab, pages, fault):
    tab.ask("Emulation.setScriptExecutionDisabled", value=True)
    tab.open(pages["compared"].as_uri())
    text = tab.run("document.querySelector('noscript').innerText || ''")
    if any(text.count(f"\nlr={lr}") != 1 for lr in ("0.0", "0.25", "0.5")):
        fault("without JavaScript: not a row a configuration")
    if "need JavaScript" not in text:
        fault("without JavaScript: nothing says so")
    tab.ask("Emulation.setScriptExecutionDisabled", value=False)


def check_size(tab, pages, fault):
    """9 configurations, 3 seeds and 500 rounds: the file, and what its thread computes until all that is in view is
    drawn: the time that this takes where nothing else runs."""
    size = pages["large"].stat().st_size
    if size > 4e6:
        fault(f"a large report has {size} bytes")
    tab.ask("Performance.enable", timeDomain="threadTicks")

    def seconds():
        return next(one["value"] for one in tab.ask("Performance.getMetrics")["metrics"] if one["name"] == "ThreadTime")
    tab.size(1280, 1000)
    before = seconds()
    tab.open(pages["large"].as_uri())
    seen = "figures.filter(one => one.getBoundingClientRect().top < innerHeight)"
    tab.wait(f"{seen}.length > 0 && {seen}.every(one => one.querySelector('.holder svg'))")
    took = seconds() - before
    print(f"a large report: {size} bytes, opened in {took:.2f} s of its thread", file=sys.stderr)
    if took > 2:
        fault(f"a large report opens in {took:.2f} s")
    if tab.run("figures.every(one => one.querySelector('.holder svg'))"):
        fault("charts that nobody sees are drawn")


def check_table(tab, pages, fault):
    """30 configurations with long names: the main table is whole at 1,280 pixels."""
    open_page(tab, pages["many"])
    if tab.run("document.querySelectorAll('.runs tbody tr').length") != 30:
        fault("not a row a configuration")
    wide, room = tab.run("(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])(document.querySelector('.runs'))")
    if wide > room:
        fault(f"the main table has {wide} pixels in {room}")
    open_page(tab, pages["many"], 390)
    tab.run("document.querySelector('.runs').scrollLeft = 200")
    if tab.run("document.querySelector('.runs tbody th').getBoundingClientRect().left < "
               "document.querySelector('.runs').getBoundingClientRect().left"):
        fault("the names of configurations scroll away in a narrow window")


def take_pictures(pages, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with Chromium() as tab:
        for name, page in pages.items():
            for scheme in ("light", "dark"):
                open_page(tab, page)
                tab.emulate(scheme=scheme)
                tab.size(1280, min(8000, tab.run("document.documentElement.scrollHeight")))
                tab.wait("figures.every(one => one.querySelector('.holder svg'))")
                tab.picture(folder / f"{name}-{scheme}.png")


def outcome_of(check, pages):
    """The faults that a check finds. A browser that fails has a second chance: that is not the page's fault."""
    for last in (False, True):
        faults = []
        try:
            with Chromium() as tab:
                check(tab, pages, lambda text: faults.append(f"{check.__name__}: {text}"))
            return faults
        except BrowserFailed as why:
            print(f"{check.__name__}: {why}", file=sys.stderr)
            if last:
                raise
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("furlong")
    parser.add_argument("--pictures", metavar="FOLDER", type=Path, help="only make screenshots")
    options = parser.parse_args()
    if browser() is None:
        print("no Chromium here: skipped", file=sys.stderr)
        return NO_BROWSER
    try:
        with Chromium() as tab:
            tab.open("data:text/html,<p>starts</p>")
    except BrowserFailed as why:
        print(f"{browser()} does not start here: {why}: skipped", file=sys.stderr)
        return NO_BROWSER
    faults = []
    with tempfile.TemporaryDirectory(prefix="furlong-reports-") as folder:
        pages = make(str(Path(options.furlong).resolve()), Path(folder))
        if options.pictures:
            take_pictures(pages, options.pictures)
            return 0
        for check in [check_drawing, check_use, check_ranges, check_names, check_looks, check_hostile,
                      check_without_scripts, check_size, check_table]:
            faults += outcome_of(check, pages)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
