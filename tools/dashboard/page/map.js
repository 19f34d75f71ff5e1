// The tree of processes: the server at the left, aggregators below it, nodes at the right.
const nodeStates = {
  working: {name: "at work", colour: "c2"}, idle: {name: "idle", colour: "c0"},
  gone: {name: "gone", colour: "c6"}};

function stateOf(node) {
  if (!node.connected) return nodeStates.gone;
  return node.at_work > 0 ? nodeStates.working : nodeStates.idle;
}

// Aggregators with their children and nodes, below a root that is the server. An aggregator whose parent is not known,
// or is itself below it, hangs from the server.
function treeOf(status) {
  const root = {name: "server", children: [], nodes: [],
                facts: () => "server\n" + whole(status.clients.reached) + " clients reached"};
  const all = status.aggregators.map(one => ({...one, children: [], nodes: [], facts: () => [one.name, one.address,
    one.connected ? "since " + clock(one.since) : "gone", whole(one.clients) + " clients"].join("\n")}));
  const byName = new Map(all.map(one => [one.name, one]));
  const rises = one => {
    const seen = new Set();
    for (let at = one; at; at = byName.get(at.via)) {
      if (seen.has(at)) return false;
      seen.add(at);
    }
    return true;
  };
  for (const one of all)
    (byName.has(one.via) && rises(one) ? byName.get(one.via) : root).children.push(one);
  for (const node of status.nodes) (byName.get(node.via) || root).nodes.push(node);
  return root;
}

const depthOf = branch => 1 + Math.max(0, ...branch.children.map(depthOf));

function nodeFacts(node, now) {
  return [node.name, stateOf(node).name + ", clients " + clientsOf(node),
          "last seen " + span(Math.max(0, now - node.last_seen)) + " ago, " + whole(node.at_work) + " tasks at work",
          whole(node.folded) + " folded, " + whole(node.rejected) + " rejected, " + whole(node.late) + " late"].join("\n");
}

// Sizes of a drawing of that width: nodes have names while there is room for them.
function sizesFor(width, depth, nodes) {
  const step = Math.min(170, width * 0.3 / Math.max(1, depth - 1) + 20), left = depth * step;
  const named = nodes <= 80 && width - left > 120;
  return {width, step, left, named, row: named ? 26 : 16,
          cell: named ? Math.max(120, Math.min(190, width - left)) : 16};
}

const curve = (x1, y1, x2, y2) => drawn("path", {class: "link",
  d: ["M", x1, y1, "C", (x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2].join(" ")});

function drawNode(into, node, x, y, size, now) {
  const state = stateOf(node), group = drawn("g", {}), middle = y + size.row / 2;
  const radius = size.named ? 5 : 4.5;
  group.append(drawn("circle", node.connected ? {class: state.colour, cx: x + 6, cy: middle, r: radius}
                                              : {class: "gone", cx: x + 6, cy: middle, r: radius}));
  if (size.named)
    group.append(drawn("text", {class: node.connected ? "ink" : "", x: x + 17, y: middle + 4},
                       shortened(node.name, Math.floor((size.cell - 22) / 6.8))));
  explain(group, () => nodeFacts(node, now));
  into.append(group);
}

// Draws a branch from `top` on and returns where it ends and where its box is.
function drawBranch(branch, depth, top, size, layers, now) {
  const columns = Math.max(1, Math.floor((size.width - size.left) / size.cell));
  let bottom = top;
  const ends = [];
  // Its own nodes last: links to them then pass below the aggregators and not through them.
  for (const child of branch.children) {
    const drawnChild = drawBranch(child, depth + 1, bottom + (bottom > top ? 12 : 0), size, layers, now);
    ends.push([(depth + 1) * size.step, drawnChild.middle]);
    bottom = drawnChild.bottom;
  }
  const first = bottom + (bottom > top && branch.nodes.length > 0 ? 12 : 0);
  branch.nodes.forEach((node, i) => {
    const y = first + Math.floor(i / columns) * size.row;
    if (i % columns === 0) ends.push([size.left, y + size.row / 2]);
    drawNode(layers.nodes, node, size.left + (i % columns) * size.cell, y, size, now);
    bottom = y + size.row;
  });
  bottom = Math.max(bottom, top + 30);
  const middle = ends.length > 0 ? (ends[0][1] + ends[ends.length - 1][1]) / 2 : top + 15, x = depth * size.step + 1;
  const wide = size.step - 34;
  for (const [endX, endY] of ends) layers.links.append(curve(x + wide, middle, endX, endY));
  const look = branch.connected === false ? "box gone" : "box";
  const box = drawn("g", {}, drawn("rect", {class: look, x, y: middle - 13, width: wide, height: 26, rx: 6}),
                    drawn("text", {class: "ink", x: x + wide / 2, y: middle + 4, "text-anchor": "middle"},
                          shortened(branch.name, Math.floor((wide - 8) / 6.8))));
  explain(box, branch.facts);
  layers.boxes.append(box);
  return {bottom, middle};
}

const mostDrawn = 1000;
function drawMap(status) {
  const holder = holderOf("map"), width = Math.max(280, holder.clientWidth || 1100);
  const shown = {...status, nodes: status.nodes.slice(0, mostDrawn)};
  const root = treeOf(shown), size = sizesFor(width, depthOf(root), shown.nodes.length);
  const layers = {links: drawn("g", {}), boxes: drawn("g", {}), nodes: drawn("g", {})};
  const {bottom} = drawBranch(root, 0, 4, size, layers, status.now);
  const height = Math.ceil(bottom + 6);
  const counts = Object.values(nodeStates).map(state => ({...state, value: whole(status.nodes.filter(node =>
    stateOf(node, status.now) === state).length)}));
  const more = status.nodes.length - shown.nodes.length;
  const attributes = {width, height, viewBox: "0 0 " + width + " " + height, role: "img",
                      "aria-label": "Map of nodes: server, aggregators, nodes"};
  holder.replaceChildren(legend(counts), drawn("svg", attributes, layers.links, layers.boxes, layers.nodes),
    ...(more > 0 ? [element("p", {class: "empty"}, "and " + whole(more) + " nodes more")] : []));
}
