"use strict";
// Whatever the data say goes into the page as text nodes and attributes of elements made here, never as HTML.
const byId = id => document.getElementById(id);

// With no-break spaces between figures and their units, and a sign for minus.
const unbroken = text => text.replace(/(^|[\s(])-(?=\d)/g, "$1\u2212")
  .replace(/(\d) (?=(?:%|[kMGT]?B|s|min|h|d)(?![\w-]))/g, "$1\u00a0");

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children.flat().filter(child => child !== null && child !== undefined)
    .map(child => typeof child === "string" && name !== "code" ? unbroken(child) : child));
  return made;
}

function button(text, attributes, act) {
  const made = element("button", {type: "button", ...attributes}, text);
  made.addEventListener("click", act);
  return made;
}

const isNumber = value => typeof value === "number" && Number.isFinite(value);
const whole = value => isNumber(value) ? Math.round(value).toLocaleString("en") : "–";
const two = value => String(value).padStart(2, "0");
const total = counts => Object.values(counts || {}).reduce((sum, one) => sum + one, 0);

function figure(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e7)) return value.toExponential(2);
  return size < 1000 ? value.toFixed(size === 0 ? 0 : size < 10 ? 4 : size < 100 ? 2 : 1) : whole(value);
}

function scaled(value, units) {  // units: ascending [name, size]
  const [name, size] = units.findLast(([, size]) => Math.abs(value) >= size) || units[0];
  return {name, size, value: value / size};
}
const byteUnits = [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]];
const timeUnits = [["s", 0], ["min", 180], ["h", 10800], ["d", 259200]];
const secondsOf = {s: 1, min: 60, h: 3600, d: 86400};

function bytes(value) {
  if (!isNumber(value)) return "–";
  const {name, size, value: some} = scaled(value, byteUnits);
  return some.toFixed(size === 1 || some >= 99.95 ? 0 : some >= 9.995 ? 1 : 2) + " " + name;
}

function span(seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds < 0) return "-" + span(-seconds);
  if (seconds < 59.95) return seconds.toFixed(seconds < 10 ? 2 : 1) + " s";
  const all = Math.round(seconds);
  if (all < 3600) return Math.floor(all / 60) + " min " + two(all % 60) + " s";
  if (all < 172800) return Math.floor(all / 3600) + " h " + two(Math.floor(all / 60) % 60) + " min";
  return whole(Math.floor(all / 86400)) + " d " + two(Math.floor(all / 3600) % 24) + " h";
}

// A figure of a style as C++ writes it (number_style).
const percentage = decimals => value => isNumber(value) ? (100 * value).toFixed(decimals) + " %" : "–";
const styles = {plain: figure, count: whole, bytes, seconds: span, percent: percentage(1), accuracy: percentage(2),
  mean: value => Number.isInteger(value) ? whole(value) : figure(value)};

// A figure with its name, for a list of class cards.
const card = (name, value, more, bad) => element("div", {class: bad ? "card bad" : "card"},
  element("dt", {}, name), element("dd", {}, element("b", {}, value), more));

// Shows text, or elements, beside the pointer.
function tell(event, ...said) {
  const tip = byId("tip");
  tip.hidden = said.length === 0;
  if (tip.hidden) return;
  tip.replaceChildren(...said.flat());
  const place = (at, size, room) => Math.max(4, at + 14 + size < room ? at + 14 : at - 14 - size) + "px";
  tip.style.left = place(event.clientX, tip.offsetWidth, innerWidth);
  tip.style.top = place(event.clientY, tip.offsetHeight, innerHeight);
}

// heads: {name, group, numeric}; rows: cells, each a text, an element, or {text, spread, value, best}.
function table({caption, heads, rows}) {
  const cell = (what, i) => {
    const made = what && typeof what === "object" && !(what instanceof Node) ? what : {text: what};
    const kind = [heads[i].numeric ? "num" : "", made.best ? "best" : ""].join(" ").trim();
    return element(i === 0 ? "th" : "td", {...(i === 0 && {scope: "row"}), ...(kind && {class: kind}),
      ...(made.value !== undefined && made.value !== null && {"data-value": made.value})}, made.text ?? "",
      made.spread ? element("small", {}, made.spread) : null);
  };
  const groups = [];  // of adjacent columns
  for (const {group} of heads) groups.length && group && groups[groups.length - 1][0] === group
    ? ++groups[groups.length - 1][1] : groups.push([group, 1]);
  const made = element("table", {}, caption ? element("caption", {}, caption) : null, element("thead", {},
    groups.some(([group]) => group) ? element("tr", {class: "groups"}, groups.map(([group, colspan]) =>
      group ? element("th", {scope: "colgroup", colspan}, group) : element("td"))) : null,
    element("tr", {}, heads.map(head => element("th", {scope: "col", ...(head.numeric && {class: "num"})}, head.name)))),
    element("tbody", {}, rows.map(row => element("tr", {class: row.kind || ""}, (row.cells || row).map(cell)))));
  return element("div", {class: "scroll", tabindex: 0}, made);
}

// Numbers within texts count as numbers.
function inOrder(a, b) {
  const [some, others] = [a, b].map(text => text.replaceAll(",", "").split(/(\d+(?:\.\d+)?(?:e[+-]?\d+)?)/));
  for (let i = 0; i < Math.min(some.length, others.length); ++i) {
    const order = i % 2 ? some[i] - others[i] : some[i].localeCompare(others[i], "en");
    if (order) return order;
  }
  return some.length - others.length;
}

// Makes the heads of a table, in its frame, buttons that sort its rows.
function sortable(frame) {
  const of = frame.firstChild, heads = [...of.tHead.rows[of.tHead.rows.length - 1].cells], body = of.tBodies[0];
  heads.forEach((head, i) => head.replaceChildren(button(head.textContent, {class: "sort"}, () => {
    const down = head.ariaSort === "ascending", first = down ? -1 : 1;
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.ariaSort = down ? "descending" : "ascending";
    const value = row => row.cells[i].dataset.value ?? row.cells[i].textContent;
    body.append(...[...body.rows].sort((a, b) => first * inOrder(value(a), value(b))));
  })));
  return frame;
}
