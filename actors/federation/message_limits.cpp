#include "actors/federation/message_limits.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/federation/model_frames.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/client/scored_examples.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "wire/control.hpp"
#include "wire/message.hpp"

namespace furlong::actors::federation {

namespace {

struct sized {
  const char* name;
  std::uint64_t bytes;
};

std::uint64_t bytes_of_model(const federated::experiment& experiment) {
  const federated::broadcast model{experiment.run, 0, models::shared_parameters(experiment.parts.down),
                                   std::vector<double>(federated::rule_sizes_of(experiment).reference)};
  return wire::encoded_size(model, experiment.settings.network->compression.numbers);
}

std::size_t largest_update_of(const federated::experiment& experiment) {
  return experiment.settings.privacy->secure_aggregation
             ? wire::largest_masked_update(federated::accumulated_words(experiment))
             : wire::largest_update(*experiment.parts.up);
}

std::size_t largest_broadcast_of(const federated::experiment& experiment) {
  return wire::largest_broadcast(*experiment.parts.down, federated::rule_sizes_of(experiment).reference);
}

std::uint64_t bytes_of_update(const federated::experiment& experiment) {
  if (experiment.settings.privacy->secure_aggregation || experiment.settings.network->sparse_upload)
    return largest_update_of(experiment);
  federated::client_update update;
  update.change = models::to_dense({experiment.parts.up, {experiment.parts.up->count(), {true, 0, 0, 0}}, {}, {}});
  return wire::encoded_size(update, wire::update_format::dense, experiment.settings.network->compression.numbers);
}

/// Maximum of tasks in one share.
std::size_t largest_share(const federated::experiment& experiment) {
  const auto& participation = *experiment.settings.participation;
  if (participation.mode == federated::participation_mode::async) return participation.concurrency;
  return asked_per_round(participation);
}

/// Entries of the longest list: clients, distances of settled tasks, or clients with their metrics.
std::size_t longest_list_of(const federated::experiment& experiment, std::size_t clients) {
  const std::size_t distances = experiment.settings.evaluation->attention ? experiment.parts.shared->count() : 1;
  return std::max<std::size_t>(clients, 1) * std::max(distances, 1 + experiment.model->metrics().size());
}

constexpr std::size_t bytes_of_prediction = sizeof(float) + sizeof(std::uint8_t);

bool predicts_two_classes(const federated::experiment& experiment) {
  return experiment.model->objective() == models::objective::logistic;
}

/// Bytes of a message with the scores of clients that have so many predictions of two classes.
std::uint64_t bytes_of_scores(std::size_t predictions) {
  return wire::largest_control(1) + predictions * bytes_of_prediction;
}

/// The client with the most predictions of two classes, and their number. None if other processes have the data.
std::pair<std::uint32_t, std::size_t> most_scored(const federated::experiment& experiment) {
  using federated::group;
  std::pair<std::uint32_t, std::size_t> most{0, 0};
  const auto look = [&](std::span<const std::uint32_t> clients, group scored) {
    for (const auto client : clients)
      if (const std::size_t n =
              experiment.clients->count(client, federated::scored_part(*experiment.clients, scored, client));
          n > most.second)
        most = {client, n};
  };
  if (!predicts_two_classes(experiment)) return most;
  const auto validation = experiment.clients->unseen_validation();
  look(validation.empty() ? experiment.clients->training() : validation, group::validation);
  look(experiment.clients->training(), group::seen);
  look(experiment.clients->unseen_test(), group::unseen);
  return most;
}

}  // namespace

std::size_t most_predictions(const federated::experiment& experiment) {
  const auto rest = bytes_of_scores(0);
  const auto bound = experiment.settings.network->max_message;
  return bound <= rest ? 0 : std::min<std::size_t>((bound - rest) / bytes_of_prediction, wire::longest_list);
}

std::uint64_t longest_node_frame(const federated::experiment& experiment, std::size_t clients) {
  const auto lists = wire::largest_control(longest_list_of(experiment, clients));
  const auto longest =
      std::max<std::uint64_t>({largest_update_of(experiment), largest_broadcast_of(experiment), lists,
                               predicts_two_classes(experiment) ? bytes_of_scores(wire::longest_list) : 0});
  return std::min(longest, experiment.settings.network->max_message);
}

std::uint64_t longest_hello(const federated::experiment& experiment, std::size_t clients) {
  return std::min<std::uint64_t>(wire::largest_control(longest_list_of(experiment, clients)),
                                 longest_node_frame(experiment, clients));
}

result<void> check_hosted(const federated::client_range& clients) {
  const auto hosted = std::uint64_t{clients.last} - clients.first + 1;
  if (hosted <= wire::longest_list) return {};
  return fail(
      error::kind::usage, "--clients",
      "names " + std::to_string(hosted) + " clients, and a node hosts at most " + std::to_string(wire::longest_list),
      "divide them among several nodes");
}

namespace {

/// What no value of network.max_message makes room for.
result<void> check_lengths(const federated::experiment& experiment, bool aggregators) {
  auto rule = federated::rule_sizes_of(experiment);
  if (!aggregators && !experiment.settings.privacy->secure_aggregation) rule.words = 0;  // no message has them
  if (auto fit = wire::check_lengths(*experiment.parts.down, *experiment.parts.up, rule); !fit) return fit;
  if (const auto metrics = experiment.model->metrics().size(); metrics > models::most_metrics)
    return fail(error::kind::usage, "model.kind",
                std::string(experiment.model->kind()) + " has " + std::to_string(metrics) +
                    " metrics, and messages hold " + std::to_string(models::most_metrics),
                "let metrics() of the model name fewer");
  if (const auto tasks = largest_share(experiment); tasks > wire::longest_list) {
    const bool async = experiment.settings.participation->mode == federated::participation_mode::async;
    return fail(error::kind::usage, async ? "participation.concurrency" : "participation.per_round",
                "asks up to " + std::to_string(tasks) + " clients at once, and messages list " +
                    std::to_string(wire::longest_list),
                "lower it");
  }
  return {};
}

}  // namespace

result<void> check_max_message(const federated::experiment& experiment, std::size_t clients, bool aggregators) {
  if (auto fit = check_lengths(experiment, aggregators); !fit) return fit;
  const auto [client, scored] = most_scored(experiment);
  if (scored > wire::longest_list)
    return fail(error::kind::usage, "client " + std::to_string(client),
                "has " + std::to_string(scored) +
                    " examples to be scored; the predictions of two classes go to the server, and " +
                    std::to_string(wire::longest_list) + " of a client is the most",
                "divide its examples among several clients, or give it a smaller test part");
  std::vector<sized> messages{{"the model", bytes_of_model(experiment)},
                              {"an update", bytes_of_update(experiment)},
                              {"a list of all clients", wire::largest_control(longest_list_of(experiment, clients))}};
  if (scored > 0)
    messages.push_back({"a message of scores", bytes_of_scores(std::max(scored, predictions_per_message))});
  if (aggregators) {
    const auto words = federated::accumulated_words(experiment);
    messages.push_back({"a partial aggregate", wire::largest_partial(words, largest_share(experiment))});
  }
  const auto longest = *std::ranges::max_element(messages, {}, &sized::bytes);
  const auto bound = experiment.settings.network->max_message;
  if (longest.bytes <= bound) return {};
  return fail(error::kind::usage, "network.max_message",
              "is " + std::to_string(bound) + " bytes, and " + longest.name + " of this run takes up to " +
                  std::to_string(longest.bytes),
              "set it to " + std::to_string(longest.bytes) + " or more");
}

std::size_t upload_room(const federated::experiment& experiment, std::size_t most) {
  constexpr std::size_t at_once = 16;
  constexpr std::size_t least = std::size_t{16} << 20U;
  return std::min(most, std::max(least, at_once * largest_update_of(experiment)));
}

}  // namespace furlong::actors::federation
