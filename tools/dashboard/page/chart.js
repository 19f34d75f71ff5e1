// Charts. A frame has pixels of its own width, so that text keeps its size on a phone.
const chartHeight = 220, margin = {left: 52, right: 12, top: 8, bottom: 26};

// Steps of 1, 2 or 5 times a power of ten: about `count` of them between low and high.
function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(one => one * power).find(one => one >= rough) || rough;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; ++at)
    found.push(+(at * step).toPrecision(12));
  return found;
}

function frame(holder, label, x, y) {
  const width = Math.max(240, holder.clientWidth || 520);
  const svg = drawn("svg", {width, height: chartHeight, viewBox: "0 0 " + width + " " + chartHeight, role: "img",
                            "aria-label": label});
  const inner = {left: margin.left, right: width - margin.right, top: margin.top, bottom: chartHeight - margin.bottom};
  const atX = value => inner.left + (value - x.low) / (x.high - x.low || 1) * (inner.right - inner.left);
  const atY = value => inner.bottom - (value - y.low) / (y.high - y.low || 1) * (inner.bottom - inner.top);
  for (const tick of ticks(y.low, y.high, 4)) {
    const place = atY(tick);
    svg.append(drawn("line", {class: "grid", x1: inner.left, x2: inner.right, y1: place, y2: place}),
               drawn("text", {x: inner.left - 8, y: place + 4, "text-anchor": "end"}, String(tick)));
  }
  svg.append(drawn("line", {class: "base", x1: inner.left, x2: inner.right, y1: inner.bottom, y2: inner.bottom}));
  const across = x.ticks || ticks(x.low, x.high, Math.min(6, Math.floor(width / 80))).filter(Number.isInteger);
  for (const tick of across)
    svg.append(drawn("text", {x: atX(tick), y: chartHeight - 8, "text-anchor": "middle"}, tick.toLocaleString("en")));
  return {svg, inner, atX, atY, width};
}

function legend(series) {
  return element("ul", {class: "legend"}, ...series.map(one =>
    element("li", {}, element("span", {class: "dot " + one.colour}), one.name + (one.value === undefined ? "" : " "),
            one.value === undefined ? null : element("b", {}, one.value))));
}

function nothing(holder, why) { holder.replaceChildren(element("p", {class: "empty"}, why)); }

// series: {name, colour, stroke, points: [[x, y]...]}
function lineChart(holder, label, series) {
  const shown = series.map(one => ({...one, points: one.points.filter(point => isNumber(point[1]))}))
    .filter(one => one.points.length > 0);
  const all = shown.flatMap(one => one.points);
  if (all.length === 0) return false;
  const xs = all.map(point => point[0]), ys = all.map(point => point[1]);
  let low = Math.min(...ys), high = Math.max(...ys);
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  const x = {low: Math.min(...xs), high: Math.max(...xs)};
  if (x.low === x.high) { x.low -= 0.5; x.high += 0.5; }
  const at = frame(holder, label, x, {low: low >= 0 ? Math.max(0, low - room) : low - room, high: high + room});
  for (const one of shown) {
    const path = one.points.map(point => at.atX(point[0]).toFixed(1) + "," + at.atY(point[1]).toFixed(1));
    if (path.length > 1) at.svg.append(drawn("polyline", {class: "curve " + one.stroke, points: path.join(" ")}));
    const [lastX, lastY] = path[path.length - 1].split(",");
    at.svg.append(drawn("circle", {class: one.colour, cx: lastX, cy: lastY, r: 3}));
  }
  explain(at.svg, event => {
    const value = x.low + (event.clientX - at.svg.getBoundingClientRect().left - at.inner.left) /
      (at.inner.right - at.inner.left) * (x.high - x.low);
    const nearest = one => one.points.reduce((a, b) => Math.abs(b[0] - value) < Math.abs(a[0] - value) ? b : a);
    const found = shown.map(one => [one.name, nearest(one)]);
    return ["after round " + whole(found[0][1][0]),
            ...found.map(([name, point]) => name + "  " + figure(point[1]))].join("\n");
  });
  holder.replaceChildren(...(shown.length > 1 || shown[0].name !== label ? [legend(shown.map(one =>
    ({name: one.name, colour: one.colour, value: figure(one.points[one.points.length - 1][1])})))] : []), at.svg);
  return true;
}

// bars: {low, high, parts: [value...], text}; parts in the order of `series`, each {name, colour}.
function stackedBars(holder, label, series, bars, across) {
  const highest = Math.max(1, ...bars.map(bar => bar.parts.reduce((a, b) => a + b, 0)));
  const at = frame(holder, label, across, {low: 0, high: highest * 1.05});
  for (const bar of bars) {
    const left = at.atX(bar.low), wide = at.atX(bar.high) - left, gap = Math.min(2, wide * 0.2);
    const group = drawn("g", {});
    let sum = 0;
    bar.parts.forEach((value, i) => {
      if (value <= 0) return;
      const top = at.atY(sum + value), bottom = at.atY(sum);
      sum += value;
      group.append(drawn("rect", {class: series[i].colour, x: left + gap / 2, y: top, width: Math.max(0.5, wide - gap),
                                  height: Math.max(0.3, bottom - top)}));
    });
    explain(group, () => bar.text);
    at.svg.append(group);
  }
  holder.replaceChildren(...(series.length > 1 ? [legend(series)] : []), at.svg);
}
