#include "scenarios/traces/trace_import.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/utf8.hpp"
#include "scenarios/data/detail/json_text.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/text_table.hpp"
#include "scenarios/traces/recorded_devices.hpp"
#include "scenarios/traces/trace_file.hpp"

namespace furlong::scenarios {

namespace {

using federated::availability_trace;
using federated::virtual_time;
using nlohmann::json;

constexpr std::string_view fedscale_header = "client,active,inactive,finish_time";
constexpr std::string_view fedscale_short_header = "client,active,inactive";
constexpr std::string_view flash_header = "guid,time,state";
constexpr const char* formats =
    "expected a JSON object a line, with active, inactive and finish_time (FedScale) or with guid and messages "
    "(FLASH), or CSV that begins with client,active,inactive,finish_time or guid,time,state";

/// A device in a file before its interpretation.
struct raw_device {
  std::uint64_t line = 0;  ///< first line that names it
  std::string name;        ///< in the file; empty: it has none
  std::vector<virtual_time> active;
  std::vector<virtual_time> inactive;
  virtual_time finish = 0;
  std::vector<dated_message> log;
};

bool seconds_from(const json& value, virtual_time& time) {
  if (!value.is_number()) return false;
  const auto seconds = value.get<double>();
  if (!(seconds >= 0.0 && seconds <= federated::to_seconds(latest_in_trace))) return false;
  time = federated::from_seconds(seconds);
  return true;
}

std::string read_times(const json& record, const char* key, std::vector<virtual_time>& times) {
  const auto found = record.find(key);
  if (found == record.end() || !found->is_array()) return std::string("it has no list ") + key;
  for (const auto& value : *found)
    if (!seconds_from(value, times.emplace_back()))
      return std::string(key) + " holds " + detail::brief(value) + ", which is no number of seconds up to a century";
  return "";
}

std::string read_fedscale(const json& record, raw_device& out) {
  if (auto why = read_times(record, "active", out.active); !why.empty()) return why;
  if (auto why = read_times(record, "inactive", out.inactive); !why.empty()) return why;
  if (record.contains("finish_time") && (!seconds_from(record["finish_time"], out.finish) || out.finish == 0))
    return "finish_time is no number of seconds above 0";
  return "";
}

std::string read_flash(const json& record, raw_device& out) {
  const auto found = record.find("messages");
  if (found == record.end() || !found->is_string()) return "it has no text messages";
  std::string_view rest = found->get_ref<const std::string&>();
  while (!rest.empty()) {
    const auto line = trimmed(next_line(rest));
    if (line.empty()) continue;
    const auto tab = line.find('\t');
    if (tab == std::string_view::npos) return "the message " + shown(line) + " has no tab between time and state";
    auto why = date_message(trimmed(line.substr(0, tab)), trimmed(line.substr(tab + 1)), out.log.emplace_back());
    if (!why.empty()) return why;
  }
  return "";
}

/// Reads the devices of a file line by line.
class import_reader {
 public:
  import_reader(std::string_view text, const std::string& name, foreign_trace format)
      : rest_(without_byte_order_mark(text)), name_(name), format_(format) {}

  result<void> read() {
    bool lines_are_json = false;
    bool begun = false;
    while (!rest_.empty()) {
      const auto line = trimmed(next_line(rest_));
      ++number_;
      if (line.empty()) continue;
      std::string why;
      if (!std::exchange(begun, true)) {
        lines_are_json = line.front() == '{';
        if (!lines_are_json && !take_header(line)) return refuse(number_, "found " + shown(line), formats);
        if (!lines_are_json) continue;
      }
      why = lines_are_json ? take_json(line) : take_row(line);
      if (!why.empty()) return refuse(number_, why, formats);
    }
    if (devices_.empty()) return fail(error::kind::data, name_, "the file has no device", formats);
    return {};
  }

  [[nodiscard]] std::vector<std::string> take_names() {
    std::vector<std::string> names;
    for (auto& device : devices_) names.push_back(std::move(device.name));
    return names;
  }

  result<availability_trace> finish() {
    std::vector<recorded_device> recorded(devices_.size());
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      auto& raw = devices_[i];
      const auto why = format_ == foreign_trace::flash ? replay(std::move(raw.log), recorded[i])
                                                       : pair_up(raw.active, raw.inactive, raw.finish, recorded[i]);
      if (!why.empty()) return refuse(raw.line, "the device that is named here first: " + why, "fix or remove it");
      raw = {};
    }
    return repeat(recorded, name_);
  }

 private:
  tl::unexpected<error> refuse(std::uint64_t line, std::string reason, std::string fix) const {
    return fail(error::kind::data, name_ + ":" + std::to_string(line), std::move(reason), std::move(fix));
  }

  /// Determines the format, or rejects one other than requested.
  bool settle(foreign_trace found) {
    if (format_ == foreign_trace::automatic) format_ = found;
    return format_ == found;
  }

  bool take_header(std::string_view line) {
    has_finish_ = line == fedscale_header;
    if (has_finish_ || line == fedscale_short_header) return settle(foreign_trace::fedscale);
    return line == flash_header && settle(foreign_trace::flash);
  }

  raw_device& device(const std::string& key) {
    const auto [found, is_new] = places_.try_emplace(key, devices_.size());
    if (is_new) devices_.emplace_back().line = number_;
    return devices_[found->second];
  }

  std::string take_json(std::string_view line) {
    std::vector<std::string> keys;  // in file order: those of `object` are sorted
    const auto note_key = [&keys](int depth, json::parse_event_t event, json& parsed) {
      if (depth == 1 && event == json::parse_event_t::key) keys.push_back(parsed.get<std::string>());
      return true;
    };
    const auto object = json::parse(line, note_key, false);
    if (!object.is_object()) return "found " + shown(line) + ", which is no JSON object";
    if (object.contains("messages") || object.contains("active")) return take_device("", object);
    // All devices of a file in one object, by name.
    for (const auto& key : keys) {
      const auto& value = object.at(key);
      if (!value.is_object()) return "found " + shown(line) + ", which is no device";
      if (auto why = take_device(key, value); !why.empty()) return why;
    }
    return "";
  }

  std::string take_device(const std::string& outer, const json& object) {
    const bool flash = object.contains("messages");
    if (!settle(flash ? foreign_trace::flash : foreign_trace::fedscale))
      return std::string("found a device of ") + (flash ? "FLASH" : "FedScale");
    std::string key = outer.empty() ? "line " + std::to_string(number_) : outer;
    bool has_name = !outer.empty();
    const char* const name = flash ? "guid" : "client";
    if (const auto named = object.find(name); named != object.end()) {
      const auto text = detail::text_of(*named);
      if (!text) return std::string(name) + " is " + detail::brief(*named) + ", which is no name";
      key = *text;
      has_name = true;
    }
    if (places_.contains(key))
      return "device " + shown(key) + " is on line " + std::to_string(device(key).line) + " already";
    auto& own = device(key);
    if (has_name) own.name = key;
    const auto why = flash ? read_flash(object, own) : read_fedscale(object, own);
    return why.empty() ? "" : "device " + shown(key) + ": " + why;
  }

  std::string take_row(std::string_view line) {
    std::array<std::string_view, 4> cells;
    std::size_t count = 0;
    for (auto rest = line; count < cells.size(); ++count) {
      const auto comma = rest.find(',');
      cells[count] = trimmed(rest.substr(0, comma));
      if (comma == std::string_view::npos) {
        ++count;
        break;
      }
      rest.remove_prefix(comma + 1);
      if (count + 1 == cells.size()) return "found " + shown(line) + ", which has too many columns";
    }
    const bool flash = format_ == foreign_trace::flash;
    if (count != (flash || !has_finish_ ? 3U : 4U)) return "found " + shown(line) + ", with another number of columns";
    auto& own = device(std::string(cells[0]));
    if (own.name.empty()) own.name = cells[0];
    if (flash) return date_message(cells[1], cells[2], own.log.emplace_back());
    return take_spell(line, cells, own);
  }

  std::string take_spell(std::string_view line, std::array<std::string_view, 4> cells, raw_device& own) const {
    virtual_time finish = 0;
    if (!take_seconds(cells[1], own.active.emplace_back()) || !cells[1].empty() ||
        !take_seconds(cells[2], own.inactive.emplace_back()) || !cells[2].empty() ||
        (has_finish_ && (!take_seconds(cells[3], finish) || !cells[3].empty() || finish == 0)))
      return "found " + shown(line) + ", where a time is no number of seconds up to a century";
    if (own.finish != 0 && own.finish != finish) return "found " + shown(line) + ", another finish_time than before";
    own.finish = finish;
    return "";
  }

  std::string_view rest_;
  const std::string& name_;
  foreign_trace format_;
  std::uint64_t number_ = 0;
  bool has_finish_ = false;
  std::vector<raw_device> devices_;
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace

result<availability_trace> import_trace(std::string_view text, const std::string& name, foreign_trace format) {
  import_reader reader(text, name, format);
  if (auto read = reader.read(); !read) return tl::unexpected(read.error());
  return reader.finish();
}

result<availability_trace> import_trace(const std::filesystem::path& path, foreign_trace format) {
  const auto file = open_text(path);
  if (!file) return tl::unexpected(file.error());
  return import_trace(file->bytes(), path.string(), format);
}

result<std::vector<std::string>> device_names(const std::filesystem::path& path) {
  const auto file = open_text(path);
  if (!file) return tl::unexpected(file.error());
  const auto name = path.string();
  import_reader reader(file->bytes(), name, foreign_trace::automatic);
  if (auto read = reader.read(); !read) return tl::unexpected(read.error());
  return reader.take_names();
}

}  // namespace furlong::scenarios
