#include "tools/runs/detail/record_json.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

namespace furlong::tools::detail {

[[noreturn]] void complain(const std::string& key, const std::string& wanted) {
  throw damage{"\"" + key + "\" must be " + wanted};
}

const ordered_json& member(const ordered_json& object, const std::string& key, const std::string& before) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) throw damage{"has no \"" + before + key + "\""};
  return *found;
}

std::uint64_t whole(const ordered_json& value, const std::string& key) {
  if (!value.is_number_unsigned()) complain(key, "a whole number of 0 or more");
  return value.get<std::uint64_t>();
}

double number(const ordered_json& value, const std::string& key) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) complain(key, "a number");
  return value.get<double>();
}

std::string text_of(const ordered_json& value, const std::string& key) {
  if (!value.is_string() && !value.is_number()) complain(key, "a text");
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string text_at(const ordered_json& object, const std::string& key) {
  return object.contains(key) && !object[key].is_null() ? text_of(object[key], key) : std::string();
}

void each(const ordered_json& object, const std::string& key, const std::string& before,
          const std::function<void(const ordered_json&, const std::string&)>& take) {
  if (!object.contains(key) || object[key].is_null()) return;
  if (!object[key].is_array()) complain(before + key, "a list of objects");
  for (std::size_t i = 0; i < object[key].size(); ++i) {
    const auto name = before + key + "[" + std::to_string(i) + "]";
    if (!object[key][i].is_object()) complain(name, "an object");
    take(object[key][i], name + ".");
  }
}

namespace {

template <std::size_t Count>
bool is_one_of(std::string_view key, const std::array<std::string_view, Count>& list) {
  return std::ranges::find(list, key) != list.end();
}

}  // namespace

bool is_count(std::string_view key) {
  constexpr std::array<std::string_view, 18> counts{"round",    "rounds",    "selected",        "folded",  "late",
                                                    "surplus",  "abandoned", "in_flight",       "probed",  "available",
                                                    "examples", "bytes_up",  "bytes_down",      "clients", "unscored",
                                                    "least",    "most",      "rounds_abandoned"};
  const auto name = key.starts_with("eval.") ? key.substr(key.rfind('.') + 1) : key;
  return is_one_of(name, counts) || key.starts_with("rejected.") || key.starts_with("dropped.");
}

namespace {

bool is_object(std::string_view key) {
  return key == "eval" || (key.starts_with("eval.") && is_one_of(key.substr(5), evaluation_groups));
}

bool is_figure(std::string_view key) {
  constexpr std::array<std::string_view, 4> figures{"began", "ended", "loss", "change_norm"};
  return is_one_of(key, figures) || key.starts_with("eval.") || key.starts_with("participation.");
}

}  // namespace

void read_figures(const ordered_json& object, const std::string& before, figure_set& figures,
                  std::map<std::string, std::string, std::less<>>* texts) {
  for (const auto& item : object.items()) {
    const auto key = before + item.key();
    const auto& value = item.value();
    if (is_object(key) && !value.is_object() && !value.is_null()) complain(key, "an object");
    if (value.is_object()) {
      if (key != "attention") read_figures(value, key + ".", figures, texts);
    } else if (value.is_boolean()) {
      figures.figures[key] = value.get<bool>() ? 1.0 : 0.0;
    } else if (value.is_number() || value.is_null()) {
      figures.figures[key] =
          is_count(key) && !value.is_null() ? static_cast<double>(whole(value, key)) : number(value, key);
    } else if (is_count(key) || (is_figure(key) && !value.is_array())) {
      complain(key, is_count(key) ? "a whole number of 0 or more" : "a number");
    } else if (value.is_string() && texts != nullptr) {
      (*texts)[key] = value.get<std::string>();
    }
  }
}

result<ordered_json> parse_object(std::string_view text, const std::string& place) {
  ordered_json parsed;
  try {
    parsed = ordered_json::parse(text);
  } catch (const ordered_json::exception& why) {
    const auto* syntax = dynamic_cast<const ordered_json::parse_error*>(&why);
    const auto where = syntax != nullptr ? " at byte " + std::to_string(syntax->byte) : std::string();
    return fail(error::kind::data, place, "is not valid JSON" + where,
                "restore the file, or delete what is damaged and run again");
  }
  if (!parsed.is_object()) return fail(error::kind::data, place, "is no JSON object");
  return parsed;
}

result<std::optional<std::string>> read_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  std::ifstream input(file, std::ios::binary);
  std::ostringstream text;
  if (!input || (input.peek() != std::ifstream::traits_type::eof() && !(text << input.rdbuf())) || input.bad())
    return fail(error::kind::data, file.string(), "cannot be read: " + std::string(std::strerror(errno)));
  return std::move(text).str();
}

result<bool> each_line(std::string_view text, const std::filesystem::path& file, bool torn_is_fine,
                       const std::function<result<void>(const ordered_json&, const std::string&)>& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto place = file.string() + ":" + std::to_string(number);
    const auto object = parse_object(line, place);
    if (!object && end == std::string_view::npos && torn_is_fine) return true;
    if (!object) return tl::unexpected(object.error());
    if (auto taken = guarded(place, [&] { return take(*object, place); }); !taken) return tl::unexpected(taken.error());
  }
  return false;
}

}  // namespace furlong::tools::detail
