// The pictures of user embeddings.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/report/detail/scatter.hpp"
#include "tools/report/run_record.hpp"

namespace furlong::tools {

/// The t-SNE picture of a run's user embeddings, coloured by label; nothing when it has none.
[[nodiscard]] std::optional<scatter> embedding_picture(const run_record& run, const std::string& label);

/// How alike the embeddings of the first run and each other one are, or why they are not compared, a sentence each;
/// empty without two that have some.
[[nodiscard]] std::string embedding_likeness(std::span<const run_record> runs, const std::vector<std::string>& labels);

}  // namespace furlong::tools
