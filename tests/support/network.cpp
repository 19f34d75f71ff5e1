#include "tests/support/network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/digest.hpp"
#include "federated/client/client_work.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/simulation/network/federation.hpp"
#include "models/digest.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/network_books.hpp"
#include "tests/support/run_text.hpp"

namespace furlong::tests::net {

namespace {

using namespace federated::network;
namespace protocol = federated::protocol;

/// A copy that shares nothing with the original.
federated::server_state deep_copy(federated::server_state state) {
  state.ledger = std::make_shared<federated::participation_ledger>(*state.ledger);
  return state;
}

federation_shape shape_of(const plan& what) {
  return {what.aggregators, what.nodes, what.without_port == ~0U ? 0 : what.without_port, millisecond,
          40 * millisecond};
}

/// What a world draws beside its plan. Parts of streams, to which those of tasks add the attempt.
enum class world_draw : std::uint32_t {
  repeated = 1U << 20U,
  length = 2U << 20U,
  checkpoint = 3U << 20U,
  start,
  scoring,
  opening
};

/// The world around a federation: disks, made-up fates and scores, and the books.
class world_under_fire final : private environment {
 public:
  world_under_fire(const federated::experiment& e, const plan& what)
      : environment(e), plan_(what), checks_(e), federation_(e, *this, shape_of(what)), net_(federation_.world().net) {
    saved_.state = federated::initial_state(e);
    for (std::uint32_t n = 0; n < what.nodes; ++n) {
      disks_.push_back(std::make_unique<history_store>(e.parts.private_, checks_, n + 1));
      scoring_.push_back(draws(world_draw::scoring, n));
      opening_.push_back(draws(world_draw::opening, n));
    }
  }

  ending run(virtual_time patience) {
    for (host at = 0; at < federation_.hosts(); ++at) {
      auto draw = draws(world_draw::start, at);
      net_.clock.after(draw_time(draw, 0, second), [this, at] { raise(at); });
    }
    virtual_time last = 0;
    auto by_step = plan_.faults;
    std::erase_if(by_step, [](const fault& one) { return one.at_step == 0; });
    std::ranges::stable_sort(by_step, {}, &fault::at_step);
    auto next = by_step.begin();
    for (const auto& one : plan_.faults) {
      if (one.at_step != 0) continue;
      net_.clock.at(one.at, [this, one] { strike(one); });
      last = std::max(last, one.at + one.length);
    }
    virtual_time ended = 0;
    while (net_.clock.now() < last + patience && step()) {
      for (; next != by_step.end() && next->at_step <= net_.clock.steps(); ++next) {
        strike(*next);
        last = std::max(last, net_.clock.now() + next->length);
      }
      checks_.now = net_.clock.now();
      if (federation_.world().over && ended == 0) ended = net_.clock.now();
      if (ended != 0 && net_.clock.now() > ended + 60 * second) break;
      if (checks_.failures.size() > 5) break;
    }
    return look_back(ended);
  }

 private:
  /// Keyed, so that one event more leaves the others as they are.
  [[nodiscard]] random_stream draws(world_draw kind, std::uint32_t number, std::uint32_t client = 0,
                                    std::uint32_t attempt = 0) const {
    return {plan_.seed, purpose::test, number, client, static_cast<std::uint32_t>(kind) + attempt};
  }
  [[nodiscard]] random_stream draws(world_draw kind, const federated::task_id& task) const {
    return draws(kind, static_cast<std::uint32_t>(task.version), task.client, task.attempt);
  }

  bool step() {
    if (net_.clock.empty()) return false;
    auto& jobs = federation_.world().jobs;
    while (jobs.waits_for(net_.clock.next_job())) {
      jobs.take(1, jobs_);
      perform(e_, *disks_.front(), jobs_.back(), use_);  // what the client had comes with the job
      jobs.on_trained(std::move(jobs_.back()));
      jobs_.clear();
    }
    return net_.clock.step();
  }

  void raise(host at) {
    if (federation_.world().over) return;
    if (at != server_host) return federation_.start(at);
    if (federation_.server() != nullptr) return;
    checks_.begin_life(saved_);
    federation_.start_server(deep_copy(saved_.state));
  }

  void strike_down(host at) {
    federation_.kill(at);
    if (at == server_host)
      saved_.state.history.resume(saved_.state.version, 1);
    else if (federation_.is_node(at))
      nodes_were_killed_ = true;
  }

  void strike(const fault& one) {
    const auto* server = federation_.server();
    if (federation_.world().over || (server != nullptr && server->finished())) return;
    checks_.note("fault " + std::string(to_string(one.what)) + " of host " + std::to_string(one.who));
    switch (one.what) {
      case mishap::kill_server:
        if (server == nullptr) return;
        [[fallthrough]];
      case mishap::kill_node:
      case mishap::kill_aggregator:
        strike_down(one.who);
        return net_.clock.after(one.length, [this, at = one.who] { raise(at); });
      case mishap::power_loss:
        strike_down(one.who);
        disks_[one.who - federation_.node_host(0)]->lose_power();
        return net_.clock.after(one.length, [this, at = one.who] { raise(at); });
      case mishap::stop_host: return net_.stop(one.who, one.length);
      case mishap::drain_node:
        nodes_were_killed_ = true;
        federation_.drain(one.who - federation_.node_host(0));
        net_.clock.after(one.length, [this, at = one.who] { raise(at); });
        return net_.clock.after(one.length + 300 * second, [this, at = one.who] { raise(at); });
      case mishap::cut:
        for (const auto& each : net_.links_of(one.who)) each->cut();
        return;
      case mishap::silence:
        for (const auto& each : net_.links_of(one.who)) each->silence(net_.patience());
        return;
      case mishap::part_hosts: return net_.part(one.who, server_host, one.length);
      case mishap::isolate:
        for (host other = 0; other < federation_.hosts(); ++other)
          if (other != one.who) net_.part(one.who, other, one.length);
    }
  }

  // ---- the server --------------------------------------------------------------------------------------------------

  void on_event(const federated::run_event& what) override { checks_.note(tests::text_of(what)); }
  void on_round(const federated::round_report& report, const protocol::server_machine& server) override {
    checks_.note(tests::text_of(report));
    checks_.closed(report, server);
  }
  void on_evaluation(const federated::evaluation_report& figures, std::size_t missing) override {
    auto line = tests::text_of(figures) + " without " + std::to_string(missing);
    checks_.note(line);
    checks_.evaluations.push_back(std::move(line));
  }
  /// Durable after a while; a crash before that leaves the one before.
  void on_checkpoint(server_process& server) override {
    auto made = std::make_shared<saved_life>(checks_.life(deep_copy(server.machine().snapshot())));
    auto draw =
        draws(world_draw::checkpoint, static_cast<std::uint32_t>(made->state.version), made->state.history.life());
    server.after(draw_time(draw, 0, 300 * millisecond), [this, made, &server] {
      saved_ = *made;
      checks_.durable(saved_);
      checks_.note("checkpoint " + std::to_string(saved_.state.version));
      server.on_checkpointed(saved_.state.version);
    });
  }
  void on_finish(bool) override {}
  void on_failure(error what) override { checks_.wrong(what.text()); }

  // ---- clients -----------------------------------------------------------------------------------------------------

  node_disk& disk(std::uint32_t node) override { return *disks_[node]; }
  federated::fate fate_of(std::uint32_t node, const federated::task_id& task, virtual_time now) override {
    if (e_.around) return draw_fate(e_, task, now);
    const auto slowness = node < plan_.slowness.size() ? plan_.slowness[node] : 1.0;
    auto draw = draws(world_draw::length, task);
    const auto length = static_cast<double>(draw_time(draw, 20 * millisecond, 2 * second)) * slowness;
    const auto end = now + static_cast<virtual_time>(length);
    return {end, end, std::nullopt};
  }
  bool available(std::uint32_t client, virtual_time now, std::uint64_t version) override {
    return !e_.around || e_.around->presence->available(client, now, version);
  }
  virtual_time scoring_time(std::uint32_t node) override {
    return draw_time(scoring_[node], 5 * millisecond, 600 * millisecond);
  }
  virtual_time opening_time(std::uint32_t node) override { return draw_time(opening_[node], 0, 400 * millisecond); }
  /// Made-up scores, the same whoever is asked for them and when; of some clients none.
  federated::scored_client score(std::uint32_t, const federated::broadcast& model, federated::group in,
                                 std::uint32_t client) override {
    random_stream draw(plan_.seed, purpose::test, static_cast<std::uint32_t>(model.version), client, 50);
    federated::client_score made;
    made.examples = draw.below(3);
    made.loss = made.squared_error = static_cast<double>(made.examples) * static_cast<double>(draw.uniform());
    return {in, client, std::move(made)};
  }
  federated::processes::work_policy work_of(std::uint32_t) override { return plan_.work; }
  /// The same whenever and wherever the work is done: first whether it fails, then whether its update is spoiled.
  [[nodiscard]] random_stream mishaps_of(const federated::task_id& task) const {
    return {plan_.seed, purpose::test, static_cast<std::uint32_t>(task.version), task.client, task.attempt};
  }
  bool fails(const federated::task_id& task) override {
    return mishaps_of(task).uniform() < static_cast<float>(plan_.failing);
  }
  void on_work_done(federated::training_job& job) override {
    ++trainings_;
    if (job.keeps) checks_.to_be_kept(job.id);
    auto draw = mishaps_of(job.id);
    static_cast<void>(draw.uniform());
    if (draw.uniform() < static_cast<float>(plan_.spoiled) && !job.update.change.values.empty())
      job.update.change.values[0] = std::numeric_limits<float>::quiet_NaN();
  }

  bool sends_twice(const federated::task_id& task) override {
    auto draw = draws(world_draw::repeated, task);
    return plan_.repeated > 0.0 && draw.uniform() < static_cast<float>(plan_.repeated);
  }

  // ---- the books ---------------------------------------------------------------------------------------------------

  void on_server_step(const protocol::server_machine& server) override {
    checks_.check_counts(server);
    check_memory(server);
  }
  void on_update(std::uint64_t gateway, const update_ptr& update) override { checks_.arrived(gateway, update); }
  void on_settled(std::uint64_t gateway, const federated::settlement& one) override { checks_.settled(gateway, one); }
  void on_share(std::uint64_t by) override { checks_.share_begins(by); }
  void on_merged(std::uint64_t by, const partial_ptr& partial) override { checks_.merged_below(by, partial); }
  void on_sent(std::uint64_t by, const partial_ptr& partial) override { checks_.sent(by, partial); }
  void on_arrived(const partial_ptr& partial) override { checks_.merged(partial); }
  void on_verdict(const protocol::verdict& what, const federated::run_history& history) override {
    checks_.told(what, history);
  }
  void on_begins(const federated::task_id& task, std::uint32_t life, std::uint64_t process) override {
    checks_.begins_on(task, life, process);
    if (keeps_all_values()) checks_.begins(task);
  }
  void on_kept(const federated::task_id& task, std::uint32_t life, virtual_time) override { checks_.kept(task, life); }
  void on_redirected() override { ++sent_on_; }
  void on_tasks_lost(std::size_t count) override { tasks_lost_ += count; }

  /// What is held grows with clients and with versions that no checkpoint holds, and with nothing else.
  void check_memory(const protocol::server_machine& server) {
    if (server.in_flight() > clients()) checks_.wrong(std::to_string(server.in_flight()) + " tasks are in flight");
    if (federation_.world().jobs.size() > clients())
      checks_.wrong(std::to_string(federation_.world().jobs.size()) + " jobs for " + std::to_string(clients()) +
                    " clients");
    const auto versions = server.state().version - std::min(server.state().version, saved_.state.version);
    for (std::uint32_t n = 0; n < plan_.nodes; ++n) {
      const auto range = federation_.clients_of(n);
      const auto bound = (range.last - range.first + 1) * (versions + e_.settings.checkpoint_every + 8);
      if (const auto* node = federation_.node(n); node != nullptr && node->machine().holding() > bound)
        checks_.wrong("a node holds " + std::to_string(node->machine().holding()) + " tasks");
    }
  }
  [[nodiscard]] std::size_t clients() const { return e_.clients->facts().clients; }

  // ---- the end -----------------------------------------------------------------------------------------------------

  void explain_no_end() {
    checks_.wrong("the run does not end");
    if (const auto* server = federation_.server())
      for (const auto& task : server->machine().open_tasks())
        checks_.note("open: " + text_of(task.id) + " at " + std::to_string(task.aggregator) +
                     (task.closed ? " closed" : ""));
    for (std::uint32_t n = 0; n < plan_.nodes; ++n)
      if (auto* node = federation_.node(n))
        checks_.note("a node has " + std::to_string(node->machine().holding()) + " tasks");
  }

  ending look_back(virtual_time ended) {
    ending seen;
    seen.ended = ended;
    seen.steps = net_.clock.steps();
    seen.trainings = trainings_;
    if (ended == 0)
      explain_no_end();
    else
      check_nodes();
    const auto& state = saved_.state;
    seen.model = hex(models::model_sha256(state.chosen().model));
    seen.version = state.version;
    seen.counts = state.counts;
    seen.history = state.history;
    seen.sent_on = sent_on_;
    seen.tasks_lost = tasks_lost_;
    seen.mixed_many = checks_.async_model_mixes_many;
    seen.failures = checks_.failures;
    seen.evaluations = checks_.evaluations;
    seen.trace = std::move(checks_.trace);
    seen.trace.push_back(seen.model);
    return seen;
  }

  /// The run is over: what is left with the nodes that know it?
  void check_nodes() {
    std::set<federated::task_id> open;
    for (const auto& task : federation_.server()->machine().open_tasks()) open.insert(task.id);
    bool all_stopped = true;
    for (std::uint32_t n = 0; n < plan_.nodes; ++n) {
      const auto* node = federation_.node(n);
      if (node == nullptr || !node->stopped()) {
        all_stopped = false;
        continue;
      }
      for (const auto& id : node->holding())
        if (!open.contains(id) && !nodes_were_killed_)
          checks_.wrong(text_of(id) + " was decided, and its node holds it still");
    }
    if (!all_stopped || !keeps_all_values() || !e_.settings.algorithm->traits.keeps_state) return;
    const auto waiting = pending_values();
    std::map<std::uint32_t, federated::task_id> last;  // by client
    for (const auto& id : checks_.folded()) last[id.client] = id;
    for (const auto& [client, id] : last)
      if (!checks_.was_kept(id) && !waiting.contains(id))
        checks_.wrong(text_of(id) + " is in the model, and its private values are not kept");
    if (e_.settings.algorithm->traits.exact_state) check_sums(waiting);
  }

  /// Private values are lost with a node's process, unless they are stored as pending.
  [[nodiscard]] bool keeps_all_values() const { return !nodes_were_killed_ || federated::stages_values(e_.settings); }

  /// The pending values of aggregated updates: a node was drained before it heard the verdict.
  [[nodiscard]] std::map<federated::task_id, models::private_parameters> pending_values() const {
    std::map<federated::task_id, models::private_parameters> found;
    for (const auto& disk : disks_)
      static_cast<void>(disk->visit_pending([&](const federated::task_id& task, const auto& value) {
        if (checks_.folded().contains(task)) found.emplace(task, value);
      }));
    return found;
  }

  /// The server's values are the means of those that clients keep, once all nodes know the server's last life: one that
  /// was drained before it began keeps values of an earlier one until it comes back.
  void check_sums(const std::map<federated::task_id, models::private_parameters>& waiting) {
    const auto server = saved_.state.added.values();
    std::vector<double> sum(server.size(), 0.0);
    models::private_parameters own(e_.parts.private_);
    for (std::uint32_t n = 0; n < plan_.nodes; ++n) {
      static_cast<void>(disks_[n]->open(saved_.state.history, saved_.state.version));
      for (auto client = federation_.clients_of(n).first; client <= federation_.clients_of(n).last; ++client) {
        auto found = disks_[n]->load(client, own);
        for (const auto& [task, value] : waiting)
          if (task.client == client) own = value, found = true;
        for (std::size_t i = 0; found && *found && i < sum.size(); ++i) sum[i] += own.values()[i];
      }
    }
    const auto clients = static_cast<double>(e_.participants->training().size());
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (!(std::abs(server[i] - sum[i] / clients) < 1e-4))
        return checks_.wrong("the server's values are not the mean of what clients keep: " + std::to_string(server[i]) +
                             ", expected " + std::to_string(sum[i] / clients));
  }

  const plan& plan_;
  books checks_;
  saved_life saved_;
  std::vector<std::unique_ptr<history_store>> disks_;
  std::vector<random_stream> scoring_;  ///< by node, as the next
  std::vector<random_stream> opening_;
  federation federation_;
  fabric& net_;
  federated::workspace use_;
  std::vector<federated::training_job> jobs_;
  std::size_t sent_on_ = 0;
  std::size_t tasks_lost_ = 0;
  std::uint64_t trainings_ = 0;
  bool nodes_were_killed_ = false;
};

}  // namespace

ending run_world(const plan& what, federated::virtual_time patience) {
  const auto e = experiment_of(what);
  return world_under_fire(e, what).run(patience);
}

}  // namespace furlong::tests::net
