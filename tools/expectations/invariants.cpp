#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/expectations/expectations.hpp"

namespace furlong::tools {

namespace {

using json = nlohmann::ordered_json;

/// A number, or the sum of an object of numbers; 0 if missing.
std::int64_t count_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  if (found->is_number()) return found->get<std::int64_t>();
  std::int64_t sum = 0;
  for (const auto& [name, count] : found->items())
    if (count.is_number()) sum += count.template get<std::int64_t>();
  return sum;
}

/// Tasks with a known outcome, of a summary or of one round.
std::int64_t settled_of(const json& object) {
  std::int64_t sum = 0;
  for (const char* key : {"folded", "rejected", "late", "surplus", "dropped", "abandoned"})
    sum += count_of(object, key);
  return sum;
}

std::string sum_text(const json& object) {
  std::string text;
  for (const char* key : {"folded", "rejected", "late", "surplus", "dropped", "abandoned", "in_flight"})
    if (const auto count = count_of(object, key); count != 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : " + ", count, key);
  return text.empty() ? "0" : text;
}

finding judge_summary(const json& summary) {
  const auto selected = count_of(summary, "selected");
  const bool held = selected == settled_of(summary) + count_of(summary, "in_flight");
  return {held, fmt::format("accounting: {} selected {} {}", selected, held ? "=" : "is not", sum_text(summary))};
}

finding judge_rounds(const std::vector<json>& rounds, const json& summary) {
  const std::string text = "accounting of rounds: ";
  std::int64_t selected = 0;
  std::int64_t settled = 0;
  std::int64_t folded = 0;
  for (const auto& round : rounds) {
    selected += count_of(round, "selected");
    settled += settled_of(round);
    folded += count_of(round, "folded");
    if (selected != settled + count_of(round, "in_flight"))
      return {false, text + fmt::format("up to round {}, {} selected are not {} with a known end + {} in flight",
                                        count_of(round, "round"), selected, settled, count_of(round, "in_flight"))};
  }
  for (const auto& [key, sum] : {std::pair{"selected", selected}, std::pair{"folded", folded}})
    if (sum != count_of(summary, key))
      return {false, text + fmt::format("metrics.jsonl has {} {}, summary.json {}", sum, key, count_of(summary, key))};
  return {true, text + fmt::format("adds up after each of {}", rounds.size())};
}

/// The first task that is aggregated twice in a round's timeline; empty: none.
std::string folded_twice(const json& round) {
  const auto spans = round.find("spans");
  if (spans == round.end()) return {};
  std::set<std::pair<std::int64_t, double>> seen;
  for (const auto& span : *spans)
    if (span.value("outcome", "") == "folded" &&
        !seen.emplace(count_of(span, "client"), span.value("started", 0.0)).second)
      return fmt::format("client {} in round {}", count_of(span, "client"), count_of(round, "round"));
  return {};
}

finding judge_folded_once(const std::vector<json>& rounds, const json& summary) {
  const std::string text = "folded once: ";
  for (const auto& round : rounds)
    if (const auto clients = folded_twice(round); !clients.empty())
      return {false, text + "twice the update of " + clients};
  const auto records = summary.find("participation");
  if (records == summary.end()) return {true, text + "no task twice in a timeline"};
  if (const auto over = count_of(*records, "overcounted"); over != 0)
    return {false, text + fmt::format("{} clients have more folded updates than tasks", over)};
  for (const auto& [record, key] : {std::pair{"tasks", "selected"}, std::pair{"updates", "folded"}})
    if (count_of(*records, record) != count_of(summary, key))
      return {false, text + fmt::format("the clients' records have {} {}, the run counts {} {}",
                                        count_of(*records, record), record, count_of(summary, key), key)};
  return {true, text + fmt::format("{} updates of {} tasks, as the clients' records have it",
                                   count_of(*records, "updates"), count_of(*records, "tasks"))};
}

bool has_files(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored))
    if (entry.is_regular_file(ignored)) return true;
  return false;
}

finding judge_private(const std::filesystem::path& run, const json& summary) {
  const auto clients = count_of(summary, "private_clients");
  const auto text =
      fmt::format("private values: {} clients have some under {}", clients, summary.value("algorithm", ""));
  if (summary.value("private_state", false)) return {true, text};
  if (has_files(run / "private")) return {false, text + ", and private/ holds files"};
  return {clients == 0, text};
}

/// The path of the first null, which is JSON for a number that is not finite; empty: none.
std::string not_finite(const json& object, const std::string& path) {
  if (object.is_null()) return path;
  if (!object.is_structured()) return {};
  for (const auto& [key, value] : object.items())
    if (auto where = not_finite(value, path + (path.empty() ? "" : ".") + key); !where.empty()) return where;
  return {};
}

finding judge_finite(const std::vector<json>& rounds, const json& summary) {
  if (const auto where = not_finite(summary, ""); !where.empty()) return {false, "finite: " + where + " is not"};
  for (const auto& round : rounds)
    if (const auto where = not_finite(round, ""); !where.empty())
      return {false, fmt::format("finite: {} of round {} is not", where, count_of(round, "round"))};
  return {true, "finite: all numbers"};
}

/// Calls `take` with each line of a file.
result<void> each_line(const std::filesystem::path& file, const std::function<void(json)>& take) {
  std::ifstream input(file, std::ios::binary);
  if (!input) return fail(error::kind::data, file.string(), "cannot be read");
  std::size_t number = 0;
  for (std::string line; std::getline(input, line);) {
    ++number;
    auto parsed = json::parse(line, nullptr, false);
    if (!parsed.is_object())
      return fail(error::kind::data, fmt::format("{}:{}", file.string(), number), "is no JSON object");
    take(std::move(parsed));
  }
  return {};
}

result<finding> judge_time(const std::vector<json>& rounds, const std::filesystem::path& events) {
  double now = 0.0;
  for (const auto& round : rounds) {
    const double ended = round.value("ended", now);
    const double least = std::max(now, round.value("began", 0.0));
    if (ended < least)
      return finding{false, fmt::format("time: round {} ends at {} s, and {} s was before", count_of(round, "round"),
                                        ended, least)};
    now = ended;
  }
  double last = 0.0;
  finding found{true, fmt::format("time: goes forward, to {} s", now)};
  auto read = each_line(events, [&](const json& event) {
    const double time = event.value("time", last);
    if (time < last && found.held)
      found = {false, fmt::format("time: an event at {} s comes after one at {} s", time, last)};
    last = time;
  });
  if (!read) return tl::unexpected(read.error());
  return found;
}

}  // namespace

result<findings> judge_invariants(const std::filesystem::path& run) {
  std::ifstream input(run / "summary.json", std::ios::binary);
  const auto summary = json::parse(input, nullptr, false);
  if (!summary.is_object()) return fail(error::kind::data, (run / "summary.json").string(), "is missing or no JSON");
  std::vector<json> rounds;
  auto read = each_line(run / "metrics.jsonl", [&](json line) { rounds.push_back(std::move(line)); });
  if (!read) return tl::unexpected(read.error());
  auto time = judge_time(rounds, run / "events.jsonl");
  if (!time) return tl::unexpected(time.error());
  findings found{judge_summary(summary),      judge_rounds(rounds, summary), judge_folded_once(rounds, summary),
                 judge_private(run, summary), judge_finite(rounds, summary), std::move(*time)};
  for (auto& judged : found) judged.name = judged.text.substr(0, judged.text.find(':'));
  return found;
}

}  // namespace furlong::tools
