// The sections of the page but for the map: each draws what it is given.
const holderOf = id => document.querySelector("#" + id + " .holder");
const outcomeKinds = [
  {name: "folded", colour: 2, of: round => round.folded}, {name: "late", colour: 4, of: round => round.late},
  {name: "surplus", colour: 5, of: round => round.surplus}, {name: "dropped", colour: 6, of: round => total(round.dropped)},
  {name: "rejected", colour: 1, of: round => total(round.rejected)},
  {name: "abandoned", colour: 7, of: round => round.abandoned}];
const groups = [{name: "validation", colour: 0}, {name: "seen", colour: 2}, {name: "unseen", colour: 3}];
const figureNames = ["rmse", "perplexity", "accuracy", "accuracy_words", "accuracy_no_end", "auc", "full_mrr", "sampled_mrr", "loss"];
const phases = {waiting: "waiting for clients", training: "training", evaluating: "evaluating",
                checkpointing: "writing a checkpoint", draining: "finishing the round, then stopping", done: "done"};
let chosenFigure = null;

function clock(seconds) {
  if (!isNumber(seconds) || seconds <= 0) return "–";
  const when = new Date(seconds * 1000);
  const time = two(when.getHours()) + ":" + two(when.getMinutes()) + ":" + two(when.getSeconds());
  const day = when.getFullYear() + "-" + two(when.getMonth() + 1) + "-" + two(when.getDate());
  return when.toDateString() === new Date().toDateString() ? time : day + " " + time;
}

const share = (part, all) => styles.percent(all > 0 ? part / all : null);
const clientsOf = node => node.first === node.last ? String(node.first) : node.first + "–" + node.last;

// A name that came from elsewhere, on one line and not too long for a drawing.
function shortened(text, longest) {
  const line = [...String(text).replace(/\s+/g, " ")];
  return line.length <= longest ? line.join("") : line.slice(0, Math.max(1, longest - 1)).join("") + "…";
}

function nothing(holder, why) { holder.replaceChildren(element("p", {class: "hint"}, why)); }

// A section's chart; what is hidden in it, and its zoom, stay when it is drawn again.
const states = {};
function drawChart(id, chart) {
  const holder = holderOf(id), state = states[id] ??= {hidden: []}, width = Math.max(280, holder.clientWidth || 800);
  const made = chartFigure({untitled: true, ...chart, width}, state);
  holder.replaceChildren(made);
  return made.draw();
}

function drawHeader(status) {
  document.title = (status.scenario || "Furlong") + (status.round ? " · round " + status.round : "");
  byId("scenario").textContent = status.scenario || "A federation that has not begun";
  byId("about").textContent = [status.algorithm, status.model, status.asynchronous ? "asynchronous" : "synchronous",
    status.run ? "run " + status.run : "", "furlong " + status.furlong].filter(Boolean).join(" · ");
  byId("phase").textContent = phases[status.phase] || status.phase;
  byId("phase").classList.toggle("good", status.phase !== "waiting" && status.phase !== "draining");
  const ended = status.last_round ? status.last_round.last : status.phase === "training" ? status.round - 1 : status.round;
  const done = status.rounds > 0 ? Math.min(1, Math.max(0, ended) / status.rounds) : status.phase === "done" ? 1 : 0;
  byId("progress-text").textContent = "round " + whole(status.round) + (status.rounds > 0 ? " of " + whole(status.rounds) : "");
  byId("progress").setAttribute("aria-valuenow", Math.round(100 * done));
  byId("progress").firstElementChild.style.width = 100 * done + "%";
}

function drawTiles(status) {
  const {clients, tasks, checkpoint, memory, privacy, last_round: last} = status, rejected = total(tasks.rejected);
  byId("tiles").replaceChildren(
    card("Clients reached", whole(clients.reached), "of " + whole(clients.training) + " that train"),
    card("At work", whole(clients.at_work), whole(tasks.in_flight) + " tasks without an end"),
    card("Updates folded", whole(tasks.folded), share(tasks.folded, tasks.selected - tasks.in_flight) + " of those that ended"),
    card("Rejected", whole(rejected), whole(total(status.unasked)) + " more that nobody asked for", rejected > 0),
    card("Rounds abandoned", whole(tasks.rounds_abandoned), whole(tasks.abandoned) + " tasks with them", tasks.rounds_abandoned > 0),
    card("Training loss", figure(last && last.loss), last ? "round " + whole(last.last) : ""),
    card("Last round", last ? span(last.seconds / (last.last - last.first + 1)) : "–", last ? "ended " + clock(last.ended_at) : ""),
    card("Checkpoint", checkpoint ? whole(checkpoint.version) : "none", checkpoint ? "version, " + span(checkpoint.age) + " old" : ""),
    ...privacy ? [card("Privacy", privacy.epsilon === null ? "no ε" : "ε " + figure(privacy.epsilon), "δ " + figure(privacy.delta) +
      " a client, " + privacy.relation + (privacy.simulated ? ", simulated privacy" : ""))] : [],
    card("Updates", bytes(tasks.bytes_up), "models sent " + bytes(tasks.bytes_down)),
    card("Memory", bytes(memory.resident), "peak " + bytes(memory.peak)),
    card("Up for", span(status.uptime), "since " + clock(status.started_at)));
}

function drawClients(clients) {
  const states = [{name: "at work", colour: 2, value: clients.at_work}, {name: "idle", colour: 0, value: clients.idle},
    {name: "adrift: their node is gone, their task open", colour: 4, value: clients.adrift},
    {name: "away", colour: "x", value: clients.away}];
  holderOf("clients").replaceChildren(
    element("div", {class: "share", role: "img", "aria-label": "Clients by state"}, states.map(({colour, value}) => {
      const part = element("i", {class: "c" + colour});
      part.style.flexGrow = value;
      return part;
    })),
    element("ul", {class: "legend"}, states.map(({name, colour, value}) =>
      element("li", {}, element("i", {class: "dot c" + colour}), name + " ", element("b", {}, whole(value))))));
}

const curvesOf = (series, xs, more) => ({kind: "curves", style: "plain", tracks: [{rounds: xs}], series: series.map(one =>
  ({...one, track: 0, at: [...xs.keys()].filter(i => isNumber(one.values[i])), y: one.values.filter(isNumber)}))
  .filter(one => one.y.length > 0), ...more});

function drawLearning(points) {
  const holder = holderOf("learning"), tabs = document.querySelector("#learning > .tools");
  const has = name => points.some(point => groups.some(group => point[group.name] && isNumber(point[group.name][name])));
  const known = figureNames.filter(has);
  if (known.length === 0) { tabs.replaceChildren(); return nothing(holder, "No evaluation yet."); }
  if (!known.includes(chosenFigure)) chosenFigure = known[0];
  tabs.replaceChildren(...known.map(name => button(["rmse", "auc"].includes(name) ? name.toUpperCase() : name.replace("_", " of "),
    {"aria-pressed": String(name === chosenFigure)}, () => { chosenFigure = name; drawLearning(points); })));
  drawChart("learning", curvesOf(groups.map(group => ({...group, values: points.map(point => point[group.name]?.[chosenFigure])})),
    points.map(point => point.version), {title: "Learning curve: " + chosenFigure}));
}

// As many bars as the width can show: neighbours are joined.
function drawOutcomes(rounds) {
  const holder = holderOf("outcomes");
  if (rounds.length === 0) return nothing(holder, "No round has ended yet.");
  const step = Math.ceil(rounds.length / Math.max(20, Math.floor((holder.clientWidth || 520) / 5))), bars = [];
  const series = outcomeKinds.map(kind => ({...kind, sum: rounds.reduce((sum, round) => sum + kind.of(round), 0)}))
    .filter(kind => kind.sum > 0).map(kind => ({...kind, value: whole(kind.sum)}));
  for (let i = 0; i < rounds.length; i += step) {
    const part = rounds.slice(i, i + step), low = part[0].first, high = part.at(-1).last, count = high - low + 1;
    bars.push({from: low - 0.5, to: high + 0.5, label: low === high ? String(low) : low + "–" + high, more: [],
               values: series.map(kind => part.reduce((sum, round) => sum + kind.of(round), 0) / count)});
  }
  drawChart("outcomes", {kind: "bars", title: "Outcomes per round", x: "round", style: "mean", heads: [], series, bars});
}

function drawLoss(rounds) {
  const chart = curvesOf([{name: "Training loss", colour: 4, values: rounds.map(round => round.loss)}],
                         rounds.map(round => round.last), {title: "Training loss", whole: true});
  if (chart.series.length > 0) drawChart("loss", chart);
  else nothing(holderOf("loss"), "No round has ended yet.");
}

function drawStaleness(counts, asynchronous) {
  const sum = counts.reduce((a, b) => a + b, 0), beyond = i => counts.length === 64 && i === 63 ? " or more" : "";
  if (sum === 0)
    return nothing(holderOf("staleness"), asynchronous ? "No update was folded yet."
                                                       : "Rounds are synchronous: every update starts from the newest model.");
  drawChart("staleness", {kind: "bars", title: "Staleness of folded updates", x: "versions behind", style: "count",
    heads: ["share"], series: [{name: "updates", colour: 0, value: whole(sum)}], bars: counts.map((count, i) =>
      ({from: i - 0.5, to: i + 0.5, label: i + beyond(i), values: [count], more: [share(count, sum)]}))});
}

function fill(holder, heads, rows, empty, more) {
  if (rows.length === 0) return nothing(holder, empty);
  holder.replaceChildren(table({heads: heads.map(name => ({name: name.replace("#", ""), numeric: name.startsWith("#")})), rows}),
    ...(more > 0 ? [element("p", {class: "hint"}, "and " + whole(more) + " more")] : []));
}

function drawReasons(status) {
  const [rejected, refused] = document.querySelectorAll("#reasons .holder");
  const words = [...new Set([...Object.keys(status.tasks.rejected), ...Object.keys(status.unasked)])];
  fill(rejected, ["reason", "#of tasks", "#unasked"], words.map(word =>
    [word, whole(status.tasks.rejected[word] || 0), whole(status.unasked[word] || 0)]), "None.");
  fill(refused, ["reason", "#connections"], Object.entries(status.refused_connections)
    .map(([why, count]) => [why, whole(count)]), "None.");
}

const mostRows = 500;
function drawNodes(nodes, now) {
  const rows = nodes.slice(0, mostRows).map(node => [shortened(node.name, 60),
    element("span", {class: "nowrap"}, element("i", {class: "dot c" + stateOf(node).colour}), stateOf(node).name), clientsOf(node),
    shortened(node.via || "server", 40), clock(node.since), span(Math.max(0, now - node.last_seen)), whole(node.at_work),
    whole(node.folded), whole(node.rejected), whole(node.late)]);
  fill(holderOf("nodes"), ["node", "state", "clients", "via", "since", "#last seen", "#at work", "#folded", "#rejected", "#late"],
       rows, "No node has connected yet.", nodes.length - rows.length);
}

function drawEvents(events) {
  fill(holderOf("events"), ["time", "event", "#round", "who", "detail"], [...events].reverse().map(event => [clock(event.at),
    element("span", {class: "level-" + event.level}, event.event), String(event.round || ""), shortened(event.who || "", 60),
    event.detail || ""]), "Nothing has happened yet.");
}
