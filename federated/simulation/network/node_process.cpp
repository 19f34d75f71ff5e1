#include "federated/simulation/network/node_process.hpp"

#include <algorithm>
#include <variant>

#include "base/narrow_variant.hpp"
#include "federated/client/client_work.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"

namespace furlong::federated::network {

namespace {

/// As which a message counts against the bytes that a node keeps unread: about what its frame has.
constexpr std::size_t bytes_of_message = 128;

struct simulated_update final : processes::outgoing_update {
  explicit simulated_update(client_update&& made) : update(std::make_shared<const client_update>(std::move(made))) {}
  update_ptr update;
};

bool are_same(const models::packed_private& values, const models::packed_private& others) {
  if (values.empty() || others.empty()) return values.empty() == others.empty();
  return std::ranges::equal(values.unpacked().values(), others.unpacked().values());
}

}  // namespace

node_process::node_process(shared_world& in, host at, std::uint32_t index, client_range clients)
    : calling_process(in, at),
      index_(index),
      clients_(clients),
      id_(++in.last_id),
      role_(*this, {address_of(server_host), "simulated", clients, id_, in.around.disk(index).claim()}, pause_),
      values_(in.e.parts.private_) {}

node_process::~node_process() {
  for (const auto& [number, task] : live_) in_.jobs.cancel(task.job);
}

void node_process::start() {
  role_.start();
  go_on();
}

void node_process::drain() {
  role_.on_stop();
  go_on();
}

void node_process::go_on() {
  processes::work_item item;
  while (role_.next(item)) std::visit([this](auto& work) { begin(std::move(work)); }, item);
  if (std::exchange(heard_, false)) check_verdicts();
}

// ---- sessions ------------------------------------------------------------------------------------------------------

void node_process::on_wake() {
  role_.on_wake();
  go_on();
}

void node_process::on_opened(session_number session) {
  role_.on_opened(session);
  go_on();
}

void node_process::on_end(session_number session) {
  role_.on_closed(session, {"the link ended"});
  go_on();
}

void node_process::send(session_number session, const processes::outgoing_update_ptr& update) {
  const auto& made = static_cast<const simulated_update&>(*update).update;
  if (in_.around.sends_twice(made->id)) put(session, made);
  put(session, made);
}

void node_process::send_dropped(session_number session, const task_id& task, drop_stage stage) {
  put(session, client_dropped{task, stage});
}

void node_process::on_arrival(session_number session, message&& content) {
  if (auto* model = std::get_if<broadcast_ptr>(&content))
    role_.on_model(session, std::move(*model));
  else if (auto control = narrow_variant<protocol::control>(std::move(content)))
    role_.on_message(session, std::move(*control), bytes_of_message);
  else
    in_.around.wrong("a node was sent something that is not for it");
  go_on();
}

// ---- the run -------------------------------------------------------------------------------------------------------

void node_process::prepare(const protocol::welcome& content) {
  if (!run_.expired()) in_.around.wrong("a node opens a run while a worker has the one before");
  history_ = content.history;
  auto& disk = in_.around.disk(index_);
  if (auto opened = disk.open(content.history, content.covered); !opened) return in_.around.on_failure(opened.error());
  // Not owned: they outlive the process.
  const std::shared_ptr<void> nobody;
  auto run = std::make_shared<processes::node_run>();
  run->e = {nobody, &in_.e};
  run->store = {nobody, &disk.values()};
  run->sizes = protocol::sizes_of(in_.e, clients_);
  run->work = in_.around.work_of(index_);
  run->claim = disk.claim();
  run->note_served = [&disk](std::uint64_t served) { return disk.note_served(served); };
  run->confirmed.lists = disk.confirmed();
  run_ = run;
  // Shared by the copies of the event, so that none of them keeps the run.
  const auto opened = std::make_shared<processes::node_run_ptr>(std::move(run));
  after(in_.around.opening_time(index_), [this, opened] {
    role_.on_prepared(std::move(*opened));
    go_on();
  });
}

result<processes::outgoing_update_ptr> node_process::encode(const processes::node_run&, client_update&& update) {
  return std::make_shared<const simulated_update>(std::move(update));
}

void node_process::heard(const protocol::verdicts& content) {
  heard_ = true;
  for (const auto& verdict : content.each) {
    const bool is_held = role_.holds(verdict.task);
    // Others may be of a life before this one.
    if (is_held || machine().counts(verdict.task)) in_.around.on_verdict(verdict, history_);
    if (verdict.what != protocol::verdict_kind::taken)
      std::erase(taken_, verdict.task);
    else if (is_held)
      taken_.push_back(verdict.task);
  }
}

void node_process::check_verdicts() {
  const auto taken = std::exchange(taken_, {});
  if (stopped()) return;
  for (const auto& id : taken)
    if (!role_.holds(id)) in_.around.wrong(text_of(id) + " is in no checkpoint, and its node forgot the update");
  const auto held = role_.holding().size();
  const auto known = machine().holding() - machine().at_work();
  if (held != known)
    in_.around.wrong("a node holds " + std::to_string(held) + " updates, and knows of " + std::to_string(known));
}

void node_process::stored(const task_id& task, virtual_time trained_at) {
  in_.around.on_kept(task, history_.life(), trained_at);
}

void node_process::ended(const processes::node_end& end) {
  if (end.failure && !end.is_told) in_.around.on_failure(*end.failure);
}

// ---- scoring -------------------------------------------------------------------------------------------------------

/// Answers come in two messages, in any order.
void node_process::begin(processes::scoring&& asked) {
  processes::scored_clients halves[2] = {{asked.session, {asked.from->version, {}}},
                                         {asked.session, {asked.from->version, {}}}};
  for (const auto& [in, client] : asked.clients)
    halves[client % 2].scores.each.push_back(in_.around.score(index_, *asked.from, in, client));
  const virtual_time times[2] = {in_.around.scoring_time(index_), in_.around.scoring_time(index_)};
  halves[times[0] > times[1] ? 1 : 0].is_last = false;
  for (int half = 0; half < 2; ++half)
    after(times[half], [this, done = std::move(halves[half])]() mutable {
      role_.on_done(std::move(done));
      go_on();
    });
}

// ---- training ------------------------------------------------------------------------------------------------------

/// Whether training can change anything: an update that is reported, or private values that are kept. Behind a
/// partition it may turn out, when it heals, that the client does not drop out.
bool node_process::needs_training(const simulated_task& what) const {
  const bool cut_off = !what.offline.empty() && what.offline.back().to >= never;
  return !what.dropped || cut_off || (what.trained_at < never && trains_if_discarded(in_.e.settings));
}

result<models::packed_private> node_process::values_of(std::uint32_t client) {
  if (!in_.e.settings.algorithm->traits.keeps_state) return models::packed_private();
  return in_.around.disk(index_).values().load(client, values_).map([this](bool found) {
    return found ? models::packed_private(values_) : models::packed_private();
  });
}

void node_process::fail_if_drawn(training_job& job) {
  if (in_.around.fails(job.id))
    job.failure = std::make_shared<const error>(error{error::kind::runtime, text_of(job.id), "fails", ""});
}

void node_process::begin(training_job&& job) {
  in_.around.on_begins(job.id, history_.life(), id_);
  const auto begin = now() + in_.around.clock_ahead();
  const auto drawn = in_.around.fate_of(index_, job.id, begin);
  if (role_.run()->work.workers == 0)
    begin_on_device(std::move(job), begin, drawn);
  else
    begin_at_worker(std::move(job), drawn.ends_at - begin);
}

// ---- at workers ----------------------------------------------------------------------------------------------------

/// They load the values when they begin and store them when they end: nothing else may change them in between.
void node_process::begin_at_worker(training_job&& job, virtual_time length) {
  auto before = values_of(job.id.client);
  if (!before) return in_.around.on_failure(before.error());
  // Shared by the copies of the event, so that none of them keeps the run.
  struct worker {
    processes::node_run_ptr run;
    training_job job;
    models::packed_private values;
  };
  const auto busy = std::make_shared<worker>(worker{role_.run(), std::move(job), std::move(*before)});
  after(length, [this, busy] {
    if (stopped()) return;
    const auto current = values_of(busy->job.id.client);
    if (!current) return in_.around.on_failure(current.error());
    if (!are_same(*current, busy->values))
      in_.around.wrong(text_of(busy->job.id) + ": the values of its client changed while a worker had them");
    end_at_worker(std::move(busy->run), {std::move(busy->job), {}, {}, now()});
  });
}

void node_process::end_at_worker(processes::node_run_ptr run, processes::trained_task&& done) {
  auto& job = done.job;
  fail_if_drawn(job);
  if (!job.failure) {
    job.stores = run->work.workers_store;
    federated::perform(in_.e, *run->store, job, in_.use);
    if (job.failure) return in_.around.on_failure(*job.failure);
    in_.around.on_work_done(job);
    if (job.stored) in_.around.on_kept(job.id, history_.life(), now());
    if (!in_.e.settings.privacy->secure_aggregation)
      done.update = std::make_shared<const simulated_update>(std::move(job.update));
  }
  run.reset();  // the node may open another one as soon as it is told
  role_.on_done(std::move(done));
  go_on();
}

// ---- on devices ----------------------------------------------------------------------------------------------------

/// The private values are those of now: what other tasks of the client may keep later is no part of it.
void node_process::begin_on_device(training_job&& job, virtual_time now_of_run, const fate& drawn) {
  const auto id = job.id;
  live_task task{{id, now_of_run, drawn.trained_at, drawn.ends_at, drawn.dropped, drawn.cause}, 0};
  in_.around.on_fate(task.what);
  if (needs_training(task.what)) {
    job.loaded = true;
    auto own = values_of(id.client);
    if (!own) return in_.around.on_failure(own.error());
    job.own = std::move(*own);
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
        if (is_current() && !stopped()) end_work(number);
      },
      task.job);
}

/// The client reports, or is known to have dropped out.
void node_process::end_work(std::uint64_t number) {
  const auto task = live_.extract(number).mapped();
  processes::trained_task done;
  done.job.id = task.what.id;
  done.dropped = task.what.dropped;
  done.trained_at = task.what.trained_at;
  if (task.job != 0) {
    done.job = in_.jobs.collect(task.job);
    if (done.job.failure) return in_.around.on_failure(*done.job.failure);
    in_.around.on_work_done(done.job);
    fail_if_drawn(done.job);
  }
  if (!done.job.failure) {
    if (done.dropped)
      in_.around.on_dropped(task.what.id, task.what.cause);
    else if (!in_.e.settings.privacy->secure_aggregation)
      done.update = std::make_shared<const simulated_update>(std::move(done.job.update));
  }
  role_.on_done(std::move(done));
  go_on();
}

void node_process::update_fates(const std::function<bool(simulated_task&)>& change) {
  for (auto& [number, task] : live_) {
    if (!change(task.what)) continue;
    if (!needs_training(task.what)) in_.jobs.cancel(std::exchange(task.job, 0));
    schedule(number);
  }
}

}  // namespace furlong::federated::network
