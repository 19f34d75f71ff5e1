"use strict";
// Everything that the server says goes into the page as text nodes and attributes of elements made here, never as HTML.
const byId = id => document.getElementById(id);
const holderOf = id => document.querySelector("#" + id + " .holder");

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children.filter(child => child !== null && child !== undefined).map(child =>
    child instanceof Node ? child : String(child)));
  return made;
}

function drawn(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const isNumber = value => typeof value === "number" && Number.isFinite(value);
const whole = value => isNumber(value) ? Math.round(value).toLocaleString("en") : "–";

function figure(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return value.toExponential(2);
  return value.toFixed(size < 10 ? 4 : size < 1000 ? 2 : 0);
}

function share(part, all) {
  return all > 0 ? (100 * part / all).toFixed(part === all || part === 0 ? 0 : 1) + " %" : "–";
}

function bytes(value) {
  if (!isNumber(value)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (value >= 1000 && at < units.length - 1) { value /= 1000; ++at; }
  return (at === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)) + " " + units[at];
}

function span(seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds < 0) return "0 s";
  if (seconds < 10) return seconds.toFixed(seconds < 1 ? 2 : 1) + " s";
  const all = Math.round(seconds);
  if (all < 60) return all + " s";
  if (all < 3600) return Math.floor(all / 60) + " min " + all % 60 + " s";
  if (all < 86400) return Math.floor(all / 3600) + " h " + Math.floor(all / 60) % 60 + " min";
  return Math.floor(all / 86400) + " d " + Math.floor(all / 3600) % 24 + " h";
}

function clock(seconds) {
  if (!isNumber(seconds) || seconds <= 0) return "–";
  const when = new Date(seconds * 1000), two = value => String(value).padStart(2, "0");
  const time = two(when.getHours()) + ":" + two(when.getMinutes()) + ":" + two(when.getSeconds());
  const day = when.getFullYear() + "-" + two(when.getMonth() + 1) + "-" + two(when.getDate());
  return when.toDateString() === new Date().toDateString() ? time : day + " " + time;
}

const total = counts => Object.values(counts || {}).reduce((sum, one) => sum + one, 0);
const clientsOf = node => node.first === node.last ? String(node.first) : node.first + "–" + node.last;

// A name that came from elsewhere, on one line and not too long for a drawing.
function shortened(text, longest) {
  const line = [...String(text).replace(/\s+/g, " ")];
  return line.length <= longest ? line.join("") : line.slice(0, Math.max(1, longest - 1)).join("") + "…";
}

// Shows text beside the pointer while it is over an element; `text` is asked when it is needed.
function explain(target, text) {
  const tip = byId("tip");
  const show = event => {
    const said = text(event);
    tip.hidden = !said;
    if (!said) return;
    tip.textContent = said;
    const place = (at, size, room) => Math.max(4, at + 14 + size < room ? at + 14 : at - 14 - size) + "px";
    tip.style.left = place(event.clientX, tip.offsetWidth, innerWidth);
    tip.style.top = place(event.clientY, tip.offsetHeight, innerHeight);
  };
  target.addEventListener("pointermove", show);
  target.addEventListener("pointerdown", show);
  target.addEventListener("pointerleave", () => { tip.hidden = true; });
}
