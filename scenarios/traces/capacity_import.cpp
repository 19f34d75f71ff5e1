#include "scenarios/traces/capacity_import.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/utf8.hpp"
#include "scenarios/data/detail/file_errors.hpp"
#include "scenarios/data/detail/json_text.hpp"
#include "scenarios/data/mapped_file.hpp"

namespace furlong::scenarios {

namespace {

using federated::device_table;
using nlohmann::json;

constexpr const char* capacity_format =
    "expected one JSON object of devices by name, such as {\"1\": {\"computation\": 162.0, \"communication\": 6271.0}}";
constexpr double kbit_per_mbit = 1000.0;

/// Reads the devices of an object, one at a time.
class capacity_reader {
 public:
  /// Returns the reason for failure, or nothing.
  std::string read(std::string_view text) {
    std::string name;
    bool is_object = false;
    const auto take = [&](int depth, json::parse_event_t event, json& parsed) {
      if (depth == 0 && event == json::parse_event_t::object_start) is_object = true;
      if (depth != 1 || !is_object) return true;
      if (event == json::parse_event_t::key) name = parsed.get<std::string>();
      const bool ends = event == json::parse_event_t::object_end || event == json::parse_event_t::array_end ||
                        event == json::parse_event_t::value;
      if (ends && why_.empty()) take_device(name, parsed);
      return !ends;
    };
    const auto whole = json::parse(without_byte_order_mark(text), take, false);
    if (!why_.empty()) return why_;
    if (!whole.is_object()) return "is not a JSON object";
    return table_.devices == 0 ? "has no device" : "";
  }

  [[nodiscard]] const device_table& table() const { return table_; }
  [[nodiscard]] const std::unordered_map<std::string, std::size_t>& rows() const { return rows_; }

 private:
  void take_device(const std::string& name, const json& device) {
    const auto row = table_.devices++;
    if (!rows_.try_emplace(name, row).second) why_ = "has device " + shown(name) + " twice";
    if (!device.is_object()) why_ = "device " + shown(name) + " is " + detail::brief(device) + ", which is no object";
    table_.ms_per_example.push_back(take_number(name, device, "computation"));
    table_.mbit.push_back(take_number(name, device, "communication") / kbit_per_mbit);
  }

  double take_number(const std::string& name, const json& device, const char* key) {
    if (!why_.empty()) return 0.0;
    const auto found = device.find(key);
    const double value = found != device.end() && found->is_number() ? found->get<double>() : 0.0;
    if (!(value > 0.0 && value <= 1e300))
      why_ = "device " + shown(name) + " has " +
             (found == device.end() ? "no " + std::string(key)
                                    : std::string(key) + " " + detail::brief(*found) + ", which is no number above 0");
    return value;
  }

  device_table table_;
  std::unordered_map<std::string, std::size_t> rows_;
  std::string why_;
};

std::string shortest(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace

result<device_table> import_capacities(std::string_view text, const std::string& name,
                                       const std::vector<std::string>& order) {
  capacity_reader reader;
  if (const auto why = reader.read(text); !why.empty()) return detail::refuse(name, why, capacity_format);
  const auto& table = reader.table();
  if (order.empty()) return table;
  if (table.devices < order.size())
    return detail::refuse(
        name, "has " + std::to_string(table.devices) + " devices, and the trace " + std::to_string(order.size()),
        "name the trace of the same devices, or leave out --trace: rows are used again from the first");
  const bool by_name = std::ranges::none_of(order, &std::string::empty);
  device_table matched;
  matched.devices = order.size();
  for (std::size_t device = 0; device < order.size(); ++device) {
    auto row = device;
    if (by_name) {
      const auto found = reader.rows().find(order[device]);
      if (found == reader.rows().end())
        return detail::refuse(name, "has no device " + shown(order[device]) + ", which the trace has",
                              "name the trace of the same devices, or add it");
      row = found->second;
    }
    matched.ms_per_example.push_back(table.ms_per_example[row]);
    matched.mbit.push_back(table.mbit[row]);
  }
  return matched;
}

result<device_table> import_capacities(const std::filesystem::path& path, const std::vector<std::string>& order) {
  const auto file = open_text(path);
  if (!file) return tl::unexpected(file.error());
  return import_capacities(file->bytes(), path.string(), order);
}

std::string device_csv(const device_table& table) {
  std::string text = "client,ms_per_example,mbit\n";
  for (std::size_t device = 0; device < table.devices; ++device)
    text += std::to_string(device) + "," + shortest(table.ms_per_example[device]) + "," + shortest(table.mbit[device]) +
            "\n";
  return text;
}

}  // namespace furlong::scenarios
