// The page of a report: charts, tables and texts from the data in it.
const data = JSON.parse(byId("data").textContent), content = byId("content");
const axis = {axis: "rounds"}, hidden = [], figures = [];
const say = (kind, text) => text ? element("p", {class: kind}, text) : null;

function aboutLine(run) {
  return element("p", {class: "about"}, run.about.join(" · "), " ", run.badge ? element("strong", {class: "badge"}, run.badge) : "");
}

function cardsOf(run) {
  return element("dl", {class: "cards"}, run.cards.map(({name, value, details}) => element("div", {class: "card"},
    element("dt", {}, name), element("dd", {}, element("b", {}, value), details.join(", ")))));
}

function tablesOf(run) {
  const parts = run.tables.map(of => element("section", {}, element("h3", {}, of.title), table(of),
    say("note", of.warning), say("hint", of.hint)));
  const wide = part => part.querySelectorAll("thead th").length > 4 || part.querySelectorAll("tr").length > 30;
  return [element("div", {class: "pair"}, parts.filter(part => !wide(part))), ...parts.filter(wide),
    run.hashes.length === 0 ? null : element("section", {}, element("h3", {}, "Hashes"),
      say("hint", "SHA-256 of the final parameters: equal hashes, equal bits."), element("dl", {class: "hashes"},
        run.hashes.flatMap(([what, hash]) => [element("dt", {}, what), element("dd", {}, element("code", {}, hash))])))];
}

const scenarioOf = run => run.scenario ? element("details", {}, element("summary", {}, "Resolved scenario"),
  element("pre", {tabindex: 0}, element("code", {}, run.scenario))) : null;

// A run among others: shut, and made when it is opened.
function runDetails(run) {
  const body = element("div", {}), made = element("details", {class: "run"},
    element("summary", {}, run.label, " ", run.badge ? element("strong", {class: "badge"}, run.badge) : ""), body);
  made.addEventListener("toggle", () => body.childNodes.length ||
    body.append(aboutLine(run), ...run.notes.map(text => say("note", text)), cardsOf(run), ...tablesOf(run).filter(Boolean),
                scenarioOf(run) || ""), {once: true});
  return made;
}

const redraw = whole => {
  document.querySelectorAll(".legend").forEach(one => one.mark());
  figures.filter(one => one.drawn).forEach(one => one.draw(whole));
};

// What the curves of a section stand over.
function axisSwitch() {
  const names = {rounds: "rounds", time: data.clock, bytes: "data moved"};
  const there = Object.keys(names).filter(name => data.tracks.some(track => track[name]));
  const made = element("div", {class: "switch", role: "group", "aria-label": "x axis of the curves"}, "curves by",
    there.map(name => button(names[name], {"aria-pressed": String(name === axis.axis)}, event => {
      made.querySelectorAll("button").forEach(one => one.setAttribute("aria-pressed", String(one === event.currentTarget)));
      axis.axis = name;
      redraw(true);
    })));
  return there.length > 1 ? made : null;
}

function sectionOf({title, note, charts}) {
  const plots = charts.map(chart => {
    const known = {tracks: data.tracks, clock: data.clock, bare: chart.shared && many, ...chart};
    const made = chartFigure(known, chart.shared ? {hidden} : {}, axis, chart.shared ? redraw : null);
    figures.push(made);
    return made;
  });
  return [element("h2", {}, title), title === "Learning" ? axisSwitch() : null,
    element("div", {class: "plots"}, plots), say("hint", note)];
}

const alone = data.runs.length === 1 ? data.runs[0] : null;
if (alone) {
  byId("about").append(aboutLine(alone), ...alone.notes.map(text => say("note", text)));
  byId("about").after(cardsOf(alone));
}
const shared = data.sections.flatMap(section => section.charts).filter(chart => chart.shared);
const series = new Map(shared.flatMap(chart => chart.series).map(({name, colour}) => [name, {name, colour}]));
const many = series.size > 6;  // legends would be taller than their charts
if (many) {
  const legend = legendOf([...series.values()], hidden, redraw);
  legend.classList.add("common");
  legend.setAttribute("aria-label", "Configurations: show or hide");
  content.append(legend);
}
content.append(...[say("hint", data.hint), ...data.sections.flatMap(sectionOf)].filter(Boolean));
if (alone) content.append(...tablesOf(alone).filter(Boolean), scenarioOf(alone) || "");
else if (data.runs.length > 0) content.append(element("h2", {}, "Runs"), ...data.runs.map(runDetails));
document.querySelectorAll(".runs table").forEach(of => {
  sortable(of);
  if (shared.length > 0) [...of.tBodies[0].rows].forEach((row, i) => row.cells[0].prepend(swatch(i)));
});

// What is seen is drawn at once, the rest when there is time, and all before it is printed.
const pending = new Set(figures);
const draw = one => pending.delete(one) && (one.drawn = true, one.draw());
const watch = new IntersectionObserver(entries => entries.forEach(entry => entry.isIntersecting && draw(entry.target)),
  {rootMargin: "200px"});
figures.forEach(one => watch.observe(one));
const idle = () => {
  const [next] = pending;
  if (!next) return;
  draw(next);
  setTimeout(idle, 20);
};
addEventListener("load", () => setTimeout(idle, 300));
addEventListener("beforeprint", () => [...pending].forEach(draw));
