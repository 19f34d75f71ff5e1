#include "federated/protocol/client_sizes.hpp"

#include <algorithm>

#include "federated/client/scored_examples.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/negatives.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"

namespace furlong::federated::protocol {

namespace {

bool has(std::span<const std::uint32_t> ascending, std::uint32_t client) {
  return std::ranges::binary_search(ascending, client);
}

std::uint32_t predictions_of(const experiment& e, std::uint32_t client, part which) {
  if (e.model->objective() != models::objective::next_token) return e.clients->count(client, which);
  models::examples scratch;
  return static_cast<std::uint32_t>(e.clients->load(client, which, scratch).features.size());
}

/// Of groups that are not scored no example is read.
client_sizes sizes_of(const experiment& e, std::uint32_t client) {
  const auto scored = [&](group in) { return e.settings.evaluation->groups.at(static_cast<std::size_t>(in)); };
  client_sizes sizes;
  const auto for_validation = e.clients->unseen_validation();
  if (has(e.clients->training(), client)) {
    sizes.train = e.clients->count(client, part::train);
    if (scored(group::seen)) sizes.seen = predictions_of(e, client, part::test);
    if (for_validation.empty() && scored(group::validation))
      sizes.validation = predictions_of(e, client, part::validation);
  }
  if (has(for_validation, client) && scored(group::validation))
    sizes.validation = predictions_of(e, client, scored_part(*e.clients, group::validation, client));
  if (has(e.clients->unseen_test(), client) && scored(group::unseen))
    sizes.unseen = predictions_of(e, client, scored_part(*e.clients, group::unseen, client));
  return sizes;
}

std::string text_of(const client_sizes& sizes) {
  return std::to_string(sizes.train) + " examples to train on, and " + std::to_string(sizes.validation) + ", " +
         std::to_string(sizes.seen) + " and " + std::to_string(sizes.unseen) +
         " predictions in the validation, seen and unseen groups";
}

}  // namespace

std::uint32_t client_sizes::scored(group in) const {
  switch (in) {
    case group::validation: return validation;
    case group::seen: return seen;
    case group::unseen: return unseen;
    case group::train: return 0;  // not in federations
  }
  return 0;
}

std::vector<client_sizes> sizes_of(const experiment& e, const client_range& clients) {
  std::vector<client_sizes> all;
  for (std::uint64_t client = clients.first; client <= clients.last; ++client)
    all.push_back(sizes_of(e, static_cast<std::uint32_t>(client)));
  return all;
}

std::optional<std::string> size_mismatch(const experiment& e, const client_range& clients,
                                         std::span<const client_sizes> declared) {
  const std::uint64_t most = e.settings.aggregation->max_weight;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const auto client = clients.first + static_cast<std::uint32_t>(i);
    const auto& sizes = declared[i];
    const auto whose = "it declares for client " + std::to_string(client) + " (" + e.clients->client_name(client) +
                       ") " + text_of(sizes);
    const auto weight = most_weight(e, sizes.train);
    if (!e.sizes_declared) {
      if (const auto known = sizes_of(e, client); sizes != known)
        return whose + "; the server's data have " + text_of(known);
    } else if (std::max({sizes.train, sizes.validation, sizes.seen, sizes.unseen}) > most) {
      return whose + ", more than algorithm.aggregation.max_weight = " + std::to_string(most);
    } else if (weight > most && weighs_examples(*e.settings.aggregation, e.groups)) {
      return whose + ", and its updates count " + std::to_string(weight) +
             " examples, more than algorithm.aggregation.max_weight = " + std::to_string(most);
    }
  }
  return std::nullopt;
}

}  // namespace furlong::federated::protocol
