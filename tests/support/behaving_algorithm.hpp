// An algorithm that does what a test says.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "federated/aggregation/server_view.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"

namespace furlong::tests {

/// What an algorithm does; FedAvg where it says nothing.
struct algorithm_behaviour {
  std::function<void(federated::local_task&)> train = {};
  std::function<void(federated::server_view&, const federated::aggregate&)> step = {};
  std::function<void(federated::personal_task&)> personalize = {};
  std::function<std::uint64_t(std::uint64_t)> plan = {};
  std::function<std::uint64_t(std::uint64_t)> most_weight = {};
  std::vector<federated::tensor_group> groups = {};
};

class behaving_algorithm final : public federated::algorithm {
 public:
  explicit behaving_algorithm(algorithm_behaviour does) : does_(std::move(does)) {}

  std::vector<federated::tensor_group> tensors(const models::model&, const models::partition&) const override {
    return does_.groups;
  }
  std::uint64_t plan(const federated::run_settings& settings, std::uint64_t count) const override {
    return does_.plan ? does_.plan(count) : federated::examples_in(count, federated::client_loop(settings));
  }
  std::uint64_t most_weight(const federated::run_settings& settings, std::uint64_t count) const override {
    return does_.most_weight ? does_.most_weight(count) : algorithm::most_weight(settings, count);
  }
  void train(federated::local_task& task) const override {
    if (does_.train) return does_.train(task);
    task.count(task.sgd(task.parts().all_tensors, task.client_loop()));
  }
  void step(federated::server_view& server, const federated::aggregate& of) const override {
    if (does_.step) return does_.step(server, of);
    algorithm::step(server, of);
  }
  federated::personal_source personalize(federated::personal_task& task,
                                         const federated::client_kind& who) const override {
    if (does_.personalize) does_.personalize(task);
    return algorithm::personalize(task, who);
  }

 private:
  algorithm_behaviour does_;
};

}  // namespace furlong::tests
