// Strict JSON parsing and its values in messages.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/data/mapped_file.hpp"

namespace furlong::scenarios::detail {

/// A text, a whole number, true or false as text; empty for other values.
[[nodiscard]] inline std::optional<std::string> text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() || value.is_boolean()) return value.dump();
  return std::nullopt;
}

/// A value for a message (shown()). Lists and objects are not printed: the library does so by recursion, and a file can
/// be nested deeper than the stack allows.
[[nodiscard]] inline std::string brief(const nlohmann::json& value) {
  return value.is_array() ? "a list" : value.is_object() ? "an object" : shown(value.dump());
}

/// Consumes a document and stops at the first duplicate member of an object.
class member_check final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::optional<std::string> repeated;

  bool key(string_t& name) override {
    if (members_.back().insert(name).second) return true;
    repeated = name;
    return false;
  }
  bool start_object(std::size_t) override {
    members_.emplace_back();
    return true;
  }
  bool end_object() override {
    members_.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  std::vector<std::set<std::string>> members_;
};

/// Parses text and rejects duplicate members of an object: the library would silently keep the last one.
/// @param repeated the first duplicate member
/// @throws nlohmann::json::exception as nlohmann::json::parse does
[[nodiscard]] inline nlohmann::json parse_members(std::string_view text, std::optional<std::string>& repeated) {
  auto document = nlohmann::json::parse(text);
  member_check check;
  static_cast<void>(nlohmann::json::sax_parse(text, &check));
  repeated = std::move(check.repeated);
  return document;
}

}  // namespace furlong::scenarios::detail
