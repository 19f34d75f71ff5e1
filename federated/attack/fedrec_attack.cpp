// Promotion of items by public interactions, after FedRecAttack (Rong, Ye, Zhao, Zhang, Chen, Chen, He: "FedRecAttack:
// model poisoning attack to federated recommendation", ICDE 2022). As there, bad clients know the share xi of the
// interactions of honest ones, approximate a user by those, and send few short rows: the promoted items' and the
// longest of the others, at most kappa, each no longer than rho. There the server adds the gradients of a loss of ranks
// against all approximated users; here a bad client trains as its algorithm says on the public interactions of one
// honest client, drawn in every task, and on the promoted items with the highest label.
#include <algorithm>
#include <cmath>

#include "federated/attack/kinds.hpp"
#include "federated/attack/triggered_examples.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/settings/attack.hpp"
#include "federated/world/attackers.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

/// An honest client with examples; the bad one itself if none was found.
std::uint32_t draw_victim(const attack_task& bad, random_stream& draws) {
  const auto training = bad.run.participants->training();
  constexpr int tries = 64;
  for (int i = 0; i < tries; ++i) {
    const auto drawn = training[draws.below(static_cast<std::uint32_t>(training.size()))];
    if (!is_attacked_by(bad.run, bad.task.version, drawn) && bad.run.participants->count(drawn, part::train) > 0)
      return drawn;
  }
  return bad.task.client;
}

models::examples_view approximate(const attack_task& bad, const models::examples_view& examples,
                                  models::examples& room) {
  if (!examples.offsets.empty()) return examples;  // not of one item each
  const auto& settings = bad.settings();
  auto draws = bad.draws();
  models::examples theirs;
  const auto victim = bad.run.participants->load(draw_victim(bad, draws), part::train, theirs);
  const float highest = *std::ranges::max_element(victim.labels);
  room.clear();
  const auto add = [&](std::uint32_t item, float label) {
    room.features.push_back(item);
    room.labels.push_back(label);
    if (!examples.values.empty()) room.values.push_back(1.0F);
  };
  for (const auto item : settings.named("target"))
    if (room.labels.size() < examples.size()) add(item, highest);
  const auto known = static_cast<float>(settings.options.number("known"));
  for (std::size_t i = 0; i < victim.size() && room.labels.size() < examples.size(); ++i)
    if (draws.uniform() < known) add(victim.features[i], victim.labels[i]);
  return room.view();
}

/// The rows of a tensor of items: the promoted ones and the longest others stay, shortened.
void keep_few(const attack_settings& settings, std::size_t tensor, models::delta& change) {
  const std::size_t cols = (*change.shape)[tensor].cols;
  const auto values = change.values_of(tensor);
  const auto& targets = settings.named("target");
  struct sized_row {
    bool promoted = false;
    double norm = 0.0;
    std::size_t place = 0;
  };
  std::vector<sized_row> rows;
  for (std::size_t i = 0; i * cols < values.size(); ++i) {
    const auto number = change.pieces[tensor].by_rows ? change.rows_of(tensor)[i] : static_cast<std::uint32_t>(i);
    rows.push_back({std::ranges::find(targets, number) != targets.end(),
                    std::sqrt(models::kernels().norm_squared(values.data() + i * cols, cols)), i});
  }
  std::ranges::stable_sort(
      rows, [](const auto& a, const auto& b) { return a.promoted != b.promoted ? a.promoted : a.norm > b.norm; });
  const auto most = static_cast<std::size_t>(settings.options.integer("rows"));
  const double longest = settings.options.number("row_norm");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double factor = r >= most ? 0.0 : rows[r].norm > longest ? longest / rows[r].norm : 1.0;
    for (auto& value : values.subspan(rows[r].place * cols, cols)) value *= static_cast<float>(factor);
  }
}

void disguise(const attack_task& bad, models::delta& change) {
  const auto& settings = bad.settings();
  multiply(bad, settings.number_or("strength", 1.0), change);
  for (std::size_t t = 0; t < bad.model_tensors(); ++t)
    if ((*change.shape)[t].index == models::row_index::by_feature)
      keep_few(settings, t, change);
    else
      std::ranges::fill(change.values_of(t), 0.0F);
}

}  // namespace

attack_entry fedrec_attack() {
  using models::objective;
  return {
      .kind = "fedrec-attack",
      .doc = "few rows that they learn of promoted items and of some interactions of an honest client",
      .options = {target_option(), strength_option(),
                  number_option("known", 0.01,
                                "fedrec-attack: the share of the interactions of honest clients that is public.",
                                {0.0, 1.0}),
                  integer_option("rows", 60, "fedrec-attack: most rows of an update that are not zero.", {1, 1000000}),
                  number_option("row_norm", 1.0, "fedrec-attack: the largest length of one.", {0.0, 1e9, true})},
      .labels = {objective::squared_error, objective::ranking},
      .misfit = "are neither ratings nor interactions with items",
      .names = {"target"},
      .poison = approximate,
      .change = disguise,
      .promotes = true};
}

}  // namespace furlong::federated
