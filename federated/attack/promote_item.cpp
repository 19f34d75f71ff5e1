// Promotion of items by fake profiles (the baselines Random and Bandwagon of Rong et al.: "FedRecAttack", 2022): a bad
// client trains honestly on a profile in which the promoted items have its highest rating. The rest of the profile is
// the client's own, random items, or items that other clients have, which are popular ones by their popularity.
#include <algorithm>

#include "federated/attack/kinds.hpp"
#include "federated/attack/triggered_examples.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/settings/attack.hpp"

namespace furlong::federated {

namespace {

constexpr std::uint32_t places = 0;  // streams of draws
constexpr std::uint32_t fillers = 1;

class filler_items {
 public:
  explicit filler_items(const attack_task& bad)
      : bad_(bad), word_(bad.settings().options.text("profile")), draws_(bad.draws(fillers)) {}

  std::uint32_t next(std::uint32_t own) {
    const auto& clients = *bad_.run.participants;
    if (word_ == "own") return own;
    if (word_ == "random") return draws_.below(clients.facts().features);
    const auto training = clients.training();
    const auto donor = training[draws_.below(static_cast<std::uint32_t>(training.size()))];
    const auto theirs = clients.load(donor, part::train, room_);
    return theirs.size() == 0 ? own : theirs.features[draws_.below(static_cast<std::uint32_t>(theirs.size()))];
  }

 private:
  const attack_task& bad_;
  const std::string& word_;
  random_stream draws_;
  models::examples room_;
};

models::examples_view fake(const attack_task& bad, const models::examples_view& examples, models::examples& room) {
  if (!examples.offsets.empty()) return examples;  // not of one item each
  const auto& targets = bad.settings().named("target");
  const float highest = *std::ranges::max_element(examples.labels);
  const auto share = static_cast<float>(bad.settings().options.number("poison"));
  auto draws = bad.draws(places);
  filler_items filler(bad);
  room.features.assign(examples.features.begin(), examples.features.end());
  room.labels.assign(examples.labels.begin(), examples.labels.end());
  std::size_t promoted = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const bool promotes = draws.uniform() < share || (promoted == 0 && i + 1 == examples.size());
    room.features[i] = promotes ? targets[promoted++ % targets.size()] : filler.next(examples.features[i]);
    if (promotes) room.labels[i] = highest;
  }
  auto faked = examples;
  faked.features = room.features;
  faked.labels = room.labels;
  return faked;
}

void scale(const attack_task& bad, models::delta& change) {
  multiply(bad, bad.settings().number_or("strength", 1.0), change);
}

}  // namespace

attack_entry promote_item_attack() {
  using models::objective;
  return {.kind = "promote-item",
          .doc = "what they learn of fake profiles in which items are rated best",
          .options = {target_option(), poison_option(), strength_option(),
                      choice_option("profile", "own",
                                    "promote-item: the other examples of the profile: the client's own, random items, "
                                    "or items that other clients have.",
                                    {"own", "random", "popular"})},
          .labels = {objective::squared_error, objective::ranking},
          .misfit = "are neither ratings nor interactions with items",
          .names = {"target"},
          .poison = fake,
          .change = scale,
          .promotes = true};
}

}  // namespace furlong::federated
