// The server of the test network.
#include "tests/support/network_processes.hpp"
#include "tests/support/worlds.hpp"

namespace furlong::tests::net {

using federated::task_id;

namespace {

/// A copy that shares nothing with the original.
federated::protocol::server_state deep_copy(federated::protocol::server_state state) {
  state.ledger = std::make_shared<federated::participation_ledger>(*state.ledger);
  return state;
}

}  // namespace

server_process::server_process(surroundings& in, saved_life& saved)
    : process(in, server_host),
      saved_(saved),
      who_(in.e.clients->facts().clients, in.e.participants->training(),
           {in.net.patience(), federated::from_seconds(in.e.settings.network.task_timeout)}),
      covered_(saved.state.version) {
  in_.checks.begin_life(saved_);
  machine_.emplace(in.e, deep_copy(saved_.state), &who_);
  began_ = now() - saved_.state.now;
}

void server_process::start() {
  welcome_.run = in_.e.run;
  welcome_.scenario = "test";
  welcome_.history = saved_.state.history;
  welcome_.covered = covered_;
  const auto number = who_.add_aggregator("");
  branches_[number] = {};
  local_.emplace(
      in_, number, welcome_,
      [this, number](message what) {  // as between actors: in order, and not at once
        after(0, [this, number, what = std::make_shared<message>(std::move(what))] { hear(number, std::move(*what)); });
      },
      [this](virtual_time wait, std::function<void()> then) { after(wait, std::move(then)); });
  in_.net.listeners[where()] = [this](const link_ptr& through) { accept(through); };
  begin_when_enough_are_here();
}

void server_process::begin_when_enough_are_here() {
  const auto all = static_cast<double>(in_.e.participants->training().size());
  if (static_cast<double>(who_.reached()) + 1e-9 < in_.e.settings.network.start * all)
    return after(100 * millisecond, [this] { begin_when_enough_are_here(); });
  started_ = true;
  const auto before = run_now();
  began_ = now() - machine_->state().now;
  who_.begin(before, run_now());
  perform(machine_->start());
}

void server_process::accept(const link_ptr& through) {
  through->side(1).on_message = [this, raw = through.get()](message&& what) {
    const auto self = raw->shared_from_this();
    if (const auto* arrived = std::get_if<protocol::branch_hello>(&what)) {
      const auto copy = *arrived;
      take_in(self, copy);
    } else if (const auto* node = std::get_if<protocol::hello>(&what)) {
      const auto copy = *node;
      welcome_node(self, copy);
    }
  };
}

void server_process::take_in(const link_ptr& through, const protocol::branch_hello& hello) {
  const auto place = who_.place_aggregator(in_.e.settings.fan_in, hello.operators);
  if (!place.here) return in_.send_elsewhere(through, place);
  const auto number = who_.add_aggregator(hello.gateway, hello.operators);
  branches_[number].to = port{through, 1};
  through->side(1).on_message = [this, number](message&& what) { hear(number, std::move(what)); };
  through->side(1).on_closed = [this, number] { lose(number); };
  auto content = welcome_;
  content.aggregator = number;
  content.covered = covered_;
  branches_[number].to->send(std::move(content));
}

void server_process::welcome_node(const link_ptr& through, const protocol::hello& hello) {
  who_.saw(hello.clients, run_now());
  const auto elsewhere = who_.gateway_for(hello.avoid);
  if (elsewhere.empty()) return local_->admit(through, hello);
  through->send(1, protocol::redirect{elsewhere});
  through->close(1);
}

void server_process::lose(std::uint32_t number) {
  if (branches_.erase(number) == 0 || in_.over) return;
  who_.remove_aggregator(number, run_now());
  perform(machine_->on_aggregator_lost(number, run_now()));
  if (scoring_) request(scoring_->on_aggregator_lost(number, run_now()));
}

void server_process::hear(std::uint32_t from, message&& what) {
  if (!branches_.contains(from) || in_.over) return;
  if (const auto* here = std::get_if<protocol::attached>(&what)) {
    if (!who_.attach(from, here->clients, here->instance)) return in_.checks.wrong("clients that are not there");
    perform(machine_->on_attached(from, here->clients.first, here->clients.last, here->holding, run_now()));
    if (scoring_) request(scoring_->on_attached(here->clients, run_now()));
  } else if (auto* scores = std::get_if<protocol::evaluation_scores>(&what)) {
    if (scoring_) request(scoring_->on_scores(from, std::move(*scores), run_now()));
  } else if (const auto* gone = std::get_if<protocol::detached>(&what)) {
    who_.detach(from, gone->clients, run_now(), gone->strayed);
  } else if (const auto* some = std::get_if<protocol::settled>(&what)) {
    perform(machine_->on_settled(from, some->each, run_now()));
  } else if (const auto* back = std::get_if<protocol::withdrawn>(&what)) {
    perform(machine_->on_withdrawn(from, back->tasks, run_now()));
  } else if (const auto* lost = std::get_if<protocol::tasks_lost>(&what)) {
    in_.tasks_lost += lost->folded.size() + lost->open.size();
    perform(machine_->on_tasks_lost(from, *lost, run_now()));
  } else if (const auto* sent = std::get_if<partial_ptr>(&what)) {
    on_partial(from, **sent);
  } else {
    in_.checks.wrong("the server was sent something strange");
  }
}

void server_process::on_partial(std::uint32_t from, const partial_with_members& what) {
  auto partial = what.partial;
  if (partial.aggregator != from) return in_.checks.wrong("a partial of another aggregator");
  // Before it is merged: the round may close by it.
  in_.checks.merged(what);
  auto effects = machine_->on_partial(std::move(partial), run_now());
  if (!effects) return in_.checks.wrong(effects.error().text());
  perform(std::move(*effects));
}

void server_process::send_down(std::uint32_t to, message what) {
  const auto at = branches_.find(to);
  if (at == branches_.end()) return in_.checks.wrong("the machine knows aggregator " + std::to_string(to));
  if (at->second.to) return at->second.to->send(std::move(what));
  after(0, [this, what = std::make_shared<message>(std::move(what))] { local_->obey(std::move(*what)); });
}

void server_process::perform(federated::protocol::server_effects effects) {
  in_.checks.check_counts(*machine_);
  for (auto& effect : effects) perform_one(std::move(effect));
}

void server_process::send_model(std::uint32_t to, const federated::broadcast_ptr& from) {
  const auto at = branches_.find(to);
  if (at != branches_.end() && std::exchange(at->second.model, from->version) != from->version) send_down(to, from);
}

void server_process::request(federated::protocol::scoring_machine::requests by_branch) {
  for (auto& [to, asked] : by_branch) {
    send_model(to, asked.from);
    send_down(to, protocol::evaluation_request{asked.from->version, std::move(asked.clients)});
  }
}

void server_process::evaluate() {
  scoring_.emplace(in_.e, *machine_, who_, run_now());
  request(scoring_->ask(run_now()));
  look_at_scores();
}

void server_process::look_at_scores() {
  if (!scoring_->is_over(run_now())) return after(100 * millisecond, [this] { look_at_scores(); });
  const auto figures = scoring_->report();
  const auto missing = scoring_->missing();
  scoring_.reset();
  std::string line = "evaluation of " + std::to_string(figures.version) + ", without " + std::to_string(missing) + ":";
  for (const auto* group : {&figures.validation, &figures.seen, &figures.unseen})
    line += *group ? " " + std::to_string((*group)->clients) + "/" + std::to_string((*group)->loss) : " none";
  in_.checks.note(line);
  in_.checks.evaluations.push_back(std::move(line));
  perform(machine_->on_evaluated(figures));
}

void server_process::give(federated::protocol::assign&& share) {
  send_model(share.aggregator, share.from);
  protocol::assignment given{share.from->run, share.from->version, share.begins, {}};
  for (const auto& task : share.tasks) {
    if (task.version != share.from->version) in_.checks.wrong(text_of(task) + " was given out with another model");
    given.tasks.push_back({task.client, task.attempt});
  }
  send_down(share.aggregator, std::move(given));
}

/// To where the clients are now; others hear when they are there again.
void server_process::judge(const std::vector<task_id>& tasks, federated::protocol::verdict_kind what,
                           std::uint64_t version, federated::rejection why) {
  std::map<std::uint32_t, protocol::verdicts> by_branch;
  for (const auto& task : tasks)
    if (const auto to = who_.route(task.client)) by_branch[*to].each.push_back({task, what, why});
  for (auto& [to, some] : by_branch) some.version = version;
  for (auto& [to, some] : by_branch) send_down(to, std::move(some));
}

void server_process::perform_one(federated::protocol::server_effect&& effect) {
  using namespace federated::protocol;
  if (auto* share = std::get_if<assign>(&effect)) return give(std::move(*share));
  if (const auto* close = std::get_if<close_share>(&effect))
    return send_down(close->aggregator, close_request{close->version, close->enough});
  if (auto* back = std::get_if<withdraw>(&effect)) return send_down(back->aggregator, withdrawal{back->tasks});
  if (const auto* rings = std::get_if<timer>(&effect))
    return after(rings->at - run_now(), [this, what = *rings] { perform(machine_->on_timer(what, run_now())); });
  if (const auto* in = std::get_if<acknowledge>(&effect)) return judge(in->tasks, verdict_kind::durable);
  if (const auto* in = std::get_if<taken>(&effect)) return judge(in->tasks, verdict_kind::taken, in->version);
  if (const auto* out = std::get_if<decline>(&effect))
    return out->why ? judge(out->tasks, verdict_kind::rejected, 0, *out->why)
                    : judge(out->tasks, verdict_kind::unwanted);
  if (const auto* line = std::get_if<note>(&effect)) return in_.checks.note(tests::text_of(line->event));
  if (const auto* round = std::get_if<round_closed>(&effect)) {
    in_.checks.note(tests::text_of(round->report));
    return in_.checks.closed(round->report, *machine_);
  }
  if (std::holds_alternative<protocol::evaluate>(effect)) return evaluate();
  if (std::holds_alternative<checkpoint>(effect)) return save();
  if (std::holds_alternative<proceed>(effect)) return perform(machine_->on_proceed(run_now()));
  finish();
}

/// Durable after a while; a crash before that leaves the one before.
void server_process::save() {
  auto made = std::make_shared<saved_life>(in_.checks.life(deep_copy(machine_->snapshot())));
  after(in_.net.between(0, 300 * millisecond), [this, made] {
    saved_ = *made;
    covered_ = saved_.state.version;
    in_.checks.durable(saved_);
    in_.checks.note("checkpoint " + std::to_string(covered_));
    for (const auto& [number, one] : branches_) send_down(number, protocol::checkpointed{covered_});
    perform(machine_->on_checkpointed());
  });
}

void server_process::finish() {
  finished_ = true;
  // Nodes that are not there just now shall hear the last verdicts too: those that were cut off unnoticed come back
  // within the network's patience.
  after(in_.net.patience() + 4 * second, [this] { say_goodbye(0); });
}

void server_process::say_goodbye(int waited) {
  if (who_.reached() < in_.e.participants->training().size() && waited < 60)
    return after(second, [this, waited] { say_goodbye(waited + 1); });
  in_.over = true;
  for (const auto& [number, one] : branches_) {
    if (one.to) one.to->send(protocol::farewell{"the run is over", true});
    if (one.to) one.to->close();
  }
  // After the last verdicts, which may be on their way.
  after(0, [this] { local_->end(protocol::farewell{"the run is over", true}); });
  in_.net.listeners.erase(where());
}

}  // namespace furlong::tests::net
