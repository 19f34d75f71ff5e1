// Model replacement (Bagdasaryan, Veit, Hua, Estrin, Shmatikov: "How to backdoor federated learning", 2020): the update
// of poisoned data times n / eta, n updates in a round and eta the server's learning rate. In a mean it cancels the
// division, and the model of one bad client replaces the global one. Of problems in Python, whose examples are the
// problem's own, the update is multiplied alone: the problem poisons the data of its bad clients itself.
#include "federated/attack/kinds.hpp"
#include "federated/attack/triggered_examples.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/training.hpp"

namespace furlong::federated {

namespace {

void replace(const attack_task& bad, models::delta& change) {
  const auto& settings = bad.run.settings;
  const double updates = settings.participation->mode == participation_mode::async ? settings.participation->buffer
                                                                                   : settings.participation->per_round;
  multiply(bad, bad.settings().number_or("strength", updates / static_cast<double>(settings.server->lr)), change);
}

}  // namespace

attack_entry model_replacement_attack() {
  auto entry = backdoor_attack();
  entry.kind = "model-replacement";
  entry.doc = "the same, times strength";
  entry.labels.push_back(models::objective::custom);
  entry.change = replace;
  return entry;
}

}  // namespace furlong::federated
