#include "federated/client/item_scores.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "federated/aggregation/contracts.hpp"
#include "federated/client/personalization.hpp"

namespace furlong::federated {

namespace {

constexpr auto of_items = models::row_index::by_feature;

bool is_of_items(const experiment& setup, const placed_group& group) {
  const auto& tensors = *setup.parts.model;
  return std::ranges::any_of(group.copies_of, [&](auto tensor) { return tensors[tensor].index == of_items; }) ||
         std::ranges::any_of(group.specs, [](const auto& spec) { return spec.index == of_items; });
}

constexpr const char* scoring_place = "in the scoring of client";

}  // namespace

item_scores::item_scores(const experiment& setup, const models::shared_parameters& model)
    : e_(setup), model_(model), keeps_rows_(std::ranges::any_of(setup.groups, [&](const placed_group& group) {
        // What a client keeps of its last task alone is read whole (local_values::kept).
        return group.where == place::kept && !group.forgets && is_of_items(setup, group);
      })) {
  all_items_.features.resize(setup.clients->facts().features);
  std::iota(all_items_.features.begin(), all_items_.features.end(), 0U);
  all_items_.labels.resize(all_items_.features.size(), 1.0F);
}

std::span<const float> item_scores::rows_of(std::size_t tensor, const workspace& use) const {
  const auto slot = e_.parts.slots[tensor];
  return slot.is_private ? use.own.tensor(slot.tensor) : model_.tensor(slot.tensor);
}

bool item_scores::moved_rows(const workspace& use) const {
  const auto rows = use.weights.rows(of_items);
  for (std::size_t tensor = 0; tensor < e_.parts.model->count(); ++tensor) {
    const auto& spec = (*e_.parts.model)[tensor];
    if (spec.index != of_items) continue;
    const auto whole = rows_of(tensor, use);
    const auto view = use.weights.weights()[tensor];
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (std::memcmp(view.row(r), whole.data() + std::size_t{rows[r]} * spec.cols, spec.cols * sizeof(float)) != 0)
        return true;
  }
  return false;
}

bool item_scores::score_whole(std::uint32_t client, const client_kind& kind, const models::examples_view& known,
                              workspace& use, std::span<float> scores, personal_source& source) const {
  use.weights.gather(*e_.model, e_.parts, model_, use.own, personal_examples(e_, kind, client, known, use.negatives),
                     client);
  personal_task task(e_, model_, client, use, kind.has_state);
  const auto& algorithm = *e_.settings.algorithm->does;
  source = ask_algorithm(e_, scoring_place, client, [&] { return algorithm.personalize(task, kind); });
  if (moved_rows(use)) return false;
  const auto gathered = use.weights.weights();
  std::vector<models::tensor_view> views(gathered.begin(), gathered.end());
  for (std::size_t tensor = 0; tensor < views.size(); ++tensor) {
    const auto& spec = (*e_.parts.model)[tensor];
    // predict() only reads what its views name
    if (spec.index == of_items) views[tensor] = {const_cast<float*>(rows_of(tensor, use).data()), spec.rows, spec.cols};
  }
  e_.model->predict(views, all_items_.view(), scores);
  ask_algorithm(e_, scoring_place, client, [&] { algorithm.rescore(task, all_items_.features, scores); });
  return true;
}

personal_source item_scores::score(std::uint32_t client, const client_kind& kind, const models::examples_view& known,
                                   workspace& use, std::span<float> scores) const {
  personal_source source = personal_source::model;
  if (!keeps_rows_ && score_whole(client, kind, known, use, scores, source)) return source;
  use.weights.gather(*e_.model, e_.parts, model_, use.own, personal_examples(e_, kind, client, known, use.negatives),
                     client, true);
  personal_task task(e_, model_, client, use, kind.has_state);
  const auto& algorithm = *e_.settings.algorithm->does;
  source = ask_algorithm(e_, scoring_place, client, [&] { return algorithm.personalize(task, kind); });
  const auto rows = use.weights.rows(of_items);
  use.predictions.resize(rows.size());
  e_.model->predict(use.weights.weights(), all_items_.view(), use.predictions);
  for (std::size_t r = 0; r < rows.size(); ++r) scores[rows[r]] = use.predictions[r];
  ask_algorithm(e_, scoring_place, client, [&] { algorithm.rescore(task, all_items_.features, scores); });
  return source;
}

}  // namespace furlong::federated
