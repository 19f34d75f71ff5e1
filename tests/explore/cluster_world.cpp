#include "tests/explore/cluster_world.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/digest.hpp"
#include "federated/engine/simulate.hpp"
#include "federated/rounds/round.hpp"
#include "federated/simulation/cluster/remote_pool.hpp"
#include "federated/simulation/cluster/worker_engine.hpp"
#include "models/digest.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/random_settings.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/run_text.hpp"

namespace furlong::tests {

using namespace federated;
using namespace federated::cluster;

namespace {

/// Refuses some values, always the same: their clients failed after they had trained.
class choosy_store final : public storage::memory_store {
 public:
  choosy_store(models::layout_ptr shape, std::uint32_t odds) : memory_store(std::move(shape)), odds_(odds) {}

  result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override {
    random_stream draw(1, purpose::test, 71, client, static_cast<std::uint32_t>(version));
    if (odds_ == 0 || draw.below(odds_) > 0) return memory_store::commit(client, version, value);
    ++refused;
    return fail(error::kind::data, "client " + std::to_string(client), "has no room");
  }
  std::uint64_t refused = 0;

 private:
  std::uint32_t odds_;
};

/// What a run leaves behind, line by line: whatever differs shows.
class run_lines {
 public:
  [[nodiscard]] run_observer observer() {
    return {[this](const round_report& report) {
              lines.push_back("round " + text_of(report));
              return result<void>{};
            },
            [this](const evaluation_report& figures) {
              lines.push_back(text_of(figures));
              return result<void>{};
            },
            [this](server_state& state) {
              checkpoint = state;
              checkpoint->ledger = std::make_shared<participation_ledger>(*state.ledger);
              kept_ = lines.size();
              return result<void>{};
            },
            [this](const run_event& event) {
              lines.push_back("event " + text_of(event));
              return result<void>{};
            }};
  }
  /// Forgets what happened after the last checkpoint.
  void cut_back() { lines.resize(kept_); }
  void finish(const run_outcome& outcome, private_store& store) {
    const auto& state = outcome.state;
    lines.push_back("model " + hex(models::model_sha256(state.chosen().model)));
    sha256_stream digest;
    static_cast<void>(store.visit([&](std::uint32_t client, std::uint64_t, const models::private_parameters& value) {
      digest.add(std::uint64_t{client}).add(value.values());
    }));
    lines.push_back("private values " + hex(digest.finish()));
    lines.push_back("counts " + hex(sha256(std::as_bytes(std::span(&state.counts, 1)))));
    for (const auto& one : state.ledger->records())
      digest.add(std::uint64_t{one.selected}).add(std::uint64_t{one.folded}).add(std::uint64_t{one.trained_version});
    lines.push_back("ledger " + hex(digest.finish()) + " at " + std::to_string(state.now));
  }

  std::vector<std::string> lines;
  std::optional<server_state> checkpoint;

 private:
  std::size_t kept_ = 0;
};

/// A simulated worker with its links.
struct simulated_worker {
  simulated_worker(const experiment& e, std::size_t slots) : engine(e, slots) {}

  member_number member = 0;
  worker_engine engine;
  std::deque<to_worker> inbox;
  std::deque<from_worker> outbox;
  std::uint32_t pace = 1;     ///< actions of this worker among those of all
  std::uint32_t stalled = 0;  ///< steps that it does nothing for
  bool dead = false;          ///< its process is gone, and the head does not know
  bool forgotten = false;     ///< by the head
};

class cluster_run {
 public:
  cluster_run(const experiment& e, choosy_store& store, std::uint64_t seed, cluster_findings& found)
      : e_(e), store_(store), draw_(seed, purpose::test, 72), found_(found) {
    disturbed_ = draw_.below(6) > 0;
    jobs_alike_ = draw_.below(2) == 0;
  }

  std::vector<std::string> play(add_mode mode) {
    run_lines seen;
    const auto observer = seen.observer();
    auto state = initial_state(e_);
    for (auto losses = draw_.below(3);; --losses) {
      ++found_.lives;
      const auto outcome = live(std::move(state), observer, mode, losses > 0 && disturbed_);
      if (!found_.failures.empty()) return {};
      if (!failure_.empty()) return {failure_};
      if (outcome) {
        seen.finish(*outcome, store_);
        return std::move(seen.lines);
      }
      seen.cut_back();
      state = seen.checkpoint ? *seen.checkpoint : initial_state(e_);
      if (seen.checkpoint) state.ledger = std::make_shared<participation_ledger>(*state.ledger);
      state.history.resume(state.version, state.version + 1);
      store_.resume(state.history);
    }
  }

 private:
  void wrong(std::string what) { found_.failures.push_back(std::move(what)); }

  /// One life of the head. Nothing: it was killed.
  std::optional<run_outcome> live(server_state state, const run_observer& observer, add_mode mode, bool dies) {
    const std::atomic<bool> stop = false;
    workers_.clear();
    run_driver driver(e_, std::move(state), store_, observer, stop, mode);
    remote_pool pool(e_, store_);
    const auto first = 1 + draw_.below(5);
    for (std::uint32_t i = 0; i < first; ++i) join(pool);
    auto left = dies ? 20 + draw_.below(400) : 0;
    for (std::uint64_t step = 0;; ++step) {
      const auto over = driver.go_on(pool);
      if (!over) {
        failure_ = over.error().text();
        return std::nullopt;
      }
      if (*over) {
        found_.repeated += pool.repeated();
        return driver.outcome();
      }
      if (dies && --left == 0) return std::nullopt;
      if (step > 1'000'000) return wrong("the run does not end"), std::nullopt;
      act(pool, driver);
      if (!found_.failures.empty()) return std::nullopt;
    }
  }

  void join(remote_pool& pool) {
    const auto threads = 1 + draw_.below(3);
    auto& worker = *workers_.emplace_back(std::make_unique<simulated_worker>(e_, threads));
    worker.pace = 1 + draw_.below(8);
    worker.member = pool.on_joined("w" + std::to_string(++found_.joined), threads);
  }

  /// One thing happens.
  void act(remote_pool& pool, run_driver& driver) {
    for (auto& message : pool.take_outgoing()) {
      const auto known = std::ranges::find_if(
          workers_, [&](const auto& worker) { return worker->member == message.receiver && !worker->forgotten; });
      if (known == workers_.end()) return wrong("a message to a worker that is lost");
      (*known)->inbox.push_back(std::move(message.content));
    }
    if (disturbed_ && draw_.below(60) == 0) disturb(pool);
    const auto works = [](const auto& worker) { return !worker->dead && worker->stalled == 0; };
    if (std::ranges::none_of(workers_, [](const auto& worker) { return !worker->dead && !worker->forgotten; }))
      join(pool);
    std::uint32_t all = 0;
    for (const auto& worker : workers_) {
      worker->stalled -= worker->stalled > 0 ? 1 : 0;
      all += works(worker) ? worker->pace : 0;
    }
    if (all == 0) return notice(pool);
    auto chosen = draw_.below(all);
    for (const auto& worker : workers_) {
      if (!works(worker)) continue;
      if (chosen < worker->pace) {
        act(*worker, pool, driver);
        break;
      }
      chosen -= worker->pace;
    }
    if (draw_.below(40) == 0) notice(pool);
    const auto told = pool.report(driver);
    if (!told) wrong(told.error().text());
  }

  void act(simulated_worker& worker, remote_pool& pool, run_driver& /*driver*/) {
    switch (draw_.below(3)) {
      case 0:
        if (worker.inbox.empty()) return;
        if (auto taken = worker.engine.on_message(std::move(worker.inbox.front())); !taken)
          wrong("worker: " + taken.error().text());
        worker.inbox.pop_front();
        return;
      case 1: {
        const auto slot = draw_.below(static_cast<std::uint32_t>(worker.engine.slots()));
        auto item = worker.engine.next(slot);
        if (!item) return;
        worker.engine.run(slot, *item, use_);
        if (auto* work = std::get_if<worker_engine::training_work>(&*item))
          work->seconds = jobs_alike_ ? 0.001 : 1e-5 * (1 + draw_.below(1000));
        worker.engine.done(slot, std::move(*item));
        for (auto& sent : worker.engine.take_outgoing()) worker.outbox.push_back(std::move(sent));
        return;
      }
      default:
        if (worker.outbox.empty()) return;
        auto sent = std::move(worker.outbox.front());
        worker.outbox.pop_front();
        if (worker.forgotten) return;
        if (const auto* reports = std::get_if<reports_up>(&sent)) found_.tasks += reports->reports.size();
        if (auto taken = pool.on_message(worker.member, std::move(sent)); !taken) wrong(taken.error().text());
    }
  }

  /// Something goes wrong, or somebody comes.
  void disturb(remote_pool& pool) {
    auto& worker = *workers_[draw_.below(static_cast<std::uint32_t>(workers_.size()))];
    switch (draw_.below(4)) {
      case 0:
        found_.killed += worker.dead ? 0 : 1;
        worker.dead = true;
        break;
      case 1:
        ++found_.frozen;
        worker.stalled = 1 + draw_.below(300);
        break;
      case 2:
        if (worker.stalled > 0) forget(worker, pool);  // it will wake up, and nobody listens
        break;
      default:
        if (workers_.size() < 12) join(pool);
    }
  }

  /// The head hears no more of workers that are dead, or takes one for dead that is frozen.
  void notice(remote_pool& pool) {
    for (const auto& worker : workers_)
      if (worker->dead || (worker->stalled > 100 && draw_.below(4) == 0)) forget(*worker, pool);
    std::erase_if(workers_, [](const auto& worker) { return worker->dead && worker->forgotten; });
  }

  static void forget(simulated_worker& worker, remote_pool& pool) {
    if (!std::exchange(worker.forgotten, true)) pool.on_lost(worker.member);
  }

  const experiment& e_;
  choosy_store& store_;
  random_stream draw_;
  cluster_findings& found_;
  bool disturbed_ = true;
  bool jobs_alike_ = true;
  std::string failure_;  ///< of the run
  workspace use_;
  std::vector<std::unique_ptr<simulated_worker>> workers_;
};

run_settings settings_of(std::uint64_t seed) {
  auto settings = random_settings(seed);
  random_stream draw(seed, purpose::test, 73);
  if (draw.below(7) == 0) use_exact_state(settings);
  settings.evaluation->every = 1 + draw.below(2);
  settings.checkpoint_every = 1 + draw.below(3);
  auto& how = *settings.participation;
  if (how.mode == participation_mode::sync && draw.below(2) == 0) {  // many of add_mode::at_once
    how.deadline = 0;
    how.over_selection = 1;
    settings.events->clear();
  }
  if (how.mode == participation_mode::sync && !settings.algorithm->traits.exact_state && draw.below(8) == 0)
    settings.aggregation->rule = chosen_rule("median");
  return settings;
}

experiment experiment_of(const run_settings& settings) {
  const bool own = settings.algorithm->traits.private_tensors == private_use::required;
  return in_a_world(make_experiment(settings, make_ratings(41), {},
                                    own ? std::vector<std::string>{"user"} : std::vector<std::string>{}));
}

std::vector<std::string> play_alone(const experiment& e, choosy_store& store) {
  run_lines seen;
  const auto observer = seen.observer();
  const std::atomic<bool> stop = false;
  const auto outcome = simulate(e, initial_state(e), store, observer, stop);
  if (!outcome) return {outcome.error().text()};
  seen.finish(*outcome, store);
  return std::move(seen.lines);
}

}  // namespace

cluster_findings play_cluster_world(std::uint64_t seed) {
  cluster_findings found;
  const auto settings = settings_of(seed);
  const auto e = experiment_of(settings);
  auto how = add_mode_of(e);
  random_stream draw(seed, purpose::test, 74);
  if (how == add_mode::at_once && draw.below(3) == 0) how = add_mode::when_told;
  if (draw.below(8) == 0) how = add_mode::by_run;
  found.mode = static_cast<int>(how);
  constexpr std::array<const char*, 3> modes = {"at once", "when told", "by the run"};
  found.text = "seed " + std::to_string(seed) + ": " + settings.algorithm->kind + ", " +
               settings.aggregation->rule.kind + ", updates added " + modes[static_cast<std::size_t>(how)];
  const std::uint32_t odds = settings.own->commit == commit_kind::after_training && draw.below(2) == 0 ? 3 : 0;
  choosy_store plain(e.parts.private_, odds);
  const auto expected = play_alone(e, plain);
  choosy_store store(e.parts.private_, odds);
  const auto seen = cluster_run(e, store, seed, found).play(how);
  found.refused = store.refused;
  if (!found.failures.empty()) return found;
  for (std::size_t i = 0; i < std::max(seen.size(), expected.size()); ++i) {
    const auto line = [i](const auto& lines) { return i < lines.size() ? lines[i] : std::string("nothing"); };
    if (line(seen) == line(expected)) continue;
    found.failures.push_back("has the line\n    " + line(seen) + "\n  where the run alone has\n    " + line(expected));
    break;
  }
  return found;
}

}  // namespace furlong::tests
