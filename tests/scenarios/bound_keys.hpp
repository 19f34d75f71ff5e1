// The keys that set a field of the settings, for tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::scenarios::testing {

/// A value as it is written, and as the field shows it then.
struct bound_value {
  option_value written;
  std::string shown;
};

struct bound_key {
  std::string name;
  std::vector<bound_value> values;  ///< all words; of a number or a text one that is not the default
  std::function<std::string(const federated::run_settings&)> show;
  std::string field = name;  ///< keys of one field show the same
};

/// All of them: which field each key sets, and what each of its words means there.
[[nodiscard]] std::vector<bound_key> bound_keys();

}  // namespace furlong::scenarios::testing
