#include "scenarios/traces/trace_file.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <tuple>
#include <utility>

#include "base/durable_file.hpp"
#include "base/function_ref.hpp"
#include "base/utf8.hpp"
#include "scenarios/data/mapped_file.hpp"

namespace furlong::scenarios {

using federated::virtual_time;

namespace {

using federated::availability_trace;
using federated::virtual_time;

constexpr std::string_view header = "client,start,end";
constexpr const char* expected =
    "expected client,start,end: a whole number, and seconds from 0 to a century with the start before the end, such as "
    "0,3600,7200.5";

void skip_blanks(std::string_view& text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

bool take_whole(std::string_view& text, std::uint32_t& value) {
  skip_blanks(text);
  const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (why != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  skip_blanks(text);
  return true;
}

/// Parses one interval line; returns the reason for failure, or nothing.
const char* take_interval(std::string_view line, trace_builder& into) {
  std::uint32_t client = 0;
  virtual_time start = 0;
  virtual_time end = 0;
  if (!take_whole(line, client)) return "the client is not a whole number below 2^32";
  if (!take(line, ',')) return "there is no comma after the client";
  skip_blanks(line);
  if (line.starts_with('-')) return "the start is negative";
  if (!take_seconds(line, start)) return "the start is not a number of seconds up to a century";
  if (!take(line, ',')) return "there is no comma after the start";
  skip_blanks(line);
  if (line.starts_with('-')) return "the end is negative";
  if (!take_seconds(line, end)) return "the end is not a number of seconds up to a century";
  if (!line.empty()) return "something follows the end";
  if (end <= start) return "the end does not lie after the start";
  into.add(client, start, end);
  return nullptr;
}

/// Reads the lines of a trace.
class trace_reader {
 public:
  trace_reader(std::string_view text, const std::string& name) : rest_(without_byte_order_mark(text)), name_(name) {}

  result<availability_trace> read() {
    intervals_.reserve(std::min(rest_.size() / 16, most_intervals));
    while (!rest_.empty()) {
      const auto line = next_line(rest_);
      ++number_;
      const auto why = take_line(line);
      if (why != nullptr) return refuse(std::string("found ") + shown(line) + ": " + why);
      if (intervals_.size() > most_intervals)
        return refuse("the file has more than 100 million intervals", "split it, or record longer ones");
    }
    return finish();
  }

 private:
  tl::unexpected<error> refuse(std::string reason, std::string fix = expected) const {
    return fail(error::kind::data, name_ + ":" + std::to_string(number_), std::move(reason), std::move(fix));
  }

  const char* take_line(std::string_view line) {
    skip_blanks(line);
    if (line.empty()) return nullptr;
    if (line.front() == '#') return take_comment(line.substr(1));
    const bool first = !std::exchange(begun_, true);
    if (first && line == header) return nullptr;
    return take_interval(line, intervals_);
  }

  /// "length = SECONDS" or "clients = N"; other comments are ignored.
  const char* take_comment(std::string_view text) {
    skip_blanks(text);
    const auto is = text.find('=');
    if (is == std::string_view::npos) return nullptr;
    auto key = text.substr(0, is);
    while (key.ends_with(' ')) key.remove_suffix(1);
    auto value = text.substr(is + 1);
    if (key == "length") {
      virtual_time length = 0;
      if (!take_seconds(value, length) || !value.empty() || length == 0)
        return "the length is no number of seconds above 0";
      length_ = length;
      length_line_ = number_;
    } else if (key == "clients") {
      std::uint32_t clients = 0;
      if (!take_whole(value, clients) || !value.empty() || clients == 0) return "this is no number of clients";
      if (clients > most_intervals) return "there are at most 100 million clients";
      clients_ = clients;
      clients_line_ = number_;
    }
    return nullptr;
  }

  result<availability_trace> finish() {
    if (intervals_.size() == 0 && clients_ == 0)
      return fail(error::kind::data, name_, "the file has no interval", expected);
    if (length_ != 0 && intervals_.last_end() > length_) {
      number_ = length_line_;
      return refuse("the length is " + seconds_text(length_) + " s, and an interval ends at " +
                        seconds_text(intervals_.last_end()) + " s",
                    "make it at least the last end");
    }
    if (clients_ != 0 && intervals_.clients() > clients_) {
      number_ = clients_line_;
      return refuse("there are said to be " + std::to_string(clients_) + " clients, and one is number " +
                        std::to_string(intervals_.clients() - 1),
                    "clients are numbered from 0; leave the line out when they are not");
    }
    return intervals_.build(clients_, length_);
  }

  std::string_view rest_;
  const std::string& name_;
  std::uint64_t number_ = 0;
  bool begun_ = false;
  trace_builder intervals_;
  virtual_time length_ = 0;
  std::uint64_t length_line_ = 0;
  std::uint32_t clients_ = 0;
  std::uint64_t clients_line_ = 0;
};

constexpr virtual_time microseconds_per_hour = 3600 * federated::microseconds_per_second;
using hours = std::array<double, 24>;

/// Adds the seconds of [start, end) to the hours of the day.
void spread(virtual_time start, virtual_time end, hours& over) {
  while (start < end) {
    const auto hour = start / microseconds_per_hour;
    const auto next = std::min(end, (hour + 1) * microseconds_per_hour);
    over[static_cast<std::size_t>(hour % 24)] += federated::to_seconds(next - start);
    start = next;
  }
}

/// Calls `write` for each line until it fails.
file_outcome write_lines(const availability_trace& trace, function_ref<file_outcome(std::string_view)> write) {
  auto written = write("# length = " + seconds_text(trace.length) + "\n# clients = " + std::to_string(trace.devices()) +
                       "\n" + std::string(header) + "\n");
  for (std::size_t device = 0; device < trace.devices(); ++device)
    for (auto i = trace.offsets[device]; written && i < trace.offsets[device + 1]; ++i)
      written = write(std::to_string(device) + "," + seconds_text(trace.starts[i]) + "," + seconds_text(trace.ends[i]) +
                      "\n");
  return written;
}

}  // namespace

bool take_seconds(std::string_view& text, virtual_time& time) {
  skip_blanks(text);
  const char* cursor = text.data();
  const char* const end = cursor + text.size();
  std::int64_t whole = 0;
  int digits = 0;
  for (; cursor != end && *cursor >= '0' && *cursor <= '9'; ++cursor, ++digits)
    if (whole <= latest_in_trace / federated::microseconds_per_second) whole = whole * 10 + (*cursor - '0');
  std::int64_t micros = 0;
  if (cursor != end && *cursor == '.') {
    std::int64_t unit = federated::microseconds_per_second;
    for (++cursor; cursor != end && *cursor >= '0' && *cursor <= '9'; ++cursor, ++digits) {
      if (unit == 1 && *cursor >= '5') ++micros;  // rounds by the seventh decimal
      unit /= 10;
      micros += unit * (*cursor - '0');
    }
  }
  if (digits == 0 || whole > latest_in_trace / federated::microseconds_per_second) return false;
  time = whole * federated::microseconds_per_second + micros;
  text.remove_prefix(static_cast<std::size_t>(cursor - text.data()));
  skip_blanks(text);
  return time <= latest_in_trace;
}

std::string seconds_text(virtual_time time) {
  auto text = std::to_string(time / federated::microseconds_per_second);
  auto micros = std::to_string(time % federated::microseconds_per_second);
  if (micros == "0") return text;
  micros.insert(0, 6 - micros.size(), '0');
  while (micros.back() == '0') micros.pop_back();
  return text + "." + micros;
}

result<availability_trace> read_trace(std::string_view text, const std::string& name) {
  return trace_reader(text, name).read();
}

result<availability_trace> read_trace(const std::filesystem::path& path) {
  const auto file = open_text(path);
  if (!file) return tl::unexpected(file.error());
  return read_trace(file->bytes(), path.string());
}

result<void> write_trace(const availability_trace& trace, const std::filesystem::path& path) {
  // A regular file is replaced by one with the same permissions; anything else, such as a pipe or a link, is written in
  // place.
  std::error_code failed;
  const auto present = std::filesystem::symlink_status(path, failed);
  const bool is_file = std::filesystem::is_regular_file(present);
  bool written = false;
  if (is_file || !std::filesystem::exists(present)) {
    const auto mode = is_file ? file_mode{static_cast<unsigned>(present.permissions()), true} : file_mode{};
    const auto outcome = durable_file::begin(path, mode, ".part").and_then([&](durable_file file) {
      return write_lines(trace, [&](std::string_view line) { return file.write(line); }).and_then([&] {
        return file.replace();
      });
    });
    written = outcome || outcome.error().step == file_step::open_path;  // a folder may have no right to be listed
  } else {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    static_cast<void>(write_lines(trace, [&](std::string_view line) {
      out << line;
      return file_outcome();
    }));
    out.close();
    written = out.good();
  }
  if (written) return {};
  return fail(error::kind::data, path.string(), "cannot be written",
              "name a file in a folder that exists and has room");
}

using federated::availability_trace;
using federated::virtual_time;

virtual_time trace_builder::last_end() const {
  virtual_time last = 0;
  for (const auto& entry : intervals_) last = std::max(last, entry.end);
  return last;
}

std::uint64_t trace_builder::clients() const {
  std::uint64_t past = 0;
  for (const auto& entry : intervals_) past = std::max(past, std::uint64_t{entry.client} + 1);
  return past;
}

availability_trace trace_builder::build(std::uint32_t clients, virtual_time length) {
  const auto before = [](const interval& a, const interval& b) {
    return std::tie(a.client, a.start) < std::tie(b.client, b.start);
  };
  if (!std::ranges::is_sorted(intervals_, before)) std::ranges::sort(intervals_, before);
  availability_trace trace;
  trace.length = length == 0 ? whole_days(last_end()) : length;
  trace.starts.reserve(intervals_.size());
  trace.ends.reserve(intervals_.size());
  trace.offsets.push_back(0);
  auto position = intervals_.begin();
  std::uint64_t client = 0;
  while (clients == 0 ? position != intervals_.end() : client < clients) {
    if (clients == 0) client = position->client;
    const auto first = trace.starts.size();
    for (; position != intervals_.end() && position->client == client; ++position) {
      if (trace.starts.size() > first && position->start <= trace.ends.back()) {
        trace.ends.back() = std::max(trace.ends.back(), position->end);
      } else {
        trace.starts.push_back(position->start);
        trace.ends.push_back(position->end);
      }
    }
    trace.offsets.push_back(trace.starts.size());
    ++client;
  }
  intervals_ = {};
  return trace;
}

trace_facts describe(const federated::availability_trace& trace) {
  trace_facts facts;
  facts.devices = trace.devices();
  facts.intervals = trace.starts.size();
  facts.length = trace.length;
  for (std::size_t device = 0; device < trace.devices(); ++device)
    facts.never_available += trace.offsets[device] == trace.offsets[device + 1] ? 1 : 0;
  hours available{};
  double seconds = 0.0;
  for (std::size_t i = 0; i < trace.starts.size(); ++i) {
    const auto span = trace.ends[i] - trace.starts[i];
    spread(trace.starts[i], trace.ends[i], available);
    facts.longest = std::max(facts.longest, span);
    seconds += federated::to_seconds(span);
  }
  if (facts.intervals != 0) facts.mean_interval = seconds / static_cast<double>(facts.intervals);
  const auto devices = static_cast<double>(facts.devices);
  if (facts.devices == 0 || trace.length == 0) return facts;
  facts.mean_availability = seconds / (devices * federated::to_seconds(trace.length));
  hours there_are{};
  spread(0, trace.length, there_are);
  for (std::size_t hour = 0; hour < 24; ++hour)
    if (there_are[hour] > 0.0) facts.by_hour[hour] = available[hour] / (devices * there_are[hour]);
  return facts;
}

}  // namespace furlong::scenarios
