// Asks the server again and again, and draws what changed.
const every = 2000, everyHidden = 15000, longestWait = 30000, patience = 10000, hangsAfter = 30;
const known = {status: null, rounds: [], failures: 0, since: 0, drawn: new Map()};

async function ask(path) {
  const answer = await fetch(path, {cache: "no-store", signal: AbortSignal.timeout(patience)});
  if (!answer.ok) throw new Error("the server answered " + answer.status);
  return answer.json();
}

// Draws a section when what it shows is not what it showed.
function refresh(name, shown, draw) {
  const key = JSON.stringify(shown) + "|" + innerWidth;
  if (known.drawn.get(name) === key) return;
  known.drawn.set(name, key);
  draw();
}

function drawAll() {
  const {status, rounds} = known;
  if (!status) return;
  drawHeader(status);
  drawTiles(status);
  const newest = [rounds.length, rounds[0]?.last, rounds.at(-1)?.last];
  refresh("clients", status.clients, () => drawClients(status.clients));
  refresh("learning", status.learning, () => drawLearning(status.learning));
  refresh("outcomes", newest, () => drawOutcomes(rounds));
  refresh("loss", newest, () => drawLoss(rounds));
  refresh("staleness", [status.staleness, status.asynchronous],
          () => drawStaleness(status.staleness, status.asynchronous));
  refresh("map", [status.nodes, status.aggregators], () => drawMap(status));
  refresh("reasons", [status.tasks.rejected, status.unasked, status.refused_connections],
          () => drawReasons(status));
  drawNodes(status.nodes, status.now);
  refresh("events", status.events.map(event => event.number), () => drawEvents(status.events));
}

function drawTrouble(wait) {
  const line = byId("trouble"), {status, failures} = known;
  let text = "";
  if (failures > 0)
    text = "The server has not answered since " + clock(known.since) +
      (status ? "; what is shown is from then." : ".") + " Asking again in " + Math.round(wait / 1000) + " s.";
  else if (!status.published)
    text = "The federation is starting.";
  else if (status.phase !== "done" && status.phase !== "diverged" && status.published_age > hangsAfter)
    text = "The federation has not told its state for " + span(status.published_age) + ".";
  line.hidden = text === "";
  if (line.textContent !== text) line.textContent = text;
  byId("foot").textContent =
    status ? "As of " + clock(status.now) + ". Read-only; no values of clients are shown here." : "";
}

async function fetchRounds(status) {
  const newest = status.last_round?.last ?? 0, mine = known.rounds.at(-1)?.last ?? 0;
  // Another process, or one that went back to a checkpoint, or so many rounds that old ones should be merged.
  const restarted = !known.status || known.status.started_at !== status.started_at || newest < mine;
  if (restarted || known.rounds.length > 2500) known.rounds = (await ask("api/rounds?from=0")).rounds;
  else if (newest > mine) known.rounds.push(...(await ask("api/rounds?from=" + (mine + 1))).rounds);
}

async function poll() {
  let wait = document.hidden ? everyHidden : every, answered = false;
  try {
    const status = await ask("api/status");
    await fetchRounds(status);
    known.status = status;
    known.failures = 0;
    known.since = status.now;
    answered = true;
  } catch (why) {
    if (known.since === 0) known.since = Date.now() / 1000;
    wait = Math.min(longestWait, every * 2 ** ++known.failures);
  }
  setTimeout(poll, wait);
  drawTrouble(wait);
  if (answered) drawAll();
}

let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(drawAll, 150);
});
poll();
