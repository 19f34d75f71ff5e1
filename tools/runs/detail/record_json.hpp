// Reads the JSON of a run's files: members, figures, lines.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tools/runs/run_record.hpp"

namespace furlong::tools::detail {

using nlohmann::ordered_json;

/// What is wrong with an object of a file; caught where the place is known.
struct damage {
  std::string why;
};

[[noreturn]] void complain(const std::string& key, const std::string& wanted);

/// A member that must be there. `before`: stands before its key in messages.
[[nodiscard]] const ordered_json& member(const ordered_json& object, const std::string& key,
                                         const std::string& before = {});
[[nodiscard]] std::uint64_t whole(const ordered_json& value, const std::string& key);
/// Null is NaN: JSON has no other word for what is not finite.
[[nodiscard]] double number(const ordered_json& value, const std::string& key);
/// A text; a number as it is written.
[[nodiscard]] std::string text_of(const ordered_json& value, const std::string& key);
/// The same of a member that may be missing: then it is empty.
[[nodiscard]] std::string text_at(const ordered_json& object, const std::string& key);
/// Calls `take` with each object of a list and what stands before its members' keys.
void each(const ordered_json& object, const std::string& key, const std::string& before,
          const std::function<void(const ordered_json&, const std::string&)>& take);

/// Whether the figure of this key is a count.
[[nodiscard]] bool is_count(std::string_view key);
/// All numbers and truth values outside of lists; texts where they are wanted.
void read_figures(const ordered_json& object, const std::string& before, figure_set& figures,
                  std::map<std::string, std::string, std::less<>>* texts = nullptr);

/// Fails (kind data) for what is no JSON object.
[[nodiscard]] result<ordered_json> parse_object(std::string_view text, const std::string& place);
/// The whole file; nothing where there is none.
[[nodiscard]] result<std::optional<std::string>> read_file(const std::filesystem::path& file);

/// Calls `take`; what it throws becomes an error at that place.
template <class Take>
result<void> guarded(const std::string& place, const Take& take) {
  try {
    return take();
  } catch (const damage& why) {
    return fail(error::kind::data, place, why.why);
  }
}

/// Calls `take` with every line that is not empty and its place. A last line without a line end that is no JSON was cut
/// off by the end of the process; with `torn_is_fine` it is left out, and the result is true.
[[nodiscard]] result<bool> each_line(std::string_view text, const std::filesystem::path& file, bool torn_is_fine,
                                     const std::function<result<void>(const ordered_json&, const std::string&)>& take);

}  // namespace furlong::tools::detail
