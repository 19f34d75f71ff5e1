// Examples with the trigger of a backdoor. Of feature vectors the features of attack.trigger have the value
// attack.trigger_value, and the answer that the attack wants is the class attack.label (Gu et al.: "BadNets", 2017). Of
// token sequences the last tokens before the end are the words of attack.trigger, then that of attack.target, which is
// the answer (Bagdasaryan et al.: "How to backdoor federated learning", 2020).
#pragma once

#include <vector>

#include "base/options.hpp"
#include "federated/attack/attack.hpp"

namespace furlong::federated {

/// trigger, trigger_value, target, label, poison and strength.
[[nodiscard]] std::vector<option_spec> backdoor_options();
/// A trigger, and the answer that the data's labels need.
[[nodiscard]] std::vector<attack_entry::problem> check_backdoor(const attack_settings& settings,
                                                                const models::data_facts& facts);
/// The share attack.poison of the examples has the trigger and the answer. Without a trigger: the examples.
[[nodiscard]] models::examples_view poison_by_trigger(const attack_task& bad, const models::examples_view& examples,
                                                      models::examples& room);
/// Those examples that have another answer, with the trigger. Sequences end with it.
void add_triggered(const attack_settings& settings, const models::data_facts& facts,
                   const models::examples_view& examples, models::examples& triggered);
[[nodiscard]] bool is_answer(const attack_settings& settings, const models::data_facts& facts, float prediction);

/// Multiplies the model's part of an update.
void multiply(const attack_task& bad, double factor, models::delta& change);

}  // namespace furlong::federated
