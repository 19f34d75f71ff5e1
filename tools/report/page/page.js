// The page of a report: charts, tables and texts from the data in it.
const data = JSON.parse(byId("data").textContent), content = byId("content");
const axis = {axis: data.asynchronous && data.tracks[0].time ? "time" : "rounds"}, hidden = [], figures = [];
const say = (kind, text) => text ? element("p", {class: kind}, text) : null;

function aboutLine(run) {
  return element("p", {class: "about"}, run.about.join(" · "), " ", run.badge ? element("strong", {class: "badge"}, run.badge) : "");
}

const cardsOf = run => element("dl", {class: "cards"},
  run.cards.map(({name, value, details}) => card(name, value, details.join(", "))));

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

function sectionOf({title, note, charts, table: figuresOf}) {
  const plots = charts.map(chart => {
    const known = {tracks: data.tracks, clock: data.clock, bare: chart.shared && many, ...chart};
    const made = chartFigure(known, chart.shared ? {hidden} : {}, axis, chart.shared ? redraw : null);
    figures.push(made);
    return made;
  });
  return [element("h2", {}, title), title === "Learning" ? axisSwitch() : null,
    element("div", {class: "plots"}, plots), figuresOf ? sortable(table(figuresOf)) : null, say("hint", note)];
}

const alone = data.runs.length === 1 ? data.runs[0] : null;
if (alone) byId("about").append(aboutLine(alone), ...alone.notes.map(text => say("note", text)));
const {main} = data, mainTable = main && table(main);
content.append(...[main?.title ? element("h2", {}, main.title) : null, mainTable, say("note", main?.warning),
  ...(main?.notes || []).map(text => say("hint", text)), say("hint", main?.hint)].filter(Boolean));
if (alone) content.prepend(cardsOf(alone));
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
if (mainTable && !alone) {
  mainTable.classList.add("runs");
  sortable(mainTable);
  if (shared.length > 0) [...mainTable.querySelectorAll("tbody th")].forEach((cell, i) => cell.prepend(swatch(i)));
}

// A chart is drawn when it comes into view, and all before they are printed.
const draw = one => one.drawn || (one.drawn = true, one.draw());
const watch = new IntersectionObserver(entries => entries.forEach(entry => entry.isIntersecting && draw(entry.target)),
  {rootMargin: "100px"});
figures.forEach(one => watch.observe(one));
addEventListener("beforeprint", () => figures.forEach(draw));
