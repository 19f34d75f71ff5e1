// The tree of processes: the server at the left, aggregators below it, nodes at the right.
const nodeStates = [{name: "at work", colour: 2}, {name: "idle", colour: 0}, {name: "gone", colour: 6}];
const stateOf = node => nodeStates[!node.connected ? 2 : node.at_work > 0 ? 0 : 1];
const nodeFacts = (node, now) => [node.name, stateOf(node).name + ", clients " + clientsOf(node),
  "last seen " + span(Math.max(0, now - node.last_seen)) + " ago, " + whole(node.at_work) + " tasks at work",
  whole(node.folded) + " folded, " + whole(node.rejected) + " rejected, " + whole(node.late) + " late"].join("\n");

// Aggregators with their children and nodes, below a root that is the server. An aggregator whose parent is not known,
// or is itself below it, hangs from the server.
function treeOf(status) {
  const root = {name: "server", connected: true, children: [], nodes: [],
                text: "server\n" + whole(status.clients.reached) + " clients reached"};
  const all = status.aggregators.map(one => ({...one, children: [], nodes: [], text: [one.name, one.address,
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
  for (const one of all) (byName.has(one.via) && rises(one) ? byName.get(one.via) : root).children.push(one);
  for (const node of status.nodes) (byName.get(node.via) || root).nodes.push(node);
  return root;
}

const depthOf = branch => 1 + Math.max(0, ...branch.children.map(depthOf));

// Places a branch from `top` on; returns where it ends and where its box is. Nodes have names while there is room.
function placeBranch(branch, depth, top, size, into, now) {
  const columns = Math.max(1, Math.floor((size.width - size.left) / size.cell)), ends = [];
  const gap = bottom => bottom + (bottom > top ? 12 : 0);
  let bottom = top;
  for (const child of branch.children) {  // before its own nodes, whose links then pass below and not through them
    const placed = placeBranch(child, depth + 1, gap(bottom), size, into, now);
    ends.push([(depth + 1) * size.step, placed.middle]);
    bottom = placed.bottom;
  }
  const first = branch.nodes.length > 0 ? gap(bottom) : bottom;
  branch.nodes.forEach((node, i) => {
    const y = first + Math.floor(i / columns) * size.row, middle = y + size.row / 2;
    if (i % columns === 0) ends.push([size.left, middle]);
    into.rows.push({s: stateOf(node).name, x: size.left + (i % columns) * size.cell + 6, y: middle, text: nodeFacts(node, now),
                    name: size.named ? shortened(node.name, Math.floor((size.cell - 22) / 6.8)) : ""});
    bottom = y + size.row;
  });
  bottom = Math.max(bottom, top + 30);
  const middle = ends.length > 0 ? (ends[0][1] + ends.at(-1)[1]) / 2 : top + 15, x = depth * size.step + 1;
  const wide = size.step - 34;
  for (const [toX, toY] of ends) into.links.push({x: x + wide, y: middle, toX, toY});
  into.boxes.push({x, wide, y: middle, gone: branch.connected === false, text: branch.text,
                   name: shortened(branch.name, Math.floor((wide - 8) / 6.8))});
  return {bottom, middle};
}

kinds.map = ({status, width}) => {
  const root = treeOf(status), depth = depthOf(root), step = Math.min(170, width * 0.3 / Math.max(1, depth - 1) + 20);
  const left = depth * step, named = status.nodes.length <= 80 && width - left > 120;
  const size = {width, step, left, named, row: named ? 26 : 16, cell: named ? Math.max(120, Math.min(190, width - left)) : 16};
  const data = {rows: [], links: [], boxes: []}, {bottom} = placeBranch(root, 0, 4, size, data, status.now);
  return {data, heads: ["node", "state", "clients", "via"], signals: {height: Math.ceil(bottom + 6)},
    values: status.nodes.map(node => [node.name, stateOf(node).name, clientsOf(node), node.via])};
};

const mostDrawn = 1000;
function drawMap(status) {
  const count = state => whole(status.nodes.filter(node => stateOf(node) === state).length);
  const more = status.nodes.length - mostDrawn;
  drawChart("map", {kind: "map", title: "Map of nodes: server, aggregators, nodes", status: {...status,
    nodes: status.nodes.slice(0, mostDrawn)}, series: nodeStates.map(state => ({...state, value: count(state)})),
    note: more > 0 ? "and " + whole(more) + " nodes more" : ""});
}
