#include "tools/runs/event_file.hpp"

#include <cstring>
#include <string_view>

#include "base/crc.hpp"

namespace furlong::tools {

namespace {

/// Types of Protocol Buffers' fields, of those that events have.
enum wire_type : std::uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Numbers of the fields of tensorflow.Event, Summary and Summary.Value.
constexpr std::uint32_t event_wall_time = 1;
constexpr std::uint32_t event_step_number = 2;
constexpr std::uint32_t event_file_version = 3;
constexpr std::uint32_t event_summary = 5;
constexpr std::uint32_t summary_value = 1;
constexpr std::uint32_t value_tag = 1;
constexpr std::uint32_t value_simple = 2;

template <class T>
void append_raw(std::string& buffer, T value) {
  buffer.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_varint(std::string& buffer, std::uint64_t value) {
  for (; value >= 0x80U; value >>= 7U) buffer += static_cast<char>((value & 0x7FU) | 0x80U);
  buffer += static_cast<char>(value);
}

void append_key(std::string& buffer, std::uint32_t field, wire_type type) { append_varint(buffer, field << 3U | type); }

void append_bytes(std::string& buffer, std::uint32_t field, std::string_view value) {
  append_key(buffer, field, wire_type::bytes);
  append_varint(buffer, value.size());
  buffer += value;
}

std::string event_head(double wall_time, std::int64_t step) {
  std::string event;
  append_key(event, event_wall_time, fixed64);
  append_raw(event, wall_time);
  append_key(event, event_step_number, varint);
  append_varint(event, static_cast<std::uint64_t>(step));
  return event;
}

std::uint32_t masked(std::uint32_t sum) { return ((sum >> 15U) | (sum << 17U)) + 0xA282EAD8U; }

void append_record(std::string& buffer, const std::string& data) {
  std::string length;
  append_raw(length, std::uint64_t{data.size()});
  buffer += length;
  append_raw(buffer, masked(crc<crc32c_polynomial>(length)));
  buffer += data;
  append_raw(buffer, masked(crc<crc32c_polynomial>(data)));
}

}  // namespace

std::string event_file(const std::vector<event_step>& steps) {
  std::string file;
  auto first = event_head(steps.empty() ? 0.0 : steps.front().wall_time, 0);
  append_bytes(first, event_file_version, "brain.Event:2");
  append_record(file, first);
  for (const auto& step : steps) {
    std::string summary;
    for (const auto& [tag, figure] : step.figures) {
      std::string value;
      append_bytes(value, value_tag, tag);
      append_key(value, value_simple, fixed32);
      append_raw(value, figure);
      append_bytes(summary, summary_value, value);
    }
    auto event = event_head(step.wall_time, step.step);
    append_bytes(event, event_summary, summary);
    append_record(file, event);
  }
  return file;
}

}  // namespace furlong::tools
