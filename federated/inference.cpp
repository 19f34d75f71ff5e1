#include "federated/inference.hpp"

#include <algorithm>
#include <numeric>

#include "federated/client_scorer.hpp"
#include "federated/preparation.hpp"

namespace furlong::federated {

namespace {

/// One example per feature that asks for its prediction, with the columns that `like` has.
models::examples all_features(std::uint32_t features, const models::examples_view& like) {
  models::examples all;
  all.features.resize(features);
  std::iota(all.features.begin(), all.features.end(), 0U);
  all.labels.resize(features, 0.0F);
  if (!like.values.empty()) all.values.resize(features, 1.0F);
  if (!like.offsets.empty()) {
    all.offsets.resize(features + 1);
    std::iota(all.offsets.begin(), all.offsets.end(), 0U);
  }
  return all;
}

/// A client of the population is served as evaluation scores it. Somebody new is known by what was given alone: under
/// every algorithm it serves to rebuild what a client that never trained cannot have.
preparation prepare(const experiment& e, std::optional<std::uint32_t> client, bool stored) {
  if (!client) return {reconstructed_tensors(e), {}};
  return std::ranges::binary_search(e.clients->training(), *client) ? prepare_seen(e, stored) : prepare_unseen(e);
}

/// Whether there are tensors that a client without stored values has from no training: private ones, or of one that
/// never trains its row of a table over clients.
bool has_untrained(const experiment& e, std::optional<std::uint32_t> client) {
  const bool has_row = client && std::ranges::binary_search(e.clients->training(), *client);
  const auto tensors = e.parts.model->tensors();
  return !e.parts.private_tensors.empty() || (!has_row && std::ranges::any_of(tensors, [](const auto& one) {
    return one.index == models::row_index::by_client;
  }));
}

}  // namespace

std::string_view to_string(personal_source source) {
  switch (source) {
    case personal_source::stored: return "stored";
    case personal_source::reconstructed: return "reconstructed";
    case personal_source::model: return "model";
    case personal_source::initial: return "initial";
    case personal_source::tuned: return "fine-tuned";
  }
  return "unknown";
}

result<inference> predict_examples(const experiment& e, const models::shared_parameters& model, private_store* store,
                                   std::optional<std::uint32_t> client, const models::examples_view& known,
                                   const models::examples_view& questions) {
  const auto id = client.value_or(0);
  workspace use;
  use.own = models::private_parameters(e.parts.private_);
  initial_private(e, 0, id, use.own);
  inference out;
  if (client && store != nullptr && is_stateful(e.settings.algorithm)) {
    auto found = store->load(*client, use.own);
    if (!found) return tl::unexpected(found.error());
    if (*found) out.source = personal_source::stored;
  }
  models::examples table;
  table.append(known);
  table.append(questions);
  const auto asked = static_cast<std::uint32_t>(known.size());
  use.weights.gather(*e.model, e.parts, model, use.own, table.view(), id);
  if (!client)  // somebody new has no row in a table over clients: theirs is as it was before any training
    for (std::size_t t = 0; t < e.parts.slots.size(); ++t)
      if ((*e.parts.model)[t].index == models::row_index::by_client) use.weights.reinitialize(t, e.settings.seed, id);
  const auto& settings = e.settings;
  const auto [rebuilt, tuned] = prepare(e, client, out.source == personal_source::stored);
  const bool trains = client && std::ranges::binary_search(e.clients->training(), *client);
  const auto batch_size = settings.reconstruction.batch_size > 0          ? settings.reconstruction.batch_size
                          : !trains && settings.evaluation.batch_size > 0 ? settings.evaluation.batch_size
                                                                          : settings.client.batch_size;
  cut_batches(0, asked, batch_size, use.support);
  redraw_personal(e, rebuilt, id, use.weights);
  reconstruct(*e.model, use.weights, rebuilt, use.support, settings.reconstruction, use.solver);
  reconstruct(*e.model, use.weights, tuned, use.support, settings.reconstruction, use.solver);
  if (asked > 0 && !tuned.empty())
    out.source = personal_source::tuned;
  else if (asked > 0 && !rebuilt.empty())
    out.source = personal_source::reconstructed;
  else if (out.source != personal_source::stored && has_untrained(e, client))
    out.source = personal_source::initial;
  out.predictions.resize(questions.size());
  e.model->predict(use.weights.weights(), use.weights.data().slice(asked, asked + questions.size()), out.predictions);
  return out;
}

result<inference> predict_all_features(const experiment& e, const models::shared_parameters& model,
                                       private_store* store, std::optional<std::uint32_t> client,
                                       const models::examples_view& known) {
  const auto questions = all_features(e.clients->facts().features, known);
  return predict_examples(e, model, store, client, known, questions.view());
}

}  // namespace furlong::federated
