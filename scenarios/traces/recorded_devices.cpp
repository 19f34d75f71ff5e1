#include "scenarios/traces/recorded_devices.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/utf8.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/traces/trace_file.hpp"

namespace furlong::scenarios {

namespace {

using federated::virtual_time;

constexpr std::int64_t seconds_per_day = 86'400;

/// The digits of `text` at [at, at + size) as a number; -1 if one is not a digit.
int number_at(std::string_view text, std::size_t position, std::size_t size) {
  int value = 0;
  for (const char c : text.substr(position, size)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<std::int64_t> seconds_of(std::string_view text) {
  if (text.size() != 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') ||
      text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const int year = number_at(text, 0, 4);
  const int month = number_at(text, 5, 2);
  const int day = number_at(text, 8, 2);
  const int hour = number_at(text, 11, 2);
  const int minute = number_at(text, 14, 2);
  const int second = number_at(text, 17, 2);
  if (year < 1970 || month < 0 || day < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 59)
    return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * seconds_per_day + hour * 3600 + minute * 60 + second;
}

bool is_battery_level(std::string_view state) {
  return state.ends_with('%') && parse_number<double>(state.substr(0, state.size() - 1)).has_value();
}

bool is_known(std::string_view state) {
  static constexpr std::array known = {"battery_charged_on",
                                       "battery_charged_off",
                                       "battery_low",
                                       "battery_okay",
                                       "screen_on",
                                       "screen_off",
                                       "screen_lock",
                                       "screen_unlock",
                                       "phone_on",
                                       "phone_off",
                                       "wifi",
                                       "unknown",
                                       "2g",
                                       "3g",
                                       "4g",
                                       "5g"};
  return std::ranges::find(known, state) != known.end() || is_battery_level(state);
}

/// The device state for FLASH's criterion. A device with unknown state is not available.
struct device_state {
  bool charging = false;
  bool wifi = false;
  bool screen_off = false;
  bool locked = false;

  void apply(std::string_view state) {
    if (state.starts_with("battery_charged")) charging = state == "battery_charged_on";
    if (state == "wifi") wifi = true;
    if (state == "unknown" || (state.size() == 2 && state[1] == 'g')) wifi = false;
    if (state == "screen_off") screen_off = true;
    if (state == "screen_on") screen_off = false;
    if (state == "screen_lock") locked = true;
    if (state == "screen_unlock") locked = false;
    if (state == "phone_off") *this = {};
  }
  [[nodiscard]] bool available() const { return charging && wifi && (screen_off || locked); }
};

/// Adds [start, end), seconds since midnight of the first day, within the period; wraps around at its end.
void add_wrapped(std::int64_t start, std::int64_t end, recorded_device& out) {
  const auto first = start * federated::microseconds_per_second % out.period;
  const auto last = first + (end - start) * federated::microseconds_per_second;
  out.intervals.emplace_back(first, std::min(last, out.period));
  if (last > out.period) out.intervals.emplace_back(0, last - out.period);
}

}  // namespace

std::string pair_up(const std::vector<virtual_time>& active, const std::vector<virtual_time>& inactive,
                    virtual_time finish, recorded_device& out) {
  auto starts = active;
  auto ends = inactive;
  const bool begins_active = !starts.empty() && !ends.empty() && ends.front() < starts.front();
  if (begins_active || ends.size() == starts.size() + 1) starts.insert(starts.begin(), 0);
  out.period = finish;
  for (const auto* times : {&starts, &ends})
    for (const auto time : *times)
      if (finish == 0) out.period = std::max(out.period, time);
  if (starts.size() == ends.size() + 1) ends.push_back(std::max(out.period, starts.back()));
  if (starts.size() != ends.size())
    return "it becomes active " + std::to_string(active.size()) + " times and inactive " +
           std::to_string(inactive.size()) + " times";
  if (out.period == 0) return "it has neither a finish_time nor a time above 0";
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (ends[i] < starts[i]) return "an interval ends before it starts (number " + std::to_string(i + 1) + ")";
    out.intervals.emplace_back(std::min(starts[i], out.period), std::min(ends[i], out.period));
  }
  return "";
}

std::string date_message(std::string_view time, std::string_view state, dated_message& out) {
  const auto second = seconds_of(time);
  if (!second) return shown(time) + " is no time such as 2020-02-04 05:26:17";
  out.second = *second;
  out.state.resize(state.size());
  std::ranges::transform(state, out.state.begin(), lower);
  if (!is_known(out.state)) return shown(state) + " is no known state";
  return "";
}

std::string replay(std::vector<dated_message> log, recorded_device& out) {
  if (log.empty()) return "it has no message";
  std::ranges::stable_sort(log, {}, &dated_message::second);
  const auto midnight = log.front().second / seconds_per_day * seconds_per_day;
  const auto span = (log.back().second - log.front().second) * federated::microseconds_per_second;
  if (span > latest_in_trace) return "its messages span more than a century";
  out.period = whole_days(span);
  device_state now;
  std::int64_t since = -1;  // no interval is open
  for (const auto& message : log) {
    now.apply(message.state);
    if (now.available() && since < 0) since = message.second - midnight;
    if (!now.available() && since >= 0) {
      add_wrapped(since, message.second - midnight, out);
      since = -1;
    }
  }
  if (since >= 0) add_wrapped(since, log.back().second - midnight, out);
  return "";
}

result<federated::availability_trace> repeat(const std::vector<recorded_device>& devices, const std::string& name) {
  virtual_time longest = 0;
  for (const auto& device : devices) longest = std::max(longest, device.period);
  const auto length = whole_days(longest);
  double intervals = 0.0;
  for (const auto& device : devices)
    if (!device.intervals.empty())
      intervals += static_cast<double>(device.intervals.size()) *
                   std::ceil(static_cast<double>(length) / static_cast<double>(device.period));
  if (intervals > static_cast<double>(most_intervals))
    return fail(error::kind::data, name,
                "repeating short devices up to " + std::to_string(length / microseconds_per_day) +
                    " days takes more than 100 million intervals",
                "leave out the devices of the shortest, or of the longest, records");
  trace_builder recorded;
  recorded.reserve(static_cast<std::size_t>(intervals));
  for (std::uint32_t device = 0; device < devices.size(); ++device) {
    const auto& own = devices[device];
    if (own.intervals.empty()) continue;
    for (virtual_time shift = 0; shift < length; shift += own.period)
      for (const auto& [start, end] : own.intervals) recorded.add(device, start + shift, std::min(end + shift, length));
  }
  return recorded.build(static_cast<std::uint32_t>(devices.size()), length);
}

}  // namespace furlong::scenarios
