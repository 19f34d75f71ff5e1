// Initial values from a file: model.start_from.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "models/model.hpp"
#include "scenarios/data/dataset.hpp"

namespace furlong::scenarios {

/// A model that starts from the arrays of a file: its tensors by name and shape (leading dimensions of 1 do not count).
/// Private tensors may be missing; those in the file are every client's first values. A file of a module's whole state
/// (state_dict) fits too: other names of a tensor count as the tensor, and what is not trained is left out, with a note
/// in `notes`, unless null, where it differs from the class's. Fails (kind data), with all that does not match, and as
/// reading the file does.
[[nodiscard]] result<std::shared_ptr<const models::model>> start_from(std::shared_ptr<const models::model> model,
                                                                      const std::filesystem::path& file,
                                                                      std::span<const std::string> private_names,
                                                                      const dataset& data,
                                                                      std::vector<std::string>* notes);

/// Fails (kind usage) if a file of initial values has private ones: nodes do not get the file.
[[nodiscard]] result<void> check_start_on_nodes(const std::filesystem::path& file,
                                                std::span<const std::string> private_names);

}  // namespace furlong::scenarios
