// A backdoor by poisoned data (triggered_examples.hpp): the model is to answer as the attack wants where a trigger is,
// and as ever elsewhere.
#include "federated/attack/kinds.hpp"
#include "federated/attack/triggered_examples.hpp"
#include "federated/settings/attack.hpp"

namespace furlong::federated {

namespace {

void scale(const attack_task& bad, models::delta& change) {
  multiply(bad, bad.settings().number_or("strength", 1.0), change);
}

}  // namespace

attack_entry backdoor_attack() {
  using models::objective;
  return {.kind = "backdoor",
          .doc = "what they learn of examples of which some have a trigger and the answer that the attack wants",
          .options = backdoor_options(),
          .labels = {objective::logistic, objective::categorical, objective::next_token},
          .misfit = "are no classes or words, of which a trigger could change the prediction",
          .names = {"trigger"},
          .check = check_backdoor,
          .poison = poison_by_trigger,
          .change = scale,
          .trigger = add_triggered,
          .reached = is_answer};
}

}  // namespace furlong::federated
