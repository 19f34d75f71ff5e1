// Which tensors of the built-in models describe one client, and so may usefully be private. Any tensor may be private;
// these are what messages propose.
#pragma once

#include <span>
#include <string_view>

namespace furlong::scenarios {

/// A tensor that describes one client.
struct personal_tensor {
  std::string_view model;    ///< its kind
  std::string_view name;     ///< of the tensor
  std::string_view setting;  ///< what gives the model this tensor, as a line of a scenario
};

/// All of them, those of a model in the order in which they are proposed.
[[nodiscard]] std::span<const personal_tensor> personal_tensors();

}  // namespace furlong::scenarios
