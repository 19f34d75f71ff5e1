// The server of a simulated federation.
#include "federated/privacy/secure_aggregation/secure_server.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/running.hpp"
#include "federated/simulation/network/processes.hpp"

namespace furlong::federated::network {

server_process::server_process(shared_world& in, server_state from)
    : process(in, server_host),
      roster_(in.around,
              {in.e.clients->facts().clients,
               in.e.participants->training(),
               {in.net.patience(), from_seconds(in.e.settings.network->task_timeout)}},
              [this] { return run_now(); }),
      covered_(from.version),
      created_(now()),
      began_(now() - from.now) {
  welcome_.run = in.e.run;
  welcome_.facts = in.e.clients->facts();
  welcome_.kernel_level = processes::own_kernels().level;
  welcome_.history = from.history;
  welcome_.covered = covered_;
  welcome_.start_id = from.start_id;
  machine_.emplace(in.e, std::move(from), &roster_);
}

void server_process::start() {
  own_ = routes().add_aggregator("");
  children_.emplace(in_, static_cast<processes::children_parent&>(*this), [this](const partial_ptr& partial) {
    if (!in_.over) in_.around.on_arrived(partial);  // before it is merged: the round may close by it
  });
  // As between actors: in order, and not at once.
  gateway_parent parent;
  parent.hear = [this](protocol::upward&& what) {
    after(0,
          [this, content = std::make_shared<protocol::upward>(std::move(what))] { hear(own_, std::move(*content)); });
  };
  parent.hear_partial = [this](const partial_ptr& partial) {
    after(0, [this, partial] {
      if (!in_.over) in_.around.on_arrived(partial);
      hear(own_, partial_aggregate(*partial));
    });
  };
  parent.place = [this](const processes::node_arrival& node) {
    after(0, [this, node] { after(0, [this, place = place_node(node)] { local_->on_placed(place); }); });
  };
  local_.emplace(in_, processes::gateway_options{own_, in_.clients_of}, welcome_, std::move(parent),
                 [this](virtual_time wait, std::function<void()> then) { after(wait, std::move(then)); });
  in_.net.listeners[where()] = [this](const link_ptr& through) { accept(through); };
  begin_when_enough_are_here();
}

void server_process::begin_when_enough_are_here() {
  const auto all = static_cast<double>(in_.e.participants->training().size());
  const bool enough = static_cast<double>(routes().reached()) + 1e-9 >= in_.e.settings.network->start * all;
  if (!enough && in_.around.waits_for_more(now() - created_))
    return after(100 * millisecond, [this] { begin_when_enough_are_here(); });
  started_ = true;
  const auto before = run_now();
  began_ = now() - machine_->state().now;
  routes().begin(before, run_now());
  in_.around.on_begin(run_now());
  perform(machine_->start());
}

void server_process::accept(const link_ptr& through) {
  through->side(1).on_message = [this, raw = through.get()](message&& what) {
    const auto self = raw->shared_from_this();
    if (const auto* arrived = std::get_if<protocol::branch_hello>(&what)) {
      const auto copy = *arrived;
      children_->admit(self, copy);
    } else if (const auto* node = std::get_if<protocol::hello>(&what)) {
      const auto copy = *node;
      local_->admit(self, copy);
    }
  };
}

std::optional<std::string> server_process::judge_kernels(const processes::kernel_offer& offer) {
  return processes::unlike_kernels(in_.e.settings.network->kernels, offer);
}

protocol::aggregator_place server_process::place(const protocol::branch_hello& hello) {
  return routes().place_aggregator(in_.e.settings.topology->fan_in, hello.operators);
}

protocol::welcome server_process::add(const protocol::branch_hello& hello) {
  auto content = welcome_;
  content.aggregator = routes().add_aggregator(hello.gateway, hello.operators);
  content.covered = covered_;
  return content;
}

processes::node_placement server_process::place_node(const processes::node_arrival& node) {
  routes().on_node_seen(node.clients, run_now());
  return {node.session, routes().gateway_for(node.clients, node.avoid, run_now())};
}

void server_process::lose(std::uint32_t child, const std::string&) {
  if (in_.over) return;
  routes().remove_aggregator(child, run_now());
  perform(machine_->on_aggregator_lost(child, run_now()));
  if (scoring_) request(scoring_->on_aggregator_lost(child, run_now()));
}

void server_process::hear(std::uint32_t child, protocol::upward&& content) {
  if (in_.over) return;
  if (const auto* here = std::get_if<protocol::attached>(&content)) {
    on_attached(child, *here);
  } else if (auto* scores = std::get_if<protocol::evaluation_scores>(&content)) {
    if (!scoring_) return;
    request(scoring_->on_scores(child, std::move(*scores), run_now()));
    check_scores();
  } else if (const auto* gone = std::get_if<protocol::detached>(&content)) {
    routes().detach(child, gone->clients, run_now(), gone->strayed);
  } else if (const auto* some = std::get_if<protocol::settled>(&content)) {
    perform(machine_->on_settled(child, some->each, run_now()));
  } else if (const auto* back = std::get_if<protocol::withdrawn>(&content)) {
    perform(machine_->on_withdrawn(child, back->tasks, run_now()));
  } else if (const auto* lost = std::get_if<protocol::tasks_lost>(&content)) {
    in_.around.on_tasks_lost(lost->folded.size() + lost->open.size());
    perform(machine_->on_tasks_lost(child, *lost, run_now()));
  } else if (const auto* written = std::get_if<protocol::letters>(&content)) {
    perform(machine_->on_letters(child, *written, run_now()));
  } else {
    on_partial(child, std::get<partial_aggregate>(std::move(content)));
  }
}

void server_process::on_attached(std::uint32_t from, const protocol::attached& here) {
  if (!routes().attach(from, here.clients, here.instance)) return in_.around.wrong("clients that are not there");
  perform(machine_->on_attached(from, here.clients.first, here.clients.last, here.holding, run_now()));
  if (scoring_) request(scoring_->on_attached(here.clients, run_now()));
}

void server_process::on_partial(std::uint32_t from, partial_aggregate&& what) {
  if (what.aggregator != from) return in_.around.wrong("a partial of another aggregator");
  auto effects = machine_->on_partial(std::move(what), run_now());
  if (!effects) return in_.around.wrong(effects.error().text());
  perform(std::move(*effects));
}

void server_process::send_down(std::uint32_t to, protocol::downward what) {
  if (to != own_ && !children_->known().contains(to))
    return in_.around.wrong("the machine knows aggregator " + std::to_string(to));
  if (to != own_) return children_->known().send(to, what);
  after(0, [this, what = std::make_shared<protocol::downward>(std::move(what))] { local_->on_downward(*what); });
}

void server_process::perform(protocol::server_effects effects) {
  in_.around.on_server_step(*machine_);
  for (auto& effect : effects) perform_one(std::move(effect));
}

void server_process::request(protocol::scoring_machine::requests by_branch) {
  for (auto& [to, asked] : by_branch) send_down(to, std::move(asked));
}

void server_process::evaluate() {
  scoring_.emplace(in_.e, *machine_, roster_, run_now());
  request(scoring_->ask(run_now()));
  schedule_score_check();
}

/// Time alone may end an evaluation too.
void server_process::schedule_score_check() {
  check_scores();
  if (scoring_) after(100 * millisecond, [this] { schedule_score_check(); });
}

void server_process::check_scores() {
  if (!scoring_ || !scoring_->is_over(run_now())) return;
  const auto figures = scoring_->report();
  const auto missing = scoring_->missing();
  scoring_.reset();
  if (in_.around.evaluation_failed()) return perform(machine_->on_evaluation_failed());
  in_.around.on_evaluation(figures, missing);
  if (in_.around.stops()) machine_->stop();
  perform(machine_->on_evaluated(figures));
}

void server_process::send_share(protocol::assign&& share) {
  for (const auto& task : share.tasks)
    if (task.version != share.from->version) in_.around.wrong(text_of(task) + " was given out with another model");
  send_down(share.aggregator, std::move(share));
}

/// To where the clients are now; others hear when they are there again.
void server_process::send_verdicts(const std::vector<task_id>& tasks, protocol::verdict_kind what,
                                   std::uint64_t version, rejection why) {
  std::map<std::uint32_t, protocol::verdicts> by_branch;
  for (const auto& task : tasks)
    if (const auto to = routes().route(task.client)) by_branch[*to].each.push_back({task, what, why});
  for (auto& [to, some] : by_branch) some.version = version;
  for (auto& [to, some] : by_branch) send_down(to, std::move(some));
}

void server_process::perform_one(protocol::server_effect&& effect) {
  using namespace protocol;
  if (auto* share = std::get_if<assign>(&effect)) return send_share(std::move(*share));
  if (const auto* close = std::get_if<close_share>(&effect))
    return send_down(close->aggregator, close_request{close->version, close->enough});
  if (auto* back = std::get_if<withdraw>(&effect)) return send_down(back->aggregator, withdrawal{back->tasks});
  if (const auto* rings = std::get_if<timer>(&effect))
    return after(rings->at - run_now(), [this, what = *rings] { perform(machine_->on_timer(what, run_now())); });
  if (const auto* in = std::get_if<acknowledge>(&effect)) return send_verdicts(in->tasks, verdict_kind::durable);
  if (const auto* in = std::get_if<taken>(&effect)) return send_verdicts(in->tasks, verdict_kind::taken, in->version);
  if (const auto* out = std::get_if<decline>(&effect))
    return out->why ? send_verdicts(out->tasks, verdict_kind::rejected, 0, *out->why)
                    : send_verdicts(out->tasks, verdict_kind::unwanted);
  if (auto* some = std::get_if<protocol::send_letters>(&effect))
    return send_down(some->aggregator, std::move(some->content));
  if (auto* masked = std::get_if<protocol::remove_masks>(&effect)) {
    masked->masks->apply(masked->sum);
    return perform(machine_->on_masks_removed(masked->version, std::move(masked->sum), run_now()));
  }
  if (const auto* line = std::get_if<note>(&effect)) return in_.around.on_event(line->event);
  if (const auto* round = std::get_if<round_closed>(&effect)) return in_.around.on_round(round->report, *machine_);
  if (auto* step = std::get_if<failed>(&effect)) return in_.around.on_failure(std::move(step->why));
  if (std::holds_alternative<protocol::evaluate>(effect)) return evaluate();
  if (std::holds_alternative<checkpoint>(effect)) return in_.around.on_checkpoint(*this);
  if (std::holds_alternative<proceed>(effect)) {
    if (in_.around.stops()) machine_->stop();
    return perform(machine_->on_proceed(run_now()));
  }
  finish(std::get<protocol::finish>(effect).interrupted);
}

void server_process::on_checkpointed(std::uint64_t version) {
  covered_ = version;
  for (const auto number : routes().aggregators()) send_down(number, protocol::checkpointed{version});
  perform(machine_->on_checkpointed());
}

void server_process::stop() {
  if (!finished_) perform(machine_->on_stop(run_now()));
}

void server_process::finish(bool interrupted) {
  finished_ = true;
  in_.around.on_finish(interrupted);
  // Nodes that are not there just now also receive the last verdicts: those that were cut off unnoticed come back
  // within the network's patience.
  after(in_.net.patience() + 4 * second, [this] { announce_end(0); });
}

void server_process::announce_end(int waited) {
  if (routes().reached() < in_.e.participants->training().size() && waited < 60)
    return after(second, [this, waited] { announce_end(waited + 1); });
  in_.over = true;
  children_->known().leave();
  // After the last verdicts, which may be on their way. Aggregators end their sessions when their nodes know it.
  for (const auto number : routes().aggregators())
    send_down(number, protocol::close_notice{processes::run_is_over, true});
  in_.net.listeners.erase(where());
}

}  // namespace furlong::federated::network
