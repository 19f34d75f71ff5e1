#include "tools/report/detail/style.hpp"

namespace furlong::tools {

// Colours: c0 to c7 are the palette of Okabe and Ito, told apart with any colour vision; shades moved to keep a
// contrast of 3:1 against each background.
std::string_view style_sheet() {
  return R"css(
:root{color-scheme:light dark;--page:#fbfbf9;--panel:#fff;--ink:#1d2329;--soft:#5a646e;--line:#e3e4df;--grid:#ecece8;
--best:#eaf4ee;--shade:#0003;--warn:#fdf3e1;--warn-ink:#7a4b00;
--c0:#0072b2;--c1:#d55e00;--c2:#00916b;--c3:#b8578f;--c4:#b37700;--c5:#3d9bd0;--c6:#59636d;--c7:#7a5cc0}
@media (prefers-color-scheme:dark){:root{--page:#14171a;--panel:#1b1f23;--ink:#e4e7ea;--soft:#9aa4ae;--line:#2d3338;
--grid:#272c31;--best:#1c3329;--shade:#000c;--warn:#33270f;--warn-ink:#f0c674;
--c0:#56b4e9;--c1:#f58a4b;--c2:#2fc49a;--c3:#e08fbd;--c4:#eab13c;--c5:#8fd0f5;--c6:#a9b3bd;--c7:#b49cf0}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans","DejaVu Sans",sans-serif;
font-variant-numeric:tabular-nums lining-nums}
main{max-width:76rem;margin:0 auto;padding:2.75rem 1.5rem 4rem}
header{margin-bottom:1.75rem}
.over{margin:0 0 .3rem;color:var(--soft);font-size:.78rem;font-weight:600;letter-spacing:.09em;text-transform:uppercase}
h1{margin:0;font-size:clamp(1.6rem,4vw,2.3rem);line-height:1.15;letter-spacing:-.018em;text-wrap:balance;
overflow-wrap:anywhere}
h2{margin:2.75rem 0 .8rem;padding-top:1.1rem;border-top:1px solid var(--line);font-size:1.2rem;line-height:1.3;
letter-spacing:-.008em}
h3{margin:0;font-size:1.1rem;overflow-wrap:anywhere}
.about{margin:.5rem 0 0;color:var(--soft)}
.about span{overflow-wrap:anywhere}
.about i{font-style:normal;opacity:.6}
.badge{padding:.1em .6em;border-radius:1em;background:var(--warn);color:var(--warn-ink);font-size:.8rem;font-weight:600}
.note{margin:.6rem 0;padding:.55rem .9rem;border-left:3px solid currentColor;border-radius:0 4px 4px 0;
background:var(--warn);color:var(--warn-ink);font-size:.92rem}
.hint{margin:.5rem 0;color:var(--soft);font-size:.88rem}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(11.5rem,1fr));gap:.75rem;margin:0}
.card{padding:.8rem 1rem .85rem;border:1px solid var(--line);border-radius:8px;background:var(--panel)}
.card dt{color:var(--soft);font-size:.82rem}
.card dd{margin:.1rem 0 0}
.card b{display:block;color:var(--ink);font-size:1.4rem;font-weight:600;line-height:1.3;letter-spacing:-.01em}
.card dd{color:var(--soft);font-size:.82rem;line-height:1.4}
.card span{display:inline-block;max-width:100%}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:1rem}
.plot{position:relative;margin:0;padding:.9rem 1rem .6rem;border:1px solid var(--line);
border-radius:8px;background:var(--panel);min-width:0}
.plots .plot:only-child{max-width:44rem}
figcaption{font-weight:600;font-size:.98rem}
.legend{display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;margin:.15rem 0 .55rem;padding:0;list-style:none;font-size:.86rem;
color:var(--soft)}
.legend li{display:flex;align-items:center;gap:.4rem;min-width:0;overflow-wrap:anywhere}
.legend b{color:var(--ink);font-weight:600;white-space:nowrap}
.chart{display:block;width:100%;height:auto;overflow:visible;touch-action:pan-y}
.swatch{flex:none;width:26px;height:8px;margin-right:.1rem}
svg .line,svg .wide,svg .pale{fill:none;stroke-width:1.9;stroke-linejoin:round;stroke-linecap:round}
svg .wide{stroke-width:7;stroke-opacity:.35;stroke-linecap:butt}
svg .pale{stroke-width:.9;stroke-opacity:.3;stroke-dasharray:none}
.grid line{stroke:var(--grid);stroke-width:1}
.grid .base,.grid .tick{stroke:var(--soft);stroke-opacity:.55}
.grid text{fill:var(--soft);font-size:12px}
.off{fill:var(--soft);font-size:12px}
.ends text{fill:var(--ink);font-size:11px}
svg .whole{fill:none;stroke:var(--ink);stroke-width:1.5;stroke-dasharray:5 3}
.halo{paint-order:stroke;stroke:var(--panel);stroke-width:5px;stroke-linejoin:round}
.moment{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:5 3}
.swatch.square{width:10px;height:10px}
.plot .hint{margin:.1rem 0 .3rem;font-size:.82rem}
.values{margin:.2rem 0 0;border:0;background:none}
.values summary{padding:.1rem 0;color:var(--soft);font-size:.82rem;font-weight:400}
.values .scroll{max-height:18rem;overflow:auto;margin:.3rem 0 .4rem}
.values table,.runs .values table{font-size:.82rem}
.values th,.values td{padding:.2rem .6rem}
.rule{stroke:var(--soft);stroke-width:1;stroke-dasharray:3 3}
.tip{position:absolute;z-index:2;pointer-events:none;padding:.4rem .6rem;border:1px solid var(--line);border-radius:6px;
background:var(--panel);box-shadow:0 3px 14px rgb(0 0 0/.16);font-size:.8rem;line-height:1.45;max-width:80%}
.tip b{display:block}
.tip i{display:inline-block;width:.6rem;height:.6rem;margin-right:.4rem;border-radius:50%}
.scroll{position:relative;overflow-x:auto;border:1px solid var(--line);border-radius:8px;
background:linear-gradient(to right,var(--panel) 40%,transparent) 0 0/2.5rem 100% no-repeat local,
linear-gradient(to left,var(--panel) 40%,transparent) 100% 0/2.5rem 100% no-repeat local,
linear-gradient(to right,var(--shade),transparent) 0 0/1rem 100% no-repeat scroll,
linear-gradient(to left,var(--shade),transparent) 100% 0/1rem 100% no-repeat scroll,var(--panel)}
.scroll::-webkit-scrollbar{width:.7rem;height:.7rem}
.scroll::-webkit-scrollbar-thumb{border:.2rem solid var(--panel);border-radius:.35rem;background:var(--soft)}
table{border-collapse:collapse;width:100%;font-size:.92rem}
caption{padding:.65rem .9rem .35rem;text-align:left;color:var(--soft);font-size:.86rem}
th,td{padding:.42rem .9rem;text-align:left;font-weight:400;vertical-align:baseline}
thead th::first-letter{text-transform:uppercase}
thead th{color:var(--soft);font-size:.82rem;font-weight:600;white-space:nowrap}
.groups th{padding-bottom:0;text-align:center}
.groups th::after{content:"";display:block;height:1px;margin-top:.3rem;background:var(--line)}
tbody tr{border-top:1px solid var(--line)}
.num{text-align:right;white-space:nowrap}
.best{font-weight:700;background:var(--best)}
.mark{position:absolute;margin-left:.2em;color:var(--c2);font-size:.7em;line-height:2.2}
.total{font-weight:600}
.total th,.total td{font-weight:600}
td:not(.num):last-child{min-width:9rem}
.none{color:var(--soft)}
.part th{padding-left:2.2rem}
.part{color:var(--soft);font-size:.88rem;border-top-style:dotted}
.fit{width:fit-content;max-width:100%}
.fit table{width:auto}
.runs{width:max-content;min-width:100%;max-width:calc(100vw - 4rem);margin-left:50%;transform:translateX(-50%)}
.runs table{font-size:.88rem}
.runs th,.runs td{padding-left:.45rem;padding-right:.75rem;white-space:nowrap}
.runs tbody th,.runs thead tr:last-child th{white-space:normal}
.runs thead tr:last-child th{vertical-align:bottom}
.runs tbody th,.runs thead tr:last-child th:first-child{position:sticky;left:0;z-index:1;
background:var(--panel)}
.runs th:first-child{padding-left:.9rem}
.runs th .swatch{margin-right:.5rem;vertical-align:middle}
.runs tbody th{font-weight:600;min-width:8.5rem}
.pair{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,27rem),1fr));gap:0 1.5rem;align-items:start}
.hashes{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem;margin:0;font-size:.9rem}
.hashes dt{color:var(--soft)}
.hashes dd{margin:0;min-width:0}
code{font:.86em/1.5 ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace;
overflow-wrap:anywhere}
details{margin:1rem 0 0;border:1px solid var(--line);border-radius:8px;background:var(--panel)}
summary{padding:.6rem .9rem;cursor:pointer;font-weight:600;font-size:.95rem}
pre{margin:0;padding:.2rem .9rem .9rem;overflow-x:auto}
pre code{overflow-wrap:normal;white-space:pre}
details .inside{padding:0 .9rem .9rem}
details .inside h2{margin:1rem 0 .6rem;padding:0;border:0;font-size:1rem}
.run{margin-top:1.5rem;padding-top:1.5rem;border-top:1px solid var(--line)}
.run:first-of-type{border-top:0;padding-top:0}
.run h3 .swatch{margin-right:.6rem;vertical-align:middle}
.run .cards{margin-top:.9rem}
footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--soft);font-size:.85rem}
@media (max-width:34rem){main{padding:1.6rem .9rem 3rem}.cards{grid-template-columns:1fr 1fr;gap:.55rem}
.card{padding:.65rem .75rem}.card b{font-size:1.15rem}.plot{padding:.75rem .55rem .4rem}.grid text,.off{font-size:17px}
.ends,.grid .minor{display:none}
table,.runs table{font-size:.85rem}th,td{padding:.4rem .5rem}
.hashes{grid-template-columns:1fr;gap:0}.hashes dd{margin-bottom:.5rem}}
@media print{:root{color-scheme:light;--page:#fff;--panel:#fff;--ink:#000;--soft:#444;--line:#ccc;--grid:#e6e6e6;
--best:#eee;--shade:#0000;--warn:#fff;--warn-ink:#333;
--c0:#0072b2;--c1:#d55e00;--c2:#00916b;--c3:#b8578f;--c4:#b37700;--c5:#3d9bd0;--c6:#59636d;--c7:#7a5cc0}
body{font-size:10pt}main{max-width:none;padding:0}.plot,.card,tr,.run>header{break-inside:avoid}h2,h3{break-after:avoid}
.plots{grid-template-columns:1fr 1fr}.scroll{overflow:visible}.tip,.values{display:none}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)css";
}

std::string_view hover_script() {
  return R"js(
"use strict";
for (const svg of document.querySelectorAll("svg.chart")) {
  // The title would pop up over the values.
  const title = svg.querySelector("title");
  svg.setAttribute("aria-label", title.textContent);
  svg.setAttribute("aria-describedby", svg.querySelector("desc").id);
  svg.removeAttribute("aria-labelledby");
  title.remove();
  const curves = [...svg.querySelectorAll("g.curve")].map(g => ({
    name: g.dataset.name, colour: g.dataset.colour,
    points: g.dataset.points.split("|").map(p => p.split(";")).map(([at, x, y]) => ({at: +at, x, y}))}));
  if (!curves.length) continue;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  svg.parentNode.append(tip);
  const rule = document.createElementNS(svg.namespaceURI, "line");
  rule.setAttribute("class", "rule");
  rule.setAttribute("y1", 12);
  rule.setAttribute("y2", 236);
  const hide = () => { tip.hidden = true; rule.remove(); };
  const nearest = (points, at) => {
    let low = 0, high = points.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle].at < at) low = middle + 1; else high = middle;
    }
    const before = points[Math.max(0, low - 1)];
    return Math.abs(before.at - at) < Math.abs(points[low].at - at) ? before : points[low];
  };
  const show = event => {
    const box = svg.getBoundingClientRect(), scale = 560 / box.width;
    const at = (event.clientX - box.left) * scale;
    if (at < 50) return hide();
    const found = curves.map(c => ({c, p: nearest(c.points, at)}));
    const first = found.reduce((a, b) => Math.abs(b.p.at - at) < Math.abs(a.p.at - at) ? b : a).p;
    rule.setAttribute("x1", first.at);
    rule.setAttribute("x2", first.at);
    svg.append(rule);
    const head = document.createElement("b");
    head.textContent = svg.dataset.x + " " + first.x;
    tip.replaceChildren(head);
    for (const {c, p} of found) {
      if (Math.abs(p.at - first.at) > 8) continue;
      const row = document.createElement("div"), dot = document.createElement("i");
      dot.style.background = "var(--c" + c.colour + ")";
      row.append(dot, c.name + "  " + p.y);
      tip.append(row);
    }
    tip.hidden = false;
    const room = svg.parentNode.getBoundingClientRect();
    const x = box.left - room.left + first.at / scale;
    const fits = x + 14 + tip.offsetWidth <= room.width;
    tip.style.left = (fits ? x + 14 : Math.max(4, x - 14 - tip.offsetWidth)) + "px";
    tip.style.top = box.top - room.top + 10 + "px";
  };
  svg.addEventListener("pointermove", show);
  svg.addEventListener("pointerdown", show);
  svg.addEventListener("pointerleave", hide);
}
)js";
}

}  // namespace furlong::tools
