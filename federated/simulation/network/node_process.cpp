// The nodes of a simulated federation.
#include "federated/algorithm_traits.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/simulation/network/processes.hpp"

namespace furlong::federated::network {

node_process::node_process(shared_world& in, host at, std::uint32_t index, protocol::client_range clients)
    : process(in, at),
      index_(index),
      clients_(clients),
      id_(++in.last_id),
      machine_(address_of(server_host), "simulated", clients, id_),
      values_(in.e.parts.private_) {
  if (in.e.settings.privacy->secure_aggregation) secrets_.emplace(in.e, nullptr, in.around.disk(index).confirmed());
}

node_process::~node_process() {
  for (const auto& [number, task] : live_) in_.jobs.cancel(task.job);
}

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
          through->side(0).on_message = [this](message&& what) { on_message(std::move(what)); };
          through->side(0).on_closed = [this] { perform(machine_.on_disconnected()); };
          perform(machine_.on_connected());
        },
        [this, failed] {
          if (!stopped_) failed();
        });
  });
}

void node_process::on_message(message&& what) {
  if (const auto* to = std::get_if<protocol::redirect>(&what)) {
    const auto copy = *to;  // performing it ends the link
    return perform(machine_.on_redirect(copy));
  }
  if (const auto* got = std::get_if<protocol::welcome>(&what)) {
    reset_backoff();
    return perform(machine_.on_welcome(*got));
  }
  if (auto* from = std::get_if<broadcast_ptr>(&what)) return machine_.on_broadcast(std::move(*from));
  if (const auto* given = std::get_if<protocol::assignment>(&what)) {
    auto effects = machine_.on_assignment(*given);
    if (!effects) return in_.around.wrong(effects.error().text());
    const auto copy = *given;
    perform(std::move(*effects));
    if (secrets_ && !stopped_ && !secrets_->enters_trained()) send_keys(copy);
    return;
  }
  if (const auto* got = std::get_if<protocol::letters>(&what)) {
    const auto copy = *got;
    return on_letters(copy);
  }
  if (const auto* judged = std::get_if<protocol::verdicts>(&what)) {
    for (const auto& one : judged->each)  // others may be of a life before this one
      if (held_.contains(one.task) || machine_.counts(one.task)) in_.around.on_verdict(one, history_);
    std::vector<task_id> taken;
    for (const auto& one : judged->each)
      if (one.what == protocol::verdict_kind::taken && held_.contains(one.task)) taken.push_back(one.task);
    perform(machine_.on_verdicts(*judged));
    if (stopped_) return;
    for (const auto& id : taken)
      if (!held_.contains(id)) in_.around.wrong(text_of(id) + " is in no checkpoint, and its node forgot the update");
    if (machine_.holding() - machine_.at_work() != held_.size())
      in_.around.wrong("a node holds " + std::to_string(held_.size()) + " updates, and knows of " +
                       std::to_string(machine_.holding() - machine_.at_work()));
    return;
  }
  if (const auto* asked = std::get_if<protocol::evaluation_request>(&what)) return score(*asked);
  if (const auto* durable = std::get_if<protocol::checkpointed>(&what))
    return perform(machine_.on_checkpointed(durable->version));
  if (const auto* said = std::get_if<protocol::close_notice>(&what)) {
    const auto copy = *said;
    return perform(machine_.on_close_notice(copy));
  }
  in_.around.wrong("a node was sent something that is not for it");
}

void node_process::open_run(const protocol::welcome& content) {
  history_ = content.history;
  if (secrets_) secrets_->clear();  // of a life before this one
  unmasked_.clear();
  for (auto& [task, made] : held_)
    if (made.update && !made.update->words.empty()) made.update.reset();  // masked for a sum of that life
  if (auto opened = in_.around.disk(index_).open(content.history, content.covered); !opened)
    return in_.around.on_failure(opened.error());
  after(in_.around.opening_time(index_), [this] { perform(machine_.on_run_opened(restore_pending())); });
}

std::vector<task_id> node_process::restore_pending() {
  std::vector<task_id> found;
  if (!stages_values(in_.e.settings)) return found;
  const auto done =
      in_.around.disk(index_).values().visit_pending([&](const task_id& task, const models::private_parameters& own) {
        if (!clients_.contains(task.client) || held_.contains(task) || machine_.counts(task)) return;
        held_[task] = {nullptr, models::packed_private(own), now(), std::nullopt};
        found.push_back(task);
      });
  if (!done) in_.around.on_failure(done.error());
  return found;
}

void node_process::report_failure(const task_id& task) {
  const auto gone = dropped_.find(task);
  if (gone == dropped_.end()) return session_.send(protocol::task_failures{{task}});
  session_.send(client_dropped{task, gone->second});
}

void node_process::perform_one(protocol::node_effect&& effect) {
  using namespace protocol;
  if (const auto* to = std::get_if<protocol::connect>(&effect)) return open_session(to->address);
  if (auto* said = std::get_if<say_hello>(&effect)) {
    auto own = processes::own_kernels();
    said->content.kernel_level = std::move(own.level);
    said->content.kernel_levels = std::move(own.levels);
    return session_.send(std::move(said->content));
  }
  if (const auto* run = std::get_if<protocol::open_run>(&effect)) return open_run(run->content);
  if (const auto* made = std::get_if<say_ready>(&effect))
    return session_.send(protocol::ready{made->run, {}, protocol::sizes_of(in_.e, clients_)});
  if (auto* job = std::get_if<training_job>(&effect)) return work(std::move(*job));
  if (const auto* made = std::get_if<protocol::send_update>(&effect)) return send_update(made->task);
  if (const auto* failed = std::get_if<send_failure>(&effect)) return report_failure(failed->task);
  if (const auto* in = std::get_if<protocol::keep>(&effect)) return keep(in->task, in->version);
  if (const auto* over = std::get_if<protocol::release>(&effect)) return release(*over);
  if (const auto* durable = std::get_if<cover>(&effect)) return in_.around.disk(index_).cover(durable->version);
  if (auto* notice = std::get_if<send_close_notice>(&effect)) {
    if (!session_.open()) return perform(machine_.on_disconnected());
    return session_.send(close_notice{std::move(notice->why), false});
  }
  if (std::holds_alternative<close_session>(effect)) return session_.close();
  stopped_ = true;
  session_.close();
}

void node_process::send_update(const task_id& task) {
  const auto at = held_.find(task);
  if (at == held_.end()) return in_.around.wrong(text_of(task) + " is to be sent, and is not there");
  if (secrets_ && !mask(task)) return;
  if (in_.around.sends_twice(task)) session_.send(at->second.update);
  session_.send(at->second.update);
}

bool node_process::mask(const task_id& task) {
  auto& made = held_.at(task);
  if (!made.update) {
    perform(machine_.on_unmaskable(task));
    return false;
  }
  if (!made.update->words.empty()) return true;
  if (!secrets_->can_mask(task)) {
    unmasked_.insert(task);
    if (secrets_->enters_trained()) session_.send(protocol::letters{{secrets_->enter(task, made.from)}});
    return false;
  }
  auto masked = *made.update;
  if (secrets_->mask(made.from, masked)) {
    perform(machine_.on_unmaskable(task));
    return false;
  }
  made.update = std::make_shared<const client_update>(std::move(masked));
  made.from.reset();
  return true;
}

void node_process::send_keys(const protocol::assignment& given) {
  protocol::letters keys;
  for (const auto& who : given.tasks)
    if (const task_id id{given.run, given.version, who.client, who.attempt}; machine_.wants(id))
      keys.each.push_back(secrets_->enter(id, machine_.model(given.version)));
  if (!keys.each.empty()) session_.send(std::move(keys));
}

void node_process::on_letters(const protocol::letters& got) {
  if (!secrets_) return in_.around.wrong("a node got letters without secure aggregation");
  protocol::letters answers;
  for (const auto& letter : got.each) {
    auto answer = secrets_->on_letter(letter);
    if (answer.letter) answers.each.push_back(std::move(*answer.letter));
    if (answer.ready && unmasked_.erase(letter.task) > 0) send_update(letter.task);
    if (answer.over && !stopped_) perform(machine_.on_unmaskable(letter.task));
    if (stopped_) return;
  }
  if (!answers.each.empty()) session_.send(std::move(answers));
}

/// Stores private values durably, before their update is reported or discarded. False: the store failed.
bool node_process::commit(const task_id& task, std::uint64_t version, const models::packed_private& own,
                          virtual_time trained_at) {
  auto& disk = in_.around.disk(index_);
  auto stored = disk.values().commit(task.client, version, own.unpacked());
  if (stored) stored = disk.sync();
  if (!stored) {
    in_.around.on_failure(stored.error());
    return false;
  }
  in_.around.on_kept(task, history_.life(), trained_at);
  return true;
}

bool node_process::stage(const task_id& task, const models::packed_private& own) {
  auto& disk = in_.around.disk(index_);
  auto staged = disk.values().stage(task, own.unpacked());
  if (staged) staged = disk.sync();
  if (!staged) in_.around.on_failure(staged.error());
  return staged.has_value();
}

/// Private values that wait for that, once in a life of the run.
void node_process::keep(const task_id& task, std::uint64_t version) {
  const auto at = held_.find(task);
  if (at == held_.end()) return in_.around.wrong(text_of(task) + " is to be kept, and is not there");
  auto& made = at->second;
  if (made.own.empty() || made.kept_in == history_.life()) return;
  if (commit(task, version, made.own, made.trained_at)) made.kept_in = history_.life();
}

void node_process::release(const protocol::release& what) {
  if (!held_.contains(what.task)) return in_.around.wrong(text_of(what.task) + " is to be forgotten, and is not there");
  if (what.in_model) keep(what.task, what.task.version);
  held_.erase(what.task);
  unmasked_.erase(what.task);
  if (secrets_) secrets_->forget(what.task);
  if (!stages_values(in_.e.settings)) return;
  if (auto discarded = in_.around.disk(index_).values().discard(what.task); !discarded)
    in_.around.on_failure(discarded.error());
}

/// Void when the session ends. Answers come in two messages, in any order.
void node_process::score(const protocol::evaluation_request& what) {
  const auto from = machine_.model(what.version);
  if (!from) return in_.around.wrong("a node is to score a model that was not sent");
  protocol::evaluation_scores two[2] = {{what.version, {}}, {what.version, {}}};
  for (const auto& [in, client] : what.clients)
    two[client % 2].each.push_back(in_.around.score(index_, *from, in, client));
  for (auto& some : two)
    after(in_.around.scoring_time(index_), [through = session_, some = std::move(some)] {
      if (through.open()) through.send(some);
    });
}

// ---- training ------------------------------------------------------------------------------------------------------

/// Whether training can change anything: an update that is reported, or private values that are kept. Behind a
/// partition it may turn out, when it heals, that the client does not drop out.
bool node_process::needs_training(const protocol::simulated_task& what) const {
  const bool cut_off = !what.offline.empty() && what.offline.back().to >= never;
  return !what.dropped || cut_off || (what.trained_at < never && trains_if_discarded(in_.e.settings));
}

/// The private values are those of now: what other tasks of the client may keep later is no part of it.
void node_process::work(training_job&& job) {
  const auto id = job.id;
  in_.around.on_begins(id, history_.life(), id_);
  const auto begin = now() + in_.around.clock_ahead();
  const auto fate = in_.around.fate_of(index_, id, begin);
  live_task task{{id, begin, fate.trained_at, fate.ends_at, fate.dropped, fate.cause}, 0};
  in_.around.on_fate(task.what);
  if (needs_training(task.what)) {
    job.loaded = true;
    if (in_.e.settings.algorithm->traits.keeps_state) {
      const auto found = in_.around.disk(index_).values().load(id.client, values_);
      if (!found) return in_.around.on_failure(found.error());
      if (*found) job.own = models::packed_private(values_);
    }
    task.job = in_.jobs.add(std::move(job), task.what.ends_at);
  }
  live_.emplace(++last_, task);
  schedule(last_);
}

void node_process::schedule(std::uint64_t number) {
  const auto& task = live_.at(number);
  const auto end = task.what.ends_at;
  if (end >= never) return;
  const auto is_current = [this, number, end] {
    const auto found = live_.find(number);
    return found != live_.end() && found->second.what.ends_at == end;
  };
  at(
      end - in_.around.clock_ahead(),
      [this, number, is_current] {
        if (is_current() && !stopped_) end_work(number);
      },
      task.job);
}

/// The client reports, or is known to have dropped out.
void node_process::end_work(std::uint64_t number) {
  const auto task = live_.extract(number).mapped();
  const auto id = task.what.id;
  training_job made;
  if (task.job != 0) {
    made = in_.jobs.collect(task.job);
    if (made.failure) return in_.around.on_failure(*made.failure);
    if (!in_.around.on_work_done(made)) return perform(machine_.on_failed(id));
  }
  // The life in which the work began may be over, and with it the work; then nothing of it is to be kept.
  if (machine_.counts(id) && made.keeps && trains_if_discarded(in_.e.settings) && task.what.trained_at < never) {
    if (!commit(id, id.version, made.own, task.what.trained_at)) return;
    made.keeps = false;
  }
  if (!made.keeps) made.own = {};
  if (task.what.dropped) {
    dropped_[id] = *task.what.dropped;
    in_.around.on_dropped(id, task.what.cause);
    perform(machine_.on_failed(id));
    dropped_.erase(id);
    return;
  }
  if (made.keeps && machine_.counts(id) && stages_values(in_.e.settings) && !stage(id, made.own)) return;
  held_[id] = {std::make_shared<const client_update>(std::move(made.update)), std::move(made.own), task.what.trained_at,
               std::nullopt, secrets_ ? made.from : nullptr};
  perform(machine_.on_trained(id));
}

void node_process::update_fates(const std::function<bool(protocol::simulated_task&)>& change) {
  for (auto& [number, task] : live_) {
    if (!change(task.what)) continue;
    if (!needs_training(task.what)) in_.jobs.cancel(std::exchange(task.job, 0));
    schedule(number);
  }
}

void node_process::forget_held(const std::function<bool(std::uint32_t)>& client) {
  for (auto& [id, update] : held_)
    if (client(id.client)) update.own = {};
}

}  // namespace furlong::federated::network
