// The nodes of the test network.
#include <cmath>
#include <limits>

#include "tests/support/network_processes.hpp"

namespace furlong::tests::net {

using federated::task_id;

node_process::node_process(surroundings& in, host at, node_disk& disk, double slowness)
    : process(in, at),
      disk_(disk),
      slowness_(slowness),
      machine_(address_of(server_host), "test", disk.clients, ++in.nodes) {}

std::vector<task_id> node_process::holding() const {
  std::vector<task_id> all;
  for (const auto& [id, made] : held_) all.push_back(id);
  return all;
}

void node_process::perform(protocol::node_effects effects) {
  for (auto& effect : effects) {
    perform_one(std::move(effect));
    if (stopped_) return;
  }
}

void node_process::open_session(const std::string& address) {
  const auto failed = [this] { perform(machine_.on_disconnected()); };
  after(backoff(), [this, to = host_of(address), failed] {
    if (stopped_) return;
    connect(
        to,
        [this](const link_ptr& through) {
          if (stopped_) return through->close(0);
          session_ = {through, 0};
          through->side(0).on_message = [this](message&& what) { hear(std::move(what)); };
          through->side(0).on_closed = [this] { perform(machine_.on_disconnected()); };
          perform(machine_.on_connected());
        },
        [this, failed] {
          if (!stopped_) failed();
        });
  });
}

void node_process::hear(message&& what) {
  if (const auto* to = std::get_if<protocol::redirect>(&what)) {
    const auto copy = *to;
    return perform(machine_.on_redirect(copy));
  }
  if (const auto* got = std::get_if<protocol::welcome>(&what)) {
    reset_backoff();
    return perform(machine_.on_welcome(*got));
  }
  if (auto* from = std::get_if<federated::broadcast_ptr>(&what)) return machine_.on_broadcast(std::move(*from));
  if (const auto* given = std::get_if<protocol::assignment>(&what)) {
    auto effects = machine_.on_assignment(*given);
    if (!effects) return in_.checks.wrong(effects.error().text());
    return perform(std::move(*effects));
  }
  if (const auto* judged = std::get_if<protocol::verdicts>(&what)) {
    for (const auto& one : judged->each)  // others may be of a life before this one
      if (held_.contains(one.task) || machine_.counts(one.task)) in_.checks.told(one, disk_.store.history());
    return perform(machine_.on_verdicts(*judged));
  }
  if (const auto* asked = std::get_if<protocol::evaluation_request>(&what)) return score(*asked);
  if (const auto* durable = std::get_if<protocol::checkpointed>(&what))
    return perform(machine_.on_checkpointed(durable->version));
  if (const auto* said = std::get_if<protocol::farewell>(&what)) {
    const auto copy = *said;
    return perform(machine_.on_farewell(copy));
  }
  in_.checks.wrong("a node was sent something strange");
}

void node_process::perform_one(protocol::node_effect&& effect) {
  using namespace federated::protocol;
  if (const auto* to = std::get_if<protocol::connect>(&effect)) return open_session(to->address);
  if (auto* said = std::get_if<say_hello>(&effect)) return session_.send(std::move(said->content));
  if (const auto* run = std::get_if<open_run>(&effect)) {
    disk_.store.open(run->content.history, run->content.covered);
    return after(in_.net.between(0, 400 * millisecond), [this] { perform(machine_.on_run_opened()); });
  }
  if (const auto* made = std::get_if<say_ready>(&effect))
    return session_.send(protocol::ready{made->run, {}, protocol::sizes_of(in_.e, disk_.clients)});
  if (const auto* task = std::get_if<train>(&effect)) return work(*task);
  if (const auto* made = std::get_if<protocol::send_update>(&effect)) {
    const auto at = held_.find(made->task);
    if (at == held_.end()) return in_.checks.wrong(text_of(made->task) + " is to be sent, and is not there");
    return session_.send(at->second.update);
  }
  if (const auto* failed = std::get_if<send_failure>(&effect)) return session_.send(task_failures{{failed->task}});
  if (const auto* in = std::get_if<protocol::keep>(&effect)) return keep(in->task, in->version);
  if (const auto* over = std::get_if<protocol::release>(&effect)) return release(*over);
  if (const auto* durable = std::get_if<cover>(&effect)) return disk_.store.cover(durable->version);
  if (auto* bye = std::get_if<take_leave>(&effect)) {
    if (!session_.open()) return perform(machine_.on_disconnected());
    return session_.send(farewell{std::move(bye->why), false});
  }
  if (std::holds_alternative<hang_up>(effect)) return session_.close();
  stopped_ = true;
  session_.close();
}

/// Private values that wait for that, once in a life of the run.
void node_process::keep(const task_id& task, std::uint64_t version) {
  const auto at = held_.find(task);
  if (at == held_.end()) return in_.checks.wrong(text_of(task) + " is to be kept, and is not there");
  auto& made = at->second;
  const auto life = disk_.store.life();
  if (!made.to_keep || in_.e.settings.own.commit != federated::commit_kind::after_ack || made.kept_in == life) return;
  disk_.store.commit(task.client, version, made.own);
  in_.checks.kept(task, life);
  made.kept_in = life;
}

void node_process::release(const protocol::release& what) {
  if (!held_.contains(what.task)) return in_.checks.wrong(text_of(what.task) + " is to be forgotten, and is not there");
  if (what.in_model) keep(what.task, what.task.version);
  held_.erase(what.task);
}

/// Made-up scores, the same whoever is asked for them and when; of some clients none. Void when the session ends.
void node_process::score(const protocol::evaluation_request& what) {
  protocol::evaluation_scores two[2] = {{what.version, {}}, {what.version, {}}};
  for (const auto& [in, client] : what.clients) {
    random_stream draw(in_.seed, purpose::test, static_cast<std::uint32_t>(what.version), client, 50);
    federated::client_score made;
    made.examples = draw.below(3);
    made.loss = made.squared_error = static_cast<double>(made.examples) * static_cast<double>(draw.uniform());
    two[client % 2].each.push_back({in, client, std::move(made)});
  }
  for (auto& some : two)
    after(in_.net.between(5 * millisecond, 600 * millisecond), [through = session_, some = std::move(some)] {
      if (through.open()) through.send(some);
    });
}

/// Trains at once; what comes of it is known when the time of the work is over.
void node_process::work(const protocol::train& what) {
  auto made = std::make_shared<result_of_work>(outcome_of(what));
  ++training_;
  const auto length = static_cast<double>(in_.net.between(20 * millisecond, 2 * second)) * slowness_;
  after(static_cast<virtual_time>(length), [this, task = what.task, made] {
    --training_;
    if (!stopped_) worked(task, std::move(*made));
  });
}

node_process::result_of_work node_process::outcome_of(const protocol::train& what) {
  result_of_work made;
  made.life = disk_.store.life();
  if (use_.own.shape() != in_.e.parts.private_) use_.own = models::private_parameters(in_.e.parts.private_);
  bool has_own = false;
  if (in_.e.settings.algorithm.traits.keeps_state) {
    bool faithful = true;
    has_own = disk_.store.load(what.task.client, use_.own, faithful);
    if (!faithful) in_.checks.wrong(text_of(what.task) + " starts from private values that the history does not have");
  }
  auto update = std::make_shared<federated::client_update>();
  made.to_keep = federated::client_work(in_.e, *what.from, what.task, has_own, use_, *update);
  made.own = use_.own;
  if (made.to_keep) in_.checks.to_be_kept(what.task);
  // Whenever and wherever the work is done.
  random_stream fate(in_.seed, purpose::test, static_cast<std::uint32_t>(what.task.version), what.task.client,
                     what.task.attempt);
  made.failed = fate.uniform() < static_cast<float>(in_.failing);
  if (fate.uniform() < static_cast<float>(in_.spoiled) && !update->change.values.empty())
    update->change.values[0] = std::numeric_limits<float>::quiet_NaN();
  made.update = std::move(update);
  return made;
}

void node_process::worked(const task_id& task, result_of_work made) {
  if (made.failed) return perform(machine_.on_failed(task));
  // The life in which the work began may be over, and with it the work; then nothing of it is to be kept.
  if (machine_.counts(task) && made.to_keep && in_.e.settings.own.commit == federated::commit_kind::after_training) {
    disk_.store.commit(task.client, task.version, made.own);
    in_.checks.kept(task, disk_.store.life());
  }
  held_[task] = std::move(made);
  perform(machine_.on_trained(task));
}

}  // namespace furlong::tests::net
