// The attacks of the table, one function each, and the options that several of them have.
#pragma once

#include "federated/attack/attack.hpp"

namespace furlong::federated {

[[nodiscard]] attack_entry sign_flip_attack();
[[nodiscard]] attack_entry gaussian_attack();
[[nodiscard]] attack_entry label_flip_attack();
[[nodiscard]] attack_entry mimic_attack();
[[nodiscard]] attack_entry ipm_attack();
[[nodiscard]] attack_entry alie_attack();
[[nodiscard]] attack_entry min_max_attack();
[[nodiscard]] attack_entry opt_ipm_attack();
[[nodiscard]] attack_entry opt_alie_attack();
[[nodiscard]] attack_entry backdoor_attack();
[[nodiscard]] attack_entry model_replacement_attack();
[[nodiscard]] attack_entry promote_item_attack();
[[nodiscard]] attack_entry fedrec_attack();

/// Of colluding clients: own or all.
[[nodiscard]] option_spec knows_option();
/// A factor or a deviation.
[[nodiscard]] option_spec strength_option();
/// What is promoted, or predicted at a trigger.
[[nodiscard]] option_spec target_option();
/// The share of poisoned examples.
[[nodiscard]] option_spec poison_option();

}  // namespace furlong::federated
