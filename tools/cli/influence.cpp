#include "tools/cli/influence.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <optional>

#include "storage/durable_folder.hpp"
#include "tools/report/report.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/csv.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

namespace fs = std::filesystem;

std::vector<influence_figure> influence_figures(const json& replay) {
  std::vector<influence_figure> listed;
  const auto& without = replay["eval"]["without"];
  for (const auto& [group, figures] : replay["eval"]["with"].items())
    for (const auto& [name, value] : figures.items()) {
      if (name == "examples" || name == "clients" || !value.is_number() || !without.contains(group)) continue;
      if (const auto counterpart = without[group].find(name);
          counterpart != without[group].end() && counterpart->is_number())
        listed.push_back({group + "." + name, value.get<double>(), counterpart->get<double>()});
    }
  return listed;
}

namespace {

fs::path child_folder(const replay_options& options, std::uint32_t client) {
  return options.out / fmt::format("client-{}", client);
}

std::optional<json> read_replay(const replay_options& options, std::uint32_t client) {
  auto made = read_object(child_folder(options, client) / "replay.json");
  if (made.is_null() || made.value("run", "") != options.run.string()) return std::nullopt;
  return made;
}

/// True if an earlier call has worked here.
bool has_replays(const fs::path& folder) {
  return std::ranges::any_of(fs::directory_iterator(folder),
                             [](const auto& entry) { return entry.path().filename().string().starts_with("client-"); });
}

struct influence_table {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
};

/// A row per client: how often it took part, and its influence on each figure.
influence_table table_of(const std::vector<json>& replays) {
  influence_table made{{"client", "selected", "aggregated", "started_from"}, {}};
  for (const auto& figure : influence_figures(replays.front()))
    for (const auto* column : {"", ".without", ".change"}) made.heads.push_back(figure.name + column);
  for (const auto& replay : replays) {
    auto& row = made.rows.emplace_back();
    row = {replay["clients"][0]["client"].dump(), replay["selected"].dump(), replay["folded"].dump(),
           replay["started_from"].dump()};
    for (const auto& figure : influence_figures(replay))
      for (const double value : {figure.with, figure.without, figure.without - figure.with})
        row.push_back(fmt::format("{:.9g}", value));
  }
  return made;
}

constexpr auto explanation =
    "Each row: the run was trained again as if the client had never reported, and both models were evaluated without "
    "the client. Change: the figure without the client minus the figure with it.";

/// influence.csv, report.html, and the same on stdout.
int write_influence(const replay_options& options, const std::vector<json>& replays) {
  const auto table = table_of(replays);
  auto csv = csv_line(table.heads);
  for (const auto& row : table.rows) csv += "\n" + csv_line(row);
  if (auto written = write_atomically(options.out / "influence.csv", csv); !written)
    return report_failure(written.error());
  if (auto written =
          write_table("Influence of clients", explanation, table.heads, table.rows, options.out / "report.html");
      !written)
    return report_failure(written.error());
  if (options.format == output_format::json) {
    std::cout << json_text({{"run", options.run.string()}, {"out", options.out.string()}, {"replays", replays}})
              << '\n';
    return done;
  }
  const auto shown = influence_figures(replays.front());
  const auto unseen =
      std::ranges::find_if(shown, [](const auto& figure) { return figure.name.starts_with("unseen."); });
  if (shown.empty()) return done;
  const auto position = static_cast<std::size_t>((unseen == shown.end() ? shown.begin() : unseen) - shown.begin());
  fmt::print("{:>10} {:>9} {:>11} {:>13}  {} (with, without, change)\n", "client", "selected", "aggregated",
             "started from", shown[position].name);
  for (const auto& replay : replays) {
    const auto figure = influence_figures(replay)[position];
    fmt::print("{:>10} {:>9} {:>11} {:>13}  {:.6f} {:.6f} {:+.6f}\n", replay["clients"][0]["client"].dump(),
               replay["selected"].dump(), replay["folded"].dump(), replay["started_from"].dump(), figure.with,
               figure.without, figure.without - figure.with);
  }
  fmt::print("table: {}\nreport: {}\n", for_people((options.out / "influence.csv").string()),
             for_people((options.out / "report.html").string()));
  return done;
}

}  // namespace

int measure_influence(const replay_options& options, std::span<const std::uint32_t> clients) {
  if (!run_directory(options.out).vacant() && !has_replays(options.out))
    return report_failure({error::kind::usage, options.out.string(),
                           "the folder exists, is not empty and has no replays of --each",
                           "choose another folder with --out"});
  if (const auto why = storage::make_durable_folder(options.out))
    return report_failure({error::kind::runtime, options.out.string(), "cannot be made: " + why.message(),
                           "name another folder with --out"});
  std::vector<child_run> children;
  std::vector<std::uint32_t> waiting;
  for (const auto client : clients) {
    if (read_replay(options, client)) continue;
    const auto folder = child_folder(options, client);
    const auto threads = std::to_string(std::max<std::size_t>(options.threads, 1));
    children.push_back({{"replay", options.run.string(), "--without", std::to_string(client), "--out", folder.string(),
                         "--threads", threads, "--log-level", options.log_level, "--format", "json"},
                        folder.string() + ".stdout",
                        folder.string() + ".stderr"});
    waiting.push_back(client);
  }
  int worst = done;
  auto ended = clients.size() - children.size();
  const auto ran = run_children(children, or_one_per_core(options.jobs), [&](std::size_t i, const child_end& end) {
    fmt::print(stderr, "[{}/{}] without client {} ({:.1f} s)\n", ++ended, clients.size(), waiting[i], end.seconds);
    if (end.code == done) return;
    worst = end.code;
    fmt::print(stderr, "{}", text_of(children[i].err));
  });
  if (!ran) return report_failure(ran.error());
  if (!*ran) {
    fmt::print(stderr, "furlong: stopped; repeat the command to continue\n");
    return interrupted;
  }
  if (worst != done) return worst;
  std::vector<json> replays;
  for (const auto client : clients) {
    auto made = read_replay(options, client);
    if (!made)
      return report_failure({error::kind::data, (child_folder(options, client) / "replay.json").string(),
                             "is missing or of another run", "name another folder with --out"});
    replays.push_back(std::move(*made));
  }
  return write_influence(options, replays);
}

}  // namespace furlong::tools
