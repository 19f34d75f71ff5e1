#include "federated/client/inference.hpp"

#include <algorithm>
#include <numeric>

#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"
#include "models/class_model.hpp"

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

}  // namespace

result<personal_source> with_personal_model(const experiment& e, const models::shared_parameters& model,
                                            private_store* store, std::optional<std::uint32_t> client,
                                            const models::examples_view& known, const models::examples_view& questions,
                                            personal_model then) {
  const auto id = client.value_or(0);
  workspace use;
  use.own = models::private_parameters(e.parts.private_);
  initial_private(e, 0, id, use.own);
  client_kind who;
  who.known = client.has_value();
  who.trains = client && std::ranges::binary_search(e.clients->training(), *client);
  if (client && store != nullptr && e.settings.algorithm->traits.keeps_state) {
    auto found = store->load(*client, use.own);
    if (!found) return tl::unexpected(found.error());
    who.has_state = *found;
  }
  use.weights.gather(*e.model, e.parts, model, use.own, personal_examples(e, who, id, known, use.negatives), id, false,
                     questions);
  if (!client)  // a new user has no row in a table over clients: theirs has the values before training
    for (std::size_t t = 0; t < e.parts.slots.size(); ++t)
      if ((*e.parts.model)[t].index == models::row_index::by_client)
        use.weights.reinitialize(t, initial_stream(e, t, 0, id));
  personal_task task(e, model, id, use, who.has_state);
  const auto source = e.settings.algorithm->does->personalize(task, who);
  models::examples rows;
  use.weights.renumber(questions, rows);
  then(task, who, rows.view(), questions);
  return source;
}

result<inference> predict_examples(const experiment& e, const models::shared_parameters& model, private_store* store,
                                   std::optional<std::uint32_t> client, const models::examples_view& known,
                                   const models::examples_view& questions, bool probabilities) {
  inference out;
  const auto* of_classes = probabilities ? dynamic_cast<const models::class_model*>(e.model.get()) : nullptr;
  out.predictions.resize(questions.size());
  const auto predict = [&](personal_task& task, const client_kind&, const models::examples_view& rows,
                           const models::examples_view& asked) {
    const auto weights = task.weights().of->weights();
    e.model->predict(weights, rows, out.predictions);
    if (e.model->objective() == models::objective::ranking)
      e.settings.algorithm->does->rescore(task, asked.features, out.predictions);
    if (of_classes == nullptr) return;
    out.probabilities.resize(rows.size() * of_classes->classes());
    of_classes->probabilities(weights, rows, out.probabilities);
  };
  const auto source = with_personal_model(e, model, store, client, known, questions, predict);
  if (!source) return tl::unexpected(source.error());
  out.source = *source;
  return out;
}

result<inference> predict_all_features(const experiment& e, const models::shared_parameters& model,
                                       private_store* store, std::optional<std::uint32_t> client,
                                       const models::examples_view& known) {
  const auto questions = all_features(e.clients->facts().features, known);
  return predict_examples(e, model, store, client, known, questions.view());
}

}  // namespace furlong::federated
