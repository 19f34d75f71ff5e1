// The parts of the table of keys.
#pragma once

#include <vector>

#include "scenarios/schema/schema.hpp"

namespace furlong::scenarios {

void add_private_keys(std::vector<key_spec>& keys);
void add_participation_keys(std::vector<key_spec>& keys);
void add_device_keys(std::vector<key_spec>& keys);
void add_dropout_keys(std::vector<key_spec>& keys);
void add_attack_keys(std::vector<key_spec>& keys);
/// [topology], [network], [privacy], [evaluation] and [checkpoint].
void add_running_keys(std::vector<key_spec>& keys);

}  // namespace furlong::scenarios
