#include "tools/runs/cohorts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "scenarios/data/mapped_file.hpp"
#include "tools/runs/json.hpp"

namespace furlong::tools {

namespace {

struct task_row {
  std::uint64_t round = 0;
  std::uint64_t client = 0;
  std::uint64_t aggregated = 0;  ///< 0: in no version
};

class cohort_table {
 public:
  /// Adds a line. False if it is none that cohort_line() writes after the lines before.
  bool add(const json& line) {
    if (!line.is_object() || !line.contains("round")) return false;
    const auto selected = numbers(line, "selected");
    const auto aggregated = numbers(line, "aggregated");
    const auto since = line.contains("since") ? numbers(line, "since") : std::optional(std::vector<std::uint64_t>());
    if (!line["round"].is_number_unsigned() || !selected || !aggregated || !since) return false;
    if (!since->empty() && since->size() != aggregated->size()) return false;
    const auto round = line["round"].get<std::uint64_t>();
    for (const auto client : *selected) {
      newest_[{round, client}] = rows_.size();  // an asynchronous run may select a client that dropped out again
      rows_.push_back({round, client});
    }
    for (std::size_t i = 0; i < aggregated->size(); ++i) {
      const auto task = newest_.find({since->empty() ? round : since->at(i), aggregated->at(i)});
      if (task == newest_.end()) return false;
      rows_[task->second].aggregated = round;
    }
    return true;
  }

  [[nodiscard]] std::string csv() const {
    std::string out = "round,client,aggregated\n";
    for (const auto& [round, client, aggregated] : rows_)
      out += aggregated == 0 ? fmt::format("{},{},\n", round, client)
                             : fmt::format("{},{},{}\n", round, client, aggregated);
    return out;
  }

 private:
  static std::optional<std::vector<std::uint64_t>> numbers(const json& line, const char* key) {
    const auto list = line.find(key);
    if (list == line.end() || !list->is_array()) return std::nullopt;
    if (!std::ranges::all_of(*list, [](const json& value) { return value.is_number_unsigned(); })) return std::nullopt;
    return list->get<std::vector<std::uint64_t>>();
  }

  std::vector<task_row> rows_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> newest_;  ///< by round and client
};

}  // namespace

std::string cohort_line(const federated::round_report& report) {
  json line = {{"round", report.version}, {"selected", report.cohort}, {"aggregated", json::array()}};
  std::vector<std::uint64_t> since;
  for (const auto& task : report.members) {
    line["aggregated"].push_back(task.client);
    since.push_back(task.version + 1);
  }
  if (std::ranges::any_of(since, [&](auto round) { return round != report.version; })) line["since"] = since;
  return line.dump();
}

result<std::string> cohorts_csv(const run_directory& folder) {
  if (!std::filesystem::exists(folder.cohorts()))
    return fail(error::kind::data, folder.cohorts().string(),
                "does not exist: furlong run writes it, unless the algorithm trains on pooled data",
                "name the folder of such a run");
  const auto file = scenarios::mapped_file::open(folder.cohorts());
  if (!file) return tl::unexpected(file.error());
  cohort_table table;
  auto rest = file->bytes();
  for (std::size_t number = 1; rest.find('\n') != std::string_view::npos; ++number)
    if (!table.add(json::parse(scenarios::next_line(rest), nullptr, false)))
      return fail(error::kind::data, folder.cohorts().string() + ":" + std::to_string(number),
                  "is no line of this run's cohorts", "restore the file from a copy");
  return table.csv();
}

}  // namespace furlong::tools
