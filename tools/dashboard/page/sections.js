// The sections of the page but for the map: each draws what it is given.
const outcomeKinds = [
  {name: "folded", colour: "c2", of: round => round.folded},
  {name: "late", colour: "c4", of: round => round.late},
  {name: "surplus", colour: "c5", of: round => round.surplus},
  {name: "dropped", colour: "c6", of: round => total(round.dropped)},
  {name: "rejected", colour: "c1", of: round => total(round.rejected)},
  {name: "abandoned", colour: "c7", of: round => round.abandoned}];
const groups = [{name: "validation", colour: "c0", stroke: "s0"}, {name: "seen", colour: "c2", stroke: "s2"},
                {name: "unseen", colour: "c3", stroke: "s3"}];
const figureNames = ["rmse", "perplexity", "accuracy", "accuracy_words", "accuracy_no_end", "auc", "loss"];
const phases = {waiting: "waiting for clients", training: "training", evaluating: "evaluating",
                checkpointing: "writing a checkpoint", draining: "finishing the round, then stopping", done: "done"};
let chosenFigure = null;

function drawHeader(status) {
  document.title = (status.scenario || "Furlong") + (status.round ? " · round " + status.round : "");
  byId("scenario").textContent = status.scenario || "A federation that has not begun";
  byId("about").textContent = [status.algorithm, status.model, status.asynchronous ? "asynchronous" : "synchronous",
    status.run ? "run " + status.run : "", "furlong " + status.furlong].filter(Boolean).join(" · ");
  const badge = byId("phase");
  badge.textContent = phases[status.phase] || status.phase;
  badge.classList.toggle("wait", status.phase === "waiting" || status.phase === "draining");
  const ended = status.last_round ? status.last_round.last :
    status.phase === "training" ? status.round - 1 : status.round;
  const done = status.rounds > 0 ? Math.min(1, Math.max(0, ended) / status.rounds) :
    status.phase === "done" ? 1 : 0;
  byId("progress-text").textContent = "round " + whole(status.round) +
    (status.rounds > 0 ? " of " + whole(status.rounds) : "");
  byId("progress").setAttribute("aria-valuenow", Math.round(100 * done));
  byId("progress").firstElementChild.style.width = 100 * done + "%";
}

function tile(name, value, more, bad) {
  return element("div", {class: bad ? "card bad" : "card"}, element("dt", {}, name),
                 element("dd", {}, element("b", {}, value), more || ""));
}

function drawTiles(status) {
  const {clients, tasks, checkpoint, memory, last_round: last} = status, rejected = total(tasks.rejected);
  byId("tiles").replaceChildren(
    tile("Clients reached", whole(clients.reached), "of " + whole(clients.training) + " that train"),
    tile("At work", whole(clients.at_work), whole(tasks.in_flight) + " tasks without an end"),
    tile("Updates folded", whole(tasks.folded),
         share(tasks.folded, tasks.selected - tasks.in_flight) + " of those that ended"),
    tile("Rejected", whole(rejected),
         whole(total(status.unasked)) + " more that nobody asked for", rejected > 0),
    tile("Rounds abandoned", whole(tasks.rounds_abandoned), whole(tasks.abandoned) + " tasks with them",
         tasks.rounds_abandoned > 0),
    tile("Training loss", figure(last && last.loss), last ? "round " + whole(last.last) : ""),
    tile("Last round", last ? span(last.seconds / (last.last - last.first + 1)) : "–",
         last ? "ended " + clock(last.ended_at) : ""),
    tile("Checkpoint", checkpoint ? whole(checkpoint.version) : "none",
         checkpoint ? "version, " + span(checkpoint.age) + " old" : ""),
    tile("Updates", bytes(tasks.bytes_up), "models sent " + bytes(tasks.bytes_down)),
    tile("Memory", bytes(memory.resident), "peak " + bytes(memory.peak)),
    tile("Up for", span(status.uptime), "since " + clock(status.started_at)));
}

function drawClients(clients) {
  const holder = holderOf("clients"), all = clients.idle + clients.at_work + clients.adrift + clients.away;
  const states = [{name: "at work", colour: "c2", count: clients.at_work},
                  {name: "idle", colour: "c0", count: clients.idle},
                  {name: "adrift: their node is gone, their task open", colour: "c4", count: clients.adrift},
                  {name: "away", colour: "cx", count: clients.away}];
  const width = Math.max(240, holder.clientWidth || 800);
  const svg = drawn("svg", {width, height: 22, viewBox: "0 0 " + width + " 22", role: "img",
                            "aria-label": "Clients by state"});
  let left = 0;
  for (const state of states) {
    const wide = all > 0 ? width * state.count / all : 0;
    const part = drawn("rect", {class: state.colour, x: left, y: 2, width: wide, height: 18});
    explain(part, () => whole(state.count) + " " + state.name);
    svg.append(part);
    left += wide;
  }
  holder.replaceChildren(legend(states.map(state => ({...state, value: whole(state.count)}))), svg);
}

function drawLearning(points) {
  const holder = holderOf("learning"), tabs = document.querySelector("#learning .tabs");
  const has = name => points.some(point => groups.some(group =>
    point[group.name] && isNumber(point[group.name][name])));
  const known = figureNames.filter(has);
  if (known.length === 0) { tabs.replaceChildren(); return nothing(holder, "No evaluation yet."); }
  if (!known.includes(chosenFigure)) chosenFigure = known[0];
  tabs.replaceChildren(...known.map(name => {
    const button = element("button", {type: "button", "aria-pressed": name === chosenFigure},
                           ["rmse", "auc"].includes(name) ? name.toUpperCase() : name.replace("_", " of "));
    button.addEventListener("click", () => { chosenFigure = name; drawLearning(points); });
    return button;
  }));
  lineChart(holder, "Learning curve: " + chosenFigure, groups.map(group => ({...group, points: points.filter(point =>
    point[group.name]).map(point => [point.version, point[group.name][chosenFigure]])})));
}

// As many bars as the width can show: neighbours are joined.
function joined(rounds, most) {
  const step = Math.max(1, Math.ceil(rounds.length / most)), found = [];
  for (let i = 0; i < rounds.length; i += step) found.push(rounds.slice(i, i + step));
  return found;
}

function drawOutcomes(rounds) {
  const holder = holderOf("outcomes");
  if (rounds.length === 0) return nothing(holder, "No round has ended yet.");
  const bars = joined(rounds, Math.max(20, Math.floor((holder.clientWidth || 520) / 5))).map(part => {
    const low = part[0].first, high = part[part.length - 1].last, count = high - low + 1;
    const sums = outcomeKinds.map(kind => part.reduce((sum, round) => sum + kind.of(round), 0));
    const lines = outcomeKinds.map((kind, i) => [kind.name, sums[i]]).filter(line => line[1] > 0);
    return {low: low - 0.5, high: high + 0.5, parts: sums.map(sum => sum / count),
            text: [count > 1 ? "rounds " + low + "–" + high + ", sums" : "round " + low,
                   ...lines.map(([name, sum]) => name + "  " + whole(sum))].join("\n")};
  });
  const present = outcomeKinds.map((kind, i) => bars.some(bar => bar.parts[i] > 0));
  const across = {low: bars[0].low, high: bars[bars.length - 1].high};
  stackedBars(holder, "Outcomes per round", outcomeKinds.filter((_, i) => present[i]),
              bars.map(bar => ({...bar, parts: bar.parts.filter((_, i) => present[i])})), across);
}

function drawLoss(rounds) {
  const holder = holderOf("loss");
  const points = rounds.map(round => [round.last, round.loss]);
  if (!lineChart(holder, "Training loss", [{name: "Training loss", colour: "c4", stroke: "s4", points}]))
    nothing(holder, "No round has ended yet.");
}

function drawStaleness(counts, asynchronous) {
  const holder = holderOf("staleness"), sum = counts.reduce((a, b) => a + b, 0);
  if (sum === 0)
    return nothing(holder, asynchronous ? "No update was folded yet."
                                        : "Rounds are synchronous: every update starts from the newest model.");
  const beyond = i => counts.length === 64 && i === 63 ? " or more" : "";
  stackedBars(holder, "Staleness of folded updates", [{name: "updates", colour: "c0"}], counts.map((count, i) => ({
    low: i - 0.5, high: i + 0.5, parts: [count],
    text: i + beyond(i) + " versions behind\n" + whole(count) + " updates, " + share(count, sum)})),
    {low: -0.5, high: counts.length - 0.5});
}

function drawReasons(status) {
  const [rejected, refused] = document.querySelectorAll("#reasons .holder");
  const words = [...new Set([...Object.keys(status.tasks.rejected), ...Object.keys(status.unasked)])];
  if (words.length === 0) nothing(rejected, "None.");
  else rejected.replaceChildren(table(["reason", "of tasks", "unasked"], [1, 2], words.map(word =>
    [word, whole(status.tasks.rejected[word] || 0), whole(status.unasked[word] || 0)])));
  const whys = Object.entries(status.refused_connections);
  if (whys.length === 0) nothing(refused, "None.");
  else refused.replaceChildren(table(["reason", "connections"], [1], whys.map(([why, count]) => [why, whole(count)])));
}

// rows: cells, each a text or an element; `numbers`: the columns that hold numbers.
function table(heads, numbers, rows) {
  const kind = i => numbers.includes(i) ? {class: "num"} : i === 0 ? {class: "name"} : {};
  return element("table", {},
    element("thead", {}, element("tr", {}, ...heads.map((head, i) => element("th", {scope: "col", ...kind(i)}, head)))),
    element("tbody", {}, ...rows.map(row => element("tr", {}, ...row.map((cell, i) => element("td", kind(i), cell))))));
}

const mostRows = 500;
function drawNodes(nodes, now) {
  const holder = holderOf("nodes");
  if (nodes.length === 0) return nothing(holder, "No node has connected yet.");
  const rows = nodes.slice(0, mostRows).map(node => {
    const state = stateOf(node);
    const line = (...parts) => element("span", {class: "line"}, ...parts);
    return [shortened(node.name, 60), line(element("span", {class: "dot " + state.colour}), " " + state.name),
            line(clientsOf(node)), shortened(node.via || "server", 40), line(clock(node.since)),
            span(Math.max(0, now - node.last_seen)), whole(node.at_work), whole(node.folded), whole(node.rejected),
            whole(node.late)];
  });
  const more = nodes.length - rows.length;
  const heads = ["node", "state", "clients", "via", "since", "last seen", "at work", "folded", "rejected", "late"];
  holder.replaceChildren(table(heads, [5, 6, 7, 8, 9], rows),
    ...(more > 0 ? [element("p", {class: "empty"}, "and " + whole(more) + " more")] : []));
}

function drawEvents(events) {
  const holder = holderOf("events");
  if (events.length === 0) return nothing(holder, "Nothing has happened yet.");
  holder.replaceChildren(table(["time", "event", "round", "who", "detail"], [2], [...events].reverse().map(event => [
    element("span", {class: "time"}, clock(event.at)), element("span", {class: "level-" + event.level}, event.event),
    event.round || "", shortened(event.who || "", 60), element("span", {class: "soft"}, event.detail || "")])));
}
