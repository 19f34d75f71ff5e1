#include "storage/detail/checkpoint_layouts.hpp"

#include <algorithm>

#include "storage/detail/checkpoint_limits.hpp"
#include "storage/detail/message.hpp"

namespace furlong::storage::detail {

namespace {

/// The first tensor that differs between two signatures.
std::string first_difference(std::string_view saved, std::string_view asked, std::string_view what) {
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(saved, asked).in1 - saved.begin());
  const auto start = saved.substr(0, same).rfind('\n') + 1;  // 0 in the first line
  const auto tensor = [&](std::string_view of) {
    const auto line = of.substr(start, of.find('\n', start) - start);
    return line.empty() ? "no tensor" : "\"" + std::string(line) + "\"";
  };
  return tensor(saved) + " (name, rows, columns) where the scenario's " + std::string(what) + " has " + tensor(asked);
}

}  // namespace

result<void> check_signature(capnp::Text::Reader found, const std::string& asked, std::string_view what,
                             const std::filesystem::path& file) {
  const std::string_view saved(found.cStr(), found.size());
  if (saved == asked) return {};
  return fail(
      error::kind::usage, file.string(),
      "the checkpoint has a different " + std::string(what) + ": it has " + first_difference(saved, asked, what),
      "use the " + std::string(what) + " settings and data that the run started with, or start a new run");
}

result<models::shared_parameters> read_added(capnp::Data::Reader from, const models::layout_ptr& layout,
                                             const std::filesystem::path& file) {
  if (layout == nullptr || layout->count() == 0) return models::shared_parameters();
  models::shared_parameters added(layout);
  if (!copy_floats(from, added.values()))
    return unreadable(file, "the algorithm's tensors have " + std::to_string(from.size()) + " bytes instead of " +
                                std::to_string(layout->size() * sizeof(float)));
  return added;
}

}  // namespace furlong::storage::detail
