// Mimic (Karimireddy, He, Jaggi 2022): the known update of the client with the lowest number.
#include "federated/attack/crafted_update.hpp"
#include "federated/attack/kinds.hpp"

namespace furlong::federated {

namespace {

std::vector<double> copy(const attack_settings& /*settings*/, const known_updates& known,
                         function_ref<double(std::span<const double>)> /*harm*/) {
  return {known.rows.front().begin(), known.rows.front().end()};
}

}  // namespace

attack_entry mimic_attack() {
  return {.kind = "mimic",
          .doc = "the update of the client with the lowest number",
          .options = {knows_option()},
          .craft = copy};
}

}  // namespace furlong::federated
