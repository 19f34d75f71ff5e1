// Reads the members of a JSON object into figures, remembering the first thing that is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tools/report/run_record.hpp"

namespace furlong::tools {

/// Parses one JSON object. Fails (kind data) with the column of the damage.
[[nodiscard]] result<nlohmann::ordered_json> parse_object(std::string_view text, const std::string& place);

/// A reader of one object. A member that is missing or null leaves its target alone; one of the wrong type is an error,
/// told by check(). References must outlive the reader.
class json_fields {
 public:
  /// `path` names the object inside the file, for messages: empty, or "eval.seen.".
  json_fields(const nlohmann::ordered_json& object, std::string place, std::string path = {})
      : object_(object), place_(std::move(place)), path_(std::move(path)) {}

  /// A whole number >= 0.
  void read(const char* key, std::uint64_t& to);
  void read(const char* key, std::optional<std::uint64_t>& to);
  /// Any number; null is NaN.
  void read(const char* key, std::optional<double>& to);
  void read(const char* key, bool& to);
  void read(const char* key, std::optional<bool>& to);
  /// A text; a number is taken as it is written.
  void read(const char* key, std::string& to);
  /// An array of whole numbers.
  void read(const char* key, std::vector<std::uint64_t>& to);
  /// An object of whole numbers; of truth values.
  void read(const char* key, named_counts& to);
  void read(const char* key, std::map<std::string, bool, std::less<>>& to);
  void read(const char* key, std::optional<staleness_figures>& to);
  /// The metrics that this object has.
  void read(group_figures& to);
  /// An object by group.
  void read(const char* key, std::optional<evaluation_figures>& to);
  /// Calls `take` with a reader of an object, where there is one.
  void within(const char* key, const std::function<void(json_fields&)>& take);
  /// Calls `take` with a reader of each object of an array, in order.
  void each(const char* key, const std::function<void(json_fields&)>& take);
  /// Makes a missing member an error.
  void require(const char* key);

  /// The first error, if any.
  [[nodiscard]] result<void> check() const;

 private:
  [[nodiscard]] const nlohmann::ordered_json* find(const char* key) const;
  [[nodiscard]] const nlohmann::ordered_json* find_object(const char* key);
  void complain(std::string_view key, const std::string& wanted);
  void adopt(const json_fields& inner);
  [[nodiscard]] json_fields enter(const nlohmann::ordered_json& inner, std::string_view key) const;

  const nlohmann::ordered_json& object_;
  std::string place_;
  std::string path_;
  std::optional<error> problem_;
};

}  // namespace furlong::tools
