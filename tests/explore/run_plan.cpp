#include "tests/explore/run_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "base/digest.hpp"
#include "federated/engine/virtual_run.hpp"
#include "federated/experiment/quantized_traffic.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "models/digest.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/random_settings.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/run_text.hpp"

namespace furlong::tests {

using namespace federated;

namespace {

event_settings draw_event(random_stream& draw, const run_settings& of, bool of_aggregators) {
  using enum event_kind;
  event_settings event;
  event.target = of_aggregators ? event_target::aggregators : event_target::nodes;
  constexpr event_kind kinds[] = {kill, kill, restart, restart, partition, heal, leave, join};
  event.first = draw.below(of_aggregators ? of.topology->aggregators : of.topology->nodes);
  // Node 0 is there from the beginning: without anybody a run does not begin.
  event.what = kinds[draw.below(of_aggregators || event.first == 0 ? 6 : 8)];
  event.last = event.first;
  if (draw.below(3) == 0) {
    event.at_round = true;
    event.round = 1 + draw.below(static_cast<std::uint32_t>(of.rounds));
  } else {
    event.seconds = draw.below(80) * 0.1;
  }
  return event;
}

/// Clients that are cut off for a while: some of their devices become unavailable meanwhile.
void cut_clients_off(random_stream& draw, run_settings& of) {
  const auto first = draw.below(17);
  const auto last = first + draw.below(8);
  const double from = draw.below(40) * 0.1;
  of.events->push_back({.seconds = from, .what = event_kind::partition, .first = first, .last = last});
  const double to = from + 0.1 + draw.below(60) * 0.1;
  of.events->push_back({.seconds = to, .what = event_kind::heal, .first = first, .last = last});
}

/// Synchronous rounds that wait for every task, and aggregators that are lost.
void promise(run_plan& what) {
  what.promised = true;
  auto& s = what.settings;
  *s.participation = {};
  s.participation->per_round = 2 + static_cast<std::uint32_t>(what.seed % 11);
  s.participation->retry = 1;
  *s.dropout = {};
  s.devices->availability = {};
  s.network->start = 1.0;
  s.network->task_timeout = 600;
  std::erase_if(*s.events, [](const auto& one) { return one.target != event_target::aggregators; });
}

experiment experiment_of(const run_settings& settings) {
  const bool own = settings.algorithm->traits.private_tensors == private_use::required;
  auto made = make_experiment(settings, make_ratings(41), {},
                              own ? std::vector<std::string>{"user"} : std::vector<std::string>{});
  if (carries_errors(made.settings)) add_unsent(made.parts);
  return in_a_world(std::move(made));
}

/// One run, to its end or to a loss of power, and what was seen of it.
class watched_run {
 public:
  /// `ahead`: jobs that are done before their results are needed, the last of them first.
  watched_run(const experiment& e, std::uint32_t losses, std::size_t ahead)
      : e_(e), losses_(losses), ahead_(ahead), store_(e.parts.private_) {}

  run_findings play() {
    auto state = initial_state(e_);
    while (!ended_) {
      run(std::move(state));
      if (!found_.failures.empty()) return std::move(found_);
      if (ended_) break;
      state = *checkpoint_;
      state.ledger = std::make_shared<participation_ledger>(*state.ledger);
      state.history.resume(state.version, state.version + 1);
      store_.resume(state.history);
      found_.trace.emplace_back("resumed at " + std::to_string(state.version));
    }
    return std::move(found_);
  }

 private:
  void wrong(std::string what) { found_.failures.push_back(std::move(what)); }

  void check(const run_settings& settings, const server_state& state) {
    const auto& counts = state.counts;
    if (counts.selected != counts.settled() + counts.in_flight()) wrong("the accounting does not add up");
    if (state.version > settings.rounds) wrong("there are more versions than rounds");
  }

  run_observer observer(const virtual_run*& line) {
    return {[this, &line](const round_report& report) {
              found_.trace.push_back(text_of(report));
              check_availability(report);
              check(e_.settings, line->state());
              return result<void>{};
            },
            [this](const evaluation_report& figures) {
              found_.evaluations.push_back(text_of(figures));
              return result<void>{};
            },
            [this](server_state& state) {
              checkpoint_ = state;
              checkpoint_->ledger = std::make_shared<participation_ledger>(*state.ledger);
              return result<void>{};
            },
            [this](const run_event& event) {
              found_.trace.push_back(text_of(event));
              if (event.what == "erased") check_erased(event);
              return result<void>{};
            }};
  }

  /// A client that aborts interrupted tasks was available as long as each that it finished: under secure aggregation
  /// until its update was masked, for which it may wait for others.
  void check_availability(const round_report& report) {
    const auto& s = e_.settings;
    const bool changes = s.devices->availability.kind != "bernoulli";
    if (s.topology->nodes > 0 || s.dropout->policy != dropout_policy::abort || !changes) return;
    for (const auto& span : report.spans) {
      const bool ended = span.what != outcome::dropped && span.ended_at;
      if (ended && e_.around->presence->changes(span.client, span.started_at, 0) < *span.ended_at)
        wrong("client " + std::to_string(span.client) + " became unavailable, and its task ended after that");
    }
  }

  void check_erased(const run_event& event) {
    std::vector<std::uint32_t> gone = event.members;
    if (event.client) gone.push_back(*event.client);
    models::private_parameters value(e_.parts.private_);
    for (const auto client : gone)
      if (store_.load(client, value).value_or(true)) wrong("client " + std::to_string(client) + " is not erased");
  }

  void train(virtual_run& line) {
    line.take_jobs(ahead_, jobs_);
    std::ranges::reverse(jobs_);
    for (auto& job : jobs_) {
      ++found_.trainings;
      perform(e_, store_, job, use_);
      line.on_trained(std::move(job));
    }
    jobs_.clear();
  }

  /// Whether the power is lost now.
  bool save(virtual_run& line, const run_observer& observer) {
    auto state = line.snapshot();
    static_cast<void>(observer.on_checkpoint(state));
    store_.covered(state.version);
    if (losses_ > 0 && state.version < e_.settings.rounds) {
      --losses_;
      return true;
    }
    if (auto done = line.on_checkpointed(); !done) wrong(done.error().text());
    return false;
  }

  void run(server_state state) {
    const virtual_run* seen = nullptr;
    const auto observer = this->observer(seen);
    const auto line = make_virtual_run(e_, std::move(state), store_, observer);
    seen = line.get();
    while (found_.failures.empty()) {
      const auto needs = line->advance();
      if (!needs) return wrong(needs.error().text());
      switch (*needs) {
        case run_needs::training: train(*line); break;
        case run_needs::evaluation: line->on_evaluated({}); break;
        case run_needs::checkpoint:
          if (save(*line, observer)) return;
          break;
        case run_needs::sums: return wrong("a run that adds updates up itself asks for sums");
        case run_needs::nothing: return end(*line);
      }
    }
  }

  void end(const virtual_run& line) {
    ended_ = true;
    check(e_.settings, line.state());
    if (line.state().version != e_.settings.rounds) wrong("the run ends before its last round");
    found_.model = hex(models::model_sha256(line.state().chosen().model));
    found_.trace.push_back(found_.model);
    sha256_stream values;
    static_cast<void>(store_.visit([&](std::uint32_t client, std::uint64_t version, const auto& value) {
      if (version > line.state().version) wrong("client " + std::to_string(client) + " has values of the future");
      values.add(std::uint64_t{client}).add(value.values());
    }));
    found_.trace.push_back(hex(values.finish()));
    const bool erases = std::ranges::any_of(*e_.settings.events, [](const auto& one) { return one.erase; });
    if (e_.settings.algorithm->traits.exact_state && !erases) check_sums(line.state());
  }

  /// The server's values are the means of those that clients keep, or will when their nodes hear the verdict.
  void check_sums(const server_state& state) {
    const auto server = state.added.values();
    std::map<std::uint32_t, std::vector<float>> own;
    static_cast<void>(store_.visit([&](std::uint32_t client, std::uint64_t, const auto& value) {
      own[client].assign(value.values().begin(), value.values().end());
    }));
    static_cast<void>(store_.visit_pending([&](const task_id& task, const auto& value) {
      if ((*state.ledger)[task.client].folded_version == task.version + 1)
        own[task.client].assign(value.values().begin(), value.values().end());
    }));
    const auto clients = static_cast<double>(e_.participants->training().size());
    for (std::size_t i = 0; i < server.size(); ++i) {
      double sum = 0.0;
      for (const auto& [client, values] : own) sum += values[i];
      if (!(std::abs(server[i] - sum / clients) < 1e-4))
        return wrong("the server's values are not the mean of what clients keep");
    }
  }

  const experiment& e_;
  std::uint32_t losses_;
  std::size_t ahead_;
  storage::memory_store store_;
  run_findings found_;
  std::optional<server_state> checkpoint_;
  workspace use_;
  std::vector<training_job> jobs_;
  bool ended_ = false;
};

/// Model and private values.
std::vector<std::string> results(const run_findings& of) { return {of.trace.end() - 2, of.trace.end()}; }

}  // namespace

run_plan random_run(std::uint64_t seed) {
  run_plan made{seed, random_settings(seed), 0, false};
  random_stream draw(seed, purpose::test, 33);
  auto& s = made.settings;
  s.topology->nodes = draw.below(4) == 0 ? 0 : 1 + draw.below(6);
  s.topology->aggregators = 1 + draw.below(4);
  s.topology->fan_in = draw.below(3);
  s.checkpoint_every = 1 + draw.below(3);
  s.evaluation->every = draw.below(3);
  s.network->start = 0.1;
  s.network->task_timeout = 60;
  s.network->heartbeat = 0.5;
  s.network->timeout = 1.5;
  if (!s.algorithm->traits.keeps_state) s.own->commit = commit_kind::after_training;
  constexpr number_format formats[] = {number_format::float32, number_format::float32, number_format::float16,
                                       number_format::int8};
  s.network->compression.numbers = formats[draw.below(4)];
  if (draw.below(5) == 0) use_exact_state(s);
  if (draw.below(2) == 0) cut_clients_off(draw, s);
  for (auto count = s.topology->nodes > 0 ? draw.below(7) : 0; count > 0; --count)
    s.events->push_back(draw_event(draw, s, s.topology->aggregators > 1 && draw.below(2) == 0));
  if (draw.below(3) == 0) made.losses = 1 + draw.below(3);
  if (draw.below(3) == 0) promise(made);
  if (draw.below(3) == 0) use_secure_aggregation(s, draw);
  return made;
}

run_findings play(const run_plan& what) {
  const auto e = experiment_of(what.settings);
  auto found = watched_run(e, what.losses, 1).play();
  if (!found.failures.empty()) return found;
  if (auto again = watched_run(e, what.losses, 5).play(); again.trace != found.trace)
    found.failures.emplace_back("training further ahead of time changes the run");
  if (!what.promised) return found;
  auto alone = what.settings;
  alone.topology->nodes = 0;
  alone.topology->aggregators = 1;
  alone.events->clear();
  // Of a masked round with a refused update less is left: it may be abandoned.
  if (alone.privacy->noise == 0.0 && alone.aggregation->max_norm == 0.0) alone.privacy->secure_aggregation = false;
  if (const auto plain = watched_run(experiment_of(alone), 0, 1).play(); results(plain) != results(found))
    found.failures.emplace_back("differs from the run without nodes");
  return found;
}

std::string text_of(const event_settings& what) {
  constexpr std::array<const char*, 6> words = {"join", "leave", "kill", "restart", "partition", "heal"};
  constexpr std::array<const char*, 3> targets = {"clients", "nodes", "aggregators"};
  const auto when = what.at_round ? "round " + std::to_string(what.round) : std::to_string(what.seconds) + " s";
  const auto whom = what.share > 0 ? "share " + std::to_string(what.share)
                                   : std::to_string(what.first) + "-" + std::to_string(what.last);
  return std::string(words[static_cast<std::size_t>(what.what)]) + " " +
         targets[static_cast<std::size_t>(what.target)] + " " + whom + " at " + when +
         (what.erase ? ", and erase them" : "");
}

std::string text_of(const run_plan& what) {
  const auto& s = what.settings;
  std::string text = "seed " + std::to_string(what.seed) + ": a run of " + s.algorithm->kind + ", " +
                     (s.participation->mode == participation_mode::async ? "asynchronous" : "synchronous") + ", " +
                     std::to_string(s.rounds) + " rounds, " + std::to_string(s.topology->aggregators) +
                     " aggregators (fan_in " + std::to_string(s.topology->fan_in) + "), " +
                     std::to_string(s.topology->nodes) + " nodes, " + std::to_string(what.losses) + " losses of power" +
                     (s.privacy->secure_aggregation ? ", secure aggregation" : "") +
                     (s.privacy->noise > 0.0 ? ", noise of clients" : "") +
                     (what.promised ? ", promised to end as if undisturbed" : "");
  for (const auto& one : *s.events) text += "\n  " + text_of(one);
  return text;
}

}  // namespace furlong::tests
