// Charts, drawn by Vega from a specification for each kind of chart and the data of one. Expressions are interpreted, not
// compiled, so that the page's policy need not allow eval.
const vega = (() => {
  const load = name => {
    const module = vegaModules[name];
    if (!module.exports) module(module.exports = {}, load, {});
    return module.exports;
  };
  for (const name of ["vega-transforms", "vega-view-transforms", "vega-encode"])
    Object.assign(load("vega-dataflow").transforms, load(name));
  return {View: load("vega-view").View, parse: load("vega-parser").parse,
          expr: load("vega-interpreter").expressionInterpreter};
})();
const numbers = {decimal: ".", thousands: ",", grouping: [3], currency: ["", ""], percent: "\u00a0%", minus: "\u2212"};
const formats = {percent: "%", accuracy: "%"};  // else a figure's step decides on its digits
const fonts = 'system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", "DejaVu Sans", sans-serif';
const dashes = [[1, 0], [7, 4], [2, 4], [9, 4, 2, 4]];
const onPage = name => `var(--${name})`;

// Colours as figures of the light page: a saved picture has no style sheet.
function onPaper() {
  const sample = element("i", {class: "light", hidden: ""});
  document.body.append(sample);
  const found = getComputedStyle(sample), read = name => found.getPropertyValue("--" + name).trim();
  const paint = Object.fromEntries([...Array(8).keys()].map(i => "c" + i).concat("ink", "soft", "grid", "panel", "line")
    .map(name => [name, read(name)]));
  sample.remove();
  return name => paint[name];
}

function unitOf(style, most) {
  if (style === "bytes") { const {name, size} = scaled(most, byteUnits); return {name, size}; }
  if (style === "seconds") { const {name} = scaled(most, timeUnits); return {name, size: secondsOf[name]}; }
  return {name: "", size: 1};
}

// The widths of curves by name, and a note. Of two or three that mostly lie on each other where the axis shows them,
// each is wider than the next, so that all are seen; more would look like an interval.
function widthsOf(series, low, high) {
  const near = (high - low) / 150, isShown = y => y >= low && y <= high;
  const meet = ({y: a}, {y: b}) => {
    const gaps = a.flatMap((y, i) => i < b.length && (isShown(y) || isShown(b[i])) ? [Math.abs(y - b[i])] : []);
    return 10 * gaps.filter(gap => gap <= near).length > 9 * gaps.length;
  };
  const met = series.map(one => series.flatMap((other, i) => meet(one, other) ? [i] : []));
  const most = Math.max(...met.map(list => list.length));
  return {wide: Object.fromEntries(met.map((list, i) =>
            [series[i].name, 1.9 + (list.length > 3 ? 0 : 3 * list.filter(j => j > i).length)])),
          note: most > 3 ? (most === series.length ? "All " : "") + most + " curves lie on each other." : ""};
}

// The extent of the curves; and of what follows their first sixth, if the last half would fill less than a fifth.
function extentsOf(rows) {
  const xs = rows.map(row => row.x), first = Math.min(...xs), length = Math.max(...xs) - first;
  const from = share => rows.filter(row => !row.failed && row.x >= first + share * length).reduce(
    ([low, high], {lo, hi}) => [Math.min(low, lo), Math.max(high, hi)], [Infinity, -Infinity]);
  const all = from(0), rest = from(1 / 6), half = from(0.5), margin = (rest[1] - rest[0]) / 10;
  return {all, rest: 0 < half[1] - half[0] && 5 * (half[1] - half[0]) < all[1] - all[0] ?
    [Math.max(all[0], rest[0] - margin), Math.min(all[1], rest[1] + margin)] : null};
}

// What each kind makes of its data: rows for Vega, signals, and the table of its values.
const kinds = {
  curves(chart, axis) {
    const name = chart.tracks[0][axis] ? axis : "rounds", style = {rounds: "count", time: "seconds", bytes: "bytes"}[name];
    const last = list => list.at(-1) || 0;
    const unit = unitOf(style, Math.max(...chart.tracks.map(track => last(track[name] || []))));
    const shown = chart.series.filter(one => !chart.hidden?.includes(one.name)), good = shown.filter(one => !one.failed);
    const fitted = good.length > 0 ? good : shown;  // failed ones do not decide on the range of y
    const high = Math.max(0, ...fitted.flatMap(one => (one.high || one.y).filter(isNumber)));
    const upward = unitOf(chart.style, high), rows = [], singles = [], values = [];
    const fits = value => isNumber(value) && !(chart.log && value <= 0);
    // A band ends where values do: at 0, unless some are below, and shares at 1.
    const least = chart.series.some(one => one.y.some(y => y < 0)) ? -Infinity : 0;
    const most = chart.style === "accuracy" ? 1 : Infinity;
    for (const one of chart.series) {
      const track = chart.tracks[one.track], few = one.y.length <= 30, drawn = shown.includes(one);
      const failed = !fitted.includes(one);
      one.y.forEach((y, i) => {
        const at = one.at ? one.at[i] : i, low = one.low ? one.low[i] : y, high = one.high ? one.high[i] : y;
        const lo = Math.max(least, low), hi = Math.min(most, high);
        values.push([one.name, ...["rounds", "time", "bytes"].map(x => track[x] && track[x][at]), y, low, high]);
        if (!fits(y) || !track[name] || !drawn) return;
        rows.push({s: one.name, failed, few, round: track.rounds[at], x: track[name][at] / unit.size, y: y / upward.size,
                   lo: (fits(lo) ? lo : y) / upward.size, hi: hi / upward.size});
      });
      for (const run of (chart.thin || chart.pale) && drawn ? one.runs || [] : []) {
        const own = chart.tracks[run.track];
        run.y.forEach((y, i) => fits(y) && own[name] && singles.push({s: one.name, failed, run: run.name,
          x: own[name][run.at ? run.at[i] : i] / unit.size, y: y / upward.size}));
      }
    }
    const {all, rest} = extentsOf(rows), short = chart.series.every(one => one.y.length < 10);
    const cut = chart.zero || chart.log || chart.whole || short ? null : rest, [low, end] = cut || [chart.zero ? 0 : all[0], all[1]];
    const {wide, note} = widthsOf(shown, low * upward.size, end * upward.size);
    for (const row of rows) row.wide = wide[row.s];
    const x = name === "time" ? chart.clock : {rounds: "round", bytes: "data up and down"}[name];
    return {data: {rows, singles}, heads: ["series", "round", "seconds", "bytes", chart.title, "low", "high"], values,
      note, back: row => ({x: row.x * unit.size, y: row.y * upward.size, lo: row.lo * upward.size, hi: row.hi * upward.size, style}),
      signals: {start: name === "rounds" ? null : 0, xTitle: x + (unit.name && ", " + unit.name),
                xStep: name === "rounds" ? 1 : 0, yTitle: upward.name, log: !!chart.log, zero: !!chart.zero && !chart.log,
                cut, lone: shown.length === 1, failed: fitted.length < shown.length,
                bandOpacity: Math.min(0.18, 0.6 / shown.filter(one => one.low).length)}};
  },
  bars(chart) {
    const unit = unitOf(chart.style, Math.max(0, ...chart.bars.flatMap(bar => bar.values.filter(isNumber))));
    const write = styles[chart.style], rows = [];
    for (const bar of chart.bars)
      chart.series.forEach((one, i) => isNumber(bar.values[i]) && rows.push({
        s: one.name, from: bar.from, to: bar.to, y: bar.values[i] / unit.size,
        label: write(bar.values[i]).replace(" %", "").replace(/^\d\.\d{4,}$/, () => bar.values[i].toFixed(3)),
        text: [chart.x + " " + bar.label, one.name + "  " + write(bar.values[i]),
               ...bar.more.map((text, j) => chart.heads[j] + "  " + text)].join("\n")}));
    return {data: {rows}, heads: [chart.x, ...chart.series.map(one => one.name), ...chart.heads],
      values: chart.bars.map(bar => [bar.label, ...bar.values, ...bar.more]),
      signals: {across: [chart.bars[0].from, chart.bars.at(-1).to], base: chart.base ?? null,
                ticks: chart.labelled ? chart.bars.map(bar => bar.label) : null,
                turned: !!chart.labelled && chart.bars.some(bar => 7 * bar.label.length > (chart.width - 70) / chart.bars.length),
                step: chart.step || 0, xTitle: chart.x, yTitle: unit.name}};
  },
  timeline(chart) {
    const unit = unitOf("seconds", chart.across[1]);
    const rows = chart.tasks.map(({client, from, to, s, open}) => ({s, from: from / unit.size, to: to / unit.size,
      text: `client ${whole(client)}, ${s}\n${span(from)} to ${open ? "after the round" : span(to)}`}));
    const moments = chart.moments.map(({at, name}, level) => ({at: at / unit.size, level,
      text: name + (at === 0 ? "" : ", " + span(at))}));
    return {data: {rows, moments}, heads: ["client", "outcome", "start, s", "end, s"],
      values: chart.tasks.map(({client, s, from, to, open}) => [client, s, from, open ? "at work" : to]),
      signals: {across: chart.across.map(at => at / unit.size), xTitle: chart.x + ", " + unit.name,
                height: Math.min(420, Math.max(150, 16 * rows.length))}};
  },
  quantiles(chart) {
    const write = styles[chart.style] || figure, rows = chart.series.flatMap(one => one.x.map((x, i) => ({s: one.name, x,
      y: one.y[i], few: one.x.length <= 30, text: `${(100 * x).toFixed(0)} % of the clients\n${one.name}  ${write(one.y[i])}`})));
    const shown = chart.series.filter(one => !chart.hidden?.includes(one.name)), ys = shown.flatMap(one => one.y);
    const {wide, note} = widthsOf(shown, chart.zero ? 0 : Math.min(...ys), Math.max(...ys));
    for (const row of rows) row.wide = wide[row.s];
    return {data: {rows}, note, heads: ["series", chart.x, chart.title], values: rows.map(({s, x, y}) => [s, x, y]),
      signals: {rule: chart.rule ?? null, zero: !!chart.zero, xTitle: chart.x, yTitle: chart.y || ""}};
  },
  participants(chart) {
    const rows = chart.points.map(([x, y, n, text]) => ({s: chart.series[0].name, x, y, n, text}));
    return {data: {rows}, heads: ["examples per second", "taste", "updates", "client"], values: chart.points, signals: {plane: true}};
  },
  points(chart) {
    const rows = chart.points.map(([group, x, y, text]) => ({s: chart.series[group].name, x, y, text}));
    return {data: {rows}, heads: ["group", "x", "y", "client"], values: chart.points.map(([, ...at], i) => [rows[i].s, ...at]), signals: {plane: true}};
  }
};

// A Vega view of a chart. `paint` gives colours by name; on paper, the picture has a title, a legend and a background.
function viewOf(chart, state, paint, paper) {
  const clone = what => structuredClone(what), common = clone(charts.common), spec = clone(charts[chart.kind]);
  const made = kinds[chart.kind]({...chart, ...state}, state.axis);
  const names = chart.series.map(one => one.name);
  const known = {names, colours: chart.series.map(one => paint("c" + one.colour % 8)), xFormat: ",f", yTitle: "",
    dashes: chart.series.map(one => dashes[Math.floor(one.colour / 8) % dashes.length]), hidden: state.hidden,
    yFormat: formats[chart.style] || ",f", yStep: chart.style === "count" ? 1 : 0, ink: paint("ink"), soft: paint("soft"), panel: paint("panel"), line: paint("line"), zoom: state.zoom ?? null, zoomY: state.zoomY ?? null,
    ...made.signals};
  const {height = spec.height || common.height, ...values} = known, declared = [...common.signals, ...(spec.signals || [])];
  spec.signals = [...Object.entries(values).map(([name, value]) =>
    ({...declared.find(signal => signal.name === name), name, value})), ...declared.filter(({name}) => !(name in values))];
  spec.height = height;
  spec.scales.push(...common.scales);
  if (state.log) spec.scales.find(scale => scale.name === "y").type = "log";
  for (const one of spec.data) if (made.data[one.name]) one.values = made.data[one.name];
  const soft = paint("soft"), shown = names.filter(name => !state.hidden.includes(name));
  Object.assign(spec, {padding: common.padding, autosize: common.autosize, width: paper ? 720 : state.width,
    description: chart.title, marks: [...spec.marks, ...(paper ? [] : common.marks)]});
  if (paper) Object.assign(spec, {padding: 12, background: "#ffffff", title: {text: chart.title, anchor: "start", subtitle: chart.line ? "dashed: " + chart.line : ""},
    autosize: {type: "pad"}, legends: shown.length === 0 || names.length === 1 && !chart.series[0].name ? [] : [
      {fill: "colour", orient: "bottom", columns: 2, labelLimit: 330, symbolType: "square", values: shown}]});
  const axis = {labelColor: soft, titleColor: soft, tickColor: soft, domainColor: soft, gridColor: paint("grid"),
    labelFont: fonts, titleFont: fonts, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelSeparation: 6};
  const view = new vega.View(vega.parse(spec, {axis, aria: !!paper, text: {font: fonts, fontSize: 12},
    title: {font: fonts, fontSize: 15, color: paint("ink"), subtitleFont: fonts, subtitleFontSize: 12, subtitleColor: soft}, axisLeft: {minExtent: 44},
    legend: {labelFont: fonts, labelFontSize: 12, labelColor: paint("ink"), symbolStrokeWidth: 0}}, {ast: true}),
    {expr: vega.expr, renderer: paper ? "none" : "svg", locale: {number: numbers}});
  return {view, made};
}

function save(name, type, content) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  element("a", {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const csvOf = ({heads, values}) => [heads, ...values].map(row => row.map(cell => {
  const text = cell === null || cell === undefined ? "" : String(cell);
  return /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}).join(",")).join("\n") + "\n";

// The chart in words, for those who cannot see it.
function inWords(chart) {
  const write = styles[chart.style] || whole;
  if (chart.kind !== "curves")
    return chart.series.map(one => one.name + (one.value ? " " + one.value : "")).filter(Boolean).join(", ") + ".";
  return chart.series.map(({name, y}) => {
    const known = y.filter(isNumber);
    return `${name}: ${whole(known.length)} points, first ${write(known[0])}, last ${write(known.at(-1))}, ` +
      `lowest ${write(Math.min(...known))}, highest ${write(Math.max(...known))}.`;
  }).join(" ");
}

// Where curves that do not decide on the axis stay outside of it.
function outside(rows, view) {
  const names = [...new Set(rows.filter(row => row.failed).map(row => row.s))];
  const [low, high] = names.length > 0 ? view.scale("y").domain() : [];
  return names.map(name => {
    const own = rows.filter(row => row.s === name), last = own.findLastIndex(row => row.y >= low && row.y <= high);
    return last + 1 < own.length ? `${name} is outside the axis from round ${whole(own[last + 1].round)} on.` : "";
  });
}

// A figure for a chart, empty until draw() is called. `state.hidden` may be shared with others, as `axis` is; then
// `changed` draws them all.
function chartFigure(chart, state, axis = {axis: "rounds"}, changed = null) {
  const inside = element("div");  // Vega gives it a role of its own
  const holder = element("div", {class: "holder waiting", role: "img", "aria-label": chart.title + ". " + inWords(chart)}, inside);
  const own = Object.assign(state, {hidden: [], log: false, thin: false, width: 500, ...state}), file = chart.title.replace(/[^\w.-]+/g, "-");
  const hint = element("p", {class: "hint"}, chart.note || "");
  let drawn = null;
  const draw = async whole => {  // a zoom stays, unless all is wanted
    holder.classList.remove("waiting");
    own.width = Math.max(240, holder.clientWidth || own.width);
    if (drawn) for (const name of ["zoom", "zoomY"]) own[name] = whole === true ? null : drawn.view.signal(name);
    drawn?.view.finalize();
    drawn = viewOf(chart, {...own, ...axis}, onPage);
    const {view, made} = drawn, write = styles[chart.style] || figure;
    view.tooltip((_, event, item, value) => chart.kind === "curves" || tell(event, ...(value ? [value] : [])));
    if (chart.kind === "curves") {
      let last = null;
      view.addEventListener("mousemove", event => { last = event; });
      view.addDataListener("near", (_, near) => {
        if (!last || near.length === 0) return tell();
        const rows = near.map(row => ({...row, ...made.back(row)})), first = rows.reduce((a, b) => b.d < a.d ? b : a);
        tell(last, element("b", {}, (rows[0].style === "count" ? "round " : "") + styles[rows[0].style](first.x)),
          rows.map(row => element("div", {}, element("i", {class: "dot c" + chart.series.find(one => one.name === row.s)
            .colour % 8}), row.s + "  " + write(row.y) + (row.lo < row.hi ? ` (${write(row.lo)} to ${write(row.hi)})` : ""))));
      });
    }
    await view.initialize(inside).runAsync();
    hint.textContent = unbroken([chart.note, made.note, ...outside(made.data.rows, view)].filter(Boolean).join(" "));
  };
  const figure_ = element("figure", {class: "plot " + chart.kind, "aria-label": chart.title});
  const toggled = (name, key) => button(name, {"aria-pressed": "false"}, event => {
    own[key] = !own[key];
    event.currentTarget.setAttribute("aria-pressed", own[key]);
    draw();
  });
  const paper = () => viewOf(chart, {...own, ...axis}, onPaper(), true).view;
  figure_.append(element("figcaption", {}, chart.title), element("div", {class: "tools"},
    chart.kind !== "curves" ? null : [toggled("log", "log"),
      chart.series.some(one => one.runs) && !chart.pale ? toggled("runs", "thin") : null],
    chart.kind === "map" ? null : button("reset zoom", {title: "drag over the chart to zoom"}, () => draw(true)),
    button("SVG", {}, async () => save(file + ".svg", "image/svg+xml", await paper().toSVG())),
    button("PNG", {}, async () => (await paper().toCanvas(2)).toBlob(blob => save(file + ".png", "image/png", blob))),
    button("CSV", {}, () => save(file + ".csv", "text/csv", csvOf(kinds[chart.kind](chart, "rounds"))))));
  if (chart.untitled) figure_.firstChild.hidden = true;
  if (!chart.bare || chart.line)
    figure_.append(legendOf(chart.bare ? [] : chart.series, own.hidden, changed || draw, styles[chart.style], chart.line));
  figure_.append(holder);
  figure_.append(hint);
  if (chart.kind === "bars" || chart.kind === "timeline") {
    const {heads, values} = kinds[chart.kind](chart), write = styles[chart.style] || figure;
    figure_.append(element("details", {class: "values"}, element("summary", {}, "Values"), table({
      heads: heads.map((name, i) => ({name, numeric: i > 0})),
      rows: values.map(row => row.map((value, i) => i > 0 && typeof value !== "string" ? write(value) : value))})));
  }
  new ResizeObserver(() => drawn && holder.isConnected && Math.abs(holder.clientWidth - own.width) > 4 && draw()).observe(holder);
  return Object.assign(figure_, {draw, paper, chart, state: own, view: () => drawn?.view});
}

const swatch = colour => element("i", {class: `dot c${colour % 8} d${Math.floor(colour / 8) % 4}`});

// Buttons that show and hide series. With one series hidden after the other, the last one brings all back.
function legendOf(series, hidden, draw, write = figure, line = "") {
  const list = element("ul", {class: "legend"}), shown = series.filter(one => one.name);
  const mark = () => [...list.querySelectorAll("button")].forEach((one, i) =>
    one.setAttribute("aria-pressed", !hidden.includes(shown[i].name)));
  const lastOf = one => one.value ?? (one.y ? write(one.y.findLast(isNumber)) : "");
  if (shown.length === 0 && series[0] && lastOf(series[0]))
    list.append(element("li", {}, "value" in series[0] ? "" : "last value ", element("b", {}, lastOf(series[0]))));
  for (const one of shown) {
    const last = lastOf(one);
    list.append(element("li", {}, button([], {}, () => {
      const at = hidden.indexOf(one.name);
      at < 0 ? hidden.push(one.name) : hidden.splice(at, 1);
      if (hidden.length === shown.length) hidden.length = 0;
      mark();
      draw();
    })));
    list.lastChild.firstChild.append(swatch(one.colour), one.name, last && element("b", {}, last));
  }
  if (line) list.append(element("li", {}, element("i", {class: "rule"}), line));
  mark();
  return Object.assign(list, {mark});
}
