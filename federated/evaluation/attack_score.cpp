#include "federated/evaluation/attack_score.hpp"

#include <cmath>
#include <vector>

#include "federated/aggregation/contracts.hpp"
#include "federated/attack/attack.hpp"
#include "federated/client/personalization.hpp"
#include "federated/ranking/candidates.hpp"
#include "federated/settings/attack.hpp"
#include "federated/world/world.hpp"

namespace furlong::federated {

attack_score::attack_score(const experiment& setup, const models::shared_parameters& model) : e_(setup), model_(model) {
  if (setup.settings.attack->entry->promotes) items_.emplace(setup, model);
}

void attack_score::add(group scored, std::uint32_t client, const client_kind& kind, const models::examples_view& known,
                       const models::examples_view& asked, workspace& use, client_score& out) const {
  if (e_.around != nullptr && e_.around->attackers.contains(client)) return;
  if (!items_) return add_triggered(client, kind, known, asked, use, out);
  use.item_scores.resize(e_.clients->facts().features);
  static_cast<void>(items_->score(client, kind, known, use, use.item_scores));
  add_promoted(scored, client, asked.features, use.item_scores, out);
}

void attack_score::add_promoted(group scored, std::uint32_t client, std::span<const std::uint32_t> asked,
                                std::span<const float> scores, client_score& out) const {
  using ranking::item_use;
  std::vector<item_use> uses;
  ranking::mark_items(*e_.clients, scored, client, asked, uses);
  for (const auto item : e_.settings.attack->named("target")) {
    if (uses[item] == item_use::known) continue;
    out.attack.add({ranking::chance_among_unknown(item, uses, scores, places), 1.0});
  }
}

void attack_score::add_triggered(std::uint32_t client, const client_kind& kind, const models::examples_view& known,
                                 const models::examples_view& asked, workspace& use, client_score& out) const {
  const auto& settings = *e_.settings.attack;
  const auto facts = e_.clients->facts();
  models::examples triggered;
  settings.entry->trigger(settings, facts, asked, triggered);
  if (triggered.labels.empty()) return;
  use.weights.gather(*e_.model, e_.parts, model_, use.own, known, client, false, triggered.view());
  personal_task task(e_, model_, client, use, kind.has_state);
  const auto& algorithm = *e_.settings.algorithm->does;
  ask_algorithm(e_, "in the scoring of client", client, [&] { static_cast<void>(algorithm.personalize(task, kind)); });
  models::examples questions;
  use.weights.renumber(triggered.view(), questions);
  use.predictions.resize(questions.labels.size());
  e_.model->predict(use.weights.weights(), questions.view(), use.predictions);
  for (const float prediction : use.predictions) {
    out.attack.add({settings.entry->reached(settings, facts, prediction) ? 1.0 : 0.0, 1.0});
  }
}

}  // namespace furlong::federated
