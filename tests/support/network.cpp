#include "tests/support/network.hpp"

#include "base/digest.hpp"
#include "federated/round.hpp"
#include "models/digest.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/network_processes.hpp"
#include "tests/support/ratings_population.hpp"

namespace furlong::tests::net {

namespace {

/// All processes of a world, and what happens to them.
class world_under_fire {
 public:
  world_under_fire(const federated::experiment& e, const plan& what) : in_(e, what.seed), plan_(what) {
    in_.failing = what.failing;
    in_.spoiled = what.spoiled;
    saved_.state = federated::initial_state(e);
    const auto clients = e.clients->facts().clients;
    for (std::uint32_t n = 0; n < what.nodes; ++n)
      disks_.push_back(
          {{clients * n / what.nodes, clients * (n + 1) / what.nodes - 1}, history_store(e.parts.private_)});
    nodes_.resize(what.nodes);
    aggregators_.resize(what.aggregators);
  }

  ending run(virtual_time patience) {
    for (host at = 0; at < hosts(); ++at) in_.net.clock.after(in_.net.between(0, second), [this, at] { raise(at); });
    virtual_time last = 0;
    auto by_step = plan_.faults;
    std::erase_if(by_step, [](const fault& one) { return one.at_step == 0; });
    std::ranges::stable_sort(by_step, {}, &fault::at_step);
    auto next = by_step.begin();
    for (const auto& one : plan_.faults) {
      if (one.at_step != 0) continue;
      in_.net.clock.at(one.at, [this, one] { strike(one); });
      last = std::max(last, one.at + one.length);
    }
    virtual_time ended = 0;
    while (in_.net.clock.now() < last + patience && in_.net.clock.step()) {
      for (; next != by_step.end() && next->at_step <= in_.net.clock.steps(); ++next) {
        strike(*next);
        last = std::max(last, in_.net.clock.now() + next->length);
      }
      in_.checks.now = in_.net.clock.now();
      if (in_.over && ended == 0) ended = in_.net.clock.now();
      if (ended != 0 && in_.net.clock.now() > ended + 60 * second) break;
      if (in_.checks.failures.size() > 5) break;
    }
    return look_back(ended);
  }

 private:
  [[nodiscard]] host hosts() const { return 1 + plan_.aggregators + plan_.nodes; }
  [[nodiscard]] bool is_aggregator(host at) const { return at >= 1 && at <= plan_.aggregators; }

  void raise(host at) {
    if (in_.over) return;
    if (at == server_host) {
      if (server_) return;
      server_ = std::make_unique<server_process>(in_, saved_);
      server_->start();
    } else if (is_aggregator(at)) {
      auto& one = aggregators_[at - 1];
      if (one) return;
      one = std::make_unique<aggregator_process>(in_, at, at % plan_.without_port != 0);
      one->start();
    } else {
      const auto n = at - 1 - plan_.aggregators;
      if (nodes_[n] && !nodes_[n]->stopped()) return;
      nodes_[n].reset();
      nodes_[n] =
          std::make_unique<node_process>(in_, at, disks_[n], n < plan_.slowness.size() ? plan_.slowness[n] : 1.0);
      nodes_[n]->start();
    }
  }

  void strike_down(host at) {
    if (at == server_host) {
      server_.reset();
      saved_.state.history.resume(saved_.state.version, 1);
    } else if (is_aggregator(at)) {
      aggregators_[at - 1].reset();
    } else {
      nodes_[at - 1 - plan_.aggregators].reset();
      nodes_were_killed_ = true;
    }
  }

  void strike(const fault& one) {
    if (in_.over || (server_ && server_->finished())) return;
    in_.checks.note("fault " + std::to_string(static_cast<int>(one.what)) + " of host " + std::to_string(one.who));
    switch (one.what) {
      case mishap::kill_server:
        if (!server_) return;
        [[fallthrough]];
      case mishap::kill_node:
      case mishap::kill_aggregator:
        strike_down(one.who);
        in_.net.clock.after(one.length, [this, at = one.who] { raise(at); });
        return;
      case mishap::stop_host: return in_.net.stop(one.who, one.length);
      case mishap::drain_node:
        nodes_were_killed_ = true;
        if (const auto& node = nodes_[one.who - 1 - plan_.aggregators]; node && !node->stopped()) node->drain();
        in_.net.clock.after(one.length, [this, at = one.who] { raise(at); });
        in_.net.clock.after(one.length + 300 * second, [this, at = one.who] { raise(at); });
        return;
      case mishap::cut:
        for (const auto& each : in_.net.links_of(one.who)) each->cut();
        return;
      case mishap::silence:
        for (const auto& each : in_.net.links_of(one.who)) each->silence(in_.net.patience());
        return;
      case mishap::part_hosts: return in_.net.part(one.who, server_host, one.length);
      case mishap::isolate:
        for (host other = 0; other < hosts(); ++other)
          if (other != one.who) in_.net.part(one.who, other, one.length);
    }
  }

  ending look_back(virtual_time ended) {
    ending seen;
    seen.ended = ended;
    seen.steps = in_.net.clock.steps();
    auto& checks = in_.checks;
    if (ended == 0) {
      checks.wrong("the run does not end");
      if (server_)
        for (const auto& task : server_->machine().open_tasks())
          checks.note("open: " + text_of(task.id) + " at " + std::to_string(task.aggregator) +
                      (task.closed ? " closed" : ""));
      for (const auto& node : nodes_)
        if (node) checks.note("a node has " + std::to_string(node->machine().holding()) + " tasks");
    } else {
      check_nodes();
    }
    const auto& state = saved_.state;
    seen.model = hex(models::model_sha256(state.chosen().model));
    seen.version = state.version;
    seen.counts = state.counts;
    seen.history = state.history;
    seen.sent_on = in_.sent_on;
    seen.tasks_lost = in_.tasks_lost;
    seen.mixed_many = checks.async_model_mixes_many;
    seen.failures = checks.failures;
    seen.evaluations = checks.evaluations;
    seen.trace = std::move(checks.trace);
    seen.trace.push_back(seen.model);
    return seen;
  }

  /// The run is over: what is left with the nodes that know it?
  void check_nodes() {
    std::set<federated::task_id> open;
    for (const auto& task : server_->machine().open_tasks()) open.insert(task.id);
    bool all_stopped = true;
    for (const auto& node : nodes_) {
      if (!node || !node->stopped()) {
        all_stopped = false;
        continue;
      }
      for (const auto& id : node->holding())
        if (!open.contains(id) && !nodes_were_killed_)
          in_.checks.wrong(text_of(id) + " was decided, and its node holds it still");
    }
    if (!all_stopped || nodes_were_killed_ || !in_.e.settings.algorithm.traits.keeps_state) return;
    std::map<std::uint32_t, federated::task_id> last;  // by client
    for (const auto& id : in_.checks.folded()) last[id.client] = id;
    for (const auto& [client, id] : last)
      if (!in_.checks.was_kept(id))
        in_.checks.wrong(text_of(id) + " is in the model, and its private values are not kept");
  }

  surroundings in_;
  const plan& plan_;
  saved_life saved_;
  std::vector<node_disk> disks_;
  std::unique_ptr<server_process> server_;
  std::vector<std::unique_ptr<aggregator_process>> aggregators_;
  std::vector<std::unique_ptr<node_process>> nodes_;
  bool nodes_were_killed_ = false;
};

}  // namespace

federated::experiment experiment_of(const plan& what) {
  const bool own = what.settings.algorithm.traits.private_tensors == federated::private_use::required;
  const std::vector<std::string> names = own ? std::vector<std::string>{"user"} : std::vector<std::string>{};
  return make_experiment(what.settings, make_ratings(41), {}, names);
}

ending run_world(const plan& what, federated::virtual_time patience) {
  const auto e = experiment_of(what);
  return world_under_fire(e, what).run(patience);
}

}  // namespace furlong::tests::net
