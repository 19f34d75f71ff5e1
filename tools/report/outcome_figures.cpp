// The charts of one run about its tasks and clients.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tools/compare/run_figures.hpp"
#include "tools/report/detail/figures.hpp"

namespace furlong::tools {

namespace {

/// Colours by outcome, the same in all charts.
struct outcome_colour {
  const char* outcome;
  std::size_t colour;
};
constexpr std::array<outcome_colour, 7> outcome_colours{
    {{"folded", 0}, {"rejected", 1}, {"late", 3}, {"surplus", 2}, {"dropped", 4}, {"abandoned", 6}, {"in flight", 5}}};
constexpr std::size_t ends = 6;  // all but "in flight", which is no end
constexpr std::size_t other_colour = 7;

std::array<std::uint64_t, ends> ends_of(const round_figures& round) {
  std::array<std::uint64_t, ends> counts{};
  for (std::size_t i = 0; i < ends; ++i) counts.at(i) = tasks_with(round, outcome_colours.at(i).outcome);
  return counts;
}

bool has_other_ends(const run_record& run) {
  return std::ranges::any_of(run.rounds, [](const round_figures& round) {
    const auto counts = ends_of(round);
    return std::any_of(counts.begin() + 2, counts.end(), [](auto count) { return count > 0; });
  });
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(part) / static_cast<double>(whole);
}

page_json bar_chart(std::string title, std::string x, number_style style) {
  return {{"kind", "bars"},
          {"title", std::move(title)},
          {"x", std::move(x)},
          {"style", name_of(style)},
          {"heads", page_json::array()},
          {"series", page_json::array()},
          {"bars", page_json::array()}};
}

page_json series_of(std::string_view name, std::size_t colour, const std::string& value) {
  page_json made{{"name", name}, {"colour", colour}};
  if (!value.empty()) made["value"] = value;
  return made;
}

// A bar with a value for each series, stacked from 0 unless the chart has a base, and further cells for its table.
void add_bar(page_json& to, double from, double width, const std::string& label, const std::vector<double>& values,
             const std::vector<std::string>& more = {}) {
  page_json made{
      {"from", from}, {"to", from + width}, {"label", label}, {"values", page_json::array()}, {"more", more}};
  for (const auto value : values) made["values"].push_back(brief(value));
  to["bars"].push_back(std::move(made));
}

void add_bar(page_json& to, const stretch& over, const std::vector<double>& values,
             const std::vector<std::string>& more = {}) {
  add_bar(to, static_cast<double>(over.first) - 0.5, static_cast<double>(over.last - over.first) + 1.0, label_of(over),
          values, more);
}

page_json quality(const run_summary& of, const metric& which) {
  auto made = bar_chart(std::string(which.title) + " by participation", "a client\u2019s folded updates", which.style);
  made["heads"] = {"clients", "examples"};
  made["labelled"] = true;
  made["series"] = {series_of("seen clients", 0, "")};
  if (const auto unseen = of.figure(group_key(2) + which.key); unseen && std::isfinite(*unseen))
    made["series"].push_back(series_of("unseen clients", 3, ""));
  const auto add = [&](const std::string& label, const figure_set& from, const std::string& before,
                       std::size_t series) {
    const auto value = from.figure(before + which.key);
    if (!value || !std::isfinite(*value)) return;
    std::vector<double> values(made["series"].size(), std::numeric_limits<double>::quiet_NaN());
    values.at(series) = *value;
    add_bar(made, static_cast<double>(made["bars"].size()), 1.0, label, values,
            {grouped(from.count(before + "clients")), grouped(from.count(before + "examples"))});
  };
  for (const auto& bin : of.by_participation) add(label_of(stretch{bin.count("least"), bin.count("most")}), bin, "", 0);
  if (const auto base = of.figure(group_key(1) + which.key); base && std::isfinite(*base)) {
    made["base"] = brief(*base);
    made["line"] = "all seen clients " + written(base, which.style);
    made["note"] = "Bars begin at " + written(base, which.style) + ", the value over all seen clients: " +
                   (which.smaller_is_better ? "down is better." : "up is better.");
  }
  if (!made["bars"].empty()) add("unseen", of, group_key(2), 1);
  return made;
}

// The value that one in ten exceeds.
double most_reach(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 9 / 10);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// From the first start to the last end, in seconds since the round began. Stragglers may take a hundred times as long
// as the others: where a few bars would reach further from the round than twice its length, they are cut off.
std::pair<double, double> reach_of(const std::vector<task_figures>& tasks, double length) {
  std::vector<double> before;
  std::vector<double> after;
  for (const auto& task : tasks) {
    before.push_back(-task.started);
    after.push_back(task.ended);
  }
  const double back = std::max(0.0, *std::ranges::max_element(before));
  const double ahead = std::max(length, *std::ranges::max_element(after));
  if (!(length > 0.0)) return {-back, ahead > -back ? ahead : -back + 1.0};
  return {-std::min(back, std::max(2.0 * length, most_reach(before))),
          std::min(ahead, std::max(3.0 * length, most_reach(after)))};
}

// What is marked by an upright line: the round's begin and end, and the deadline.
std::vector<std::pair<double, std::string>> moments_of(const std::vector<task_figures>& tasks, double length,
                                                       std::optional<double> deadline) {
  std::vector<std::pair<double, std::string>> made;
  // A round that its deadline closed has one line for both.
  const bool at_deadline = deadline && std::abs(*deadline - length) <= 0.005 * *deadline;
  // Tasks of an asynchronous run began before.
  if (std::ranges::any_of(tasks, [](const auto& task) { return task.started < 0.0; }))
    made.emplace_back(0.0, "the round begins");
  if (length > 0.0) made.emplace_back(length, at_deadline ? "deadline: the round ends" : "the round ends");
  if (deadline && !at_deadline) made.emplace_back(*deadline, "deadline");
  std::ranges::sort(made);
  return made;
}

page_json timeline_of(const round_figures& round, std::optional<double> deadline) {
  std::vector<task_figures> tasks;
  const double began = round.figure("began").value_or(0.0);
  for (auto task : round.spans) {
    task.started -= began;
    task.ended -= began;
    if (std::isfinite(task.started) && std::isfinite(task.ended)) tasks.push_back(std::move(task));
  }
  if (tasks.empty()) return nullptr;
  std::ranges::stable_sort(tasks, [](const auto& a, const auto& b) { return a.ended < b.ended; });
  const double length = round.figure("ended").value_or(began) - began;
  const auto moments = moments_of(tasks, length, deadline);
  const auto [low, high] = reach_of(tasks, moments.empty() ? 0.0 : std::max(0.0, moments.back().first));
  page_json made{{"kind", "timeline"},
                 {"title", "Round " + grouped(round.round) + ", task by task"},
                 {"x", "time since the round began"},
                 {"style", "seconds"},
                 {"across", {brief(low), brief(high)}},
                 {"series", page_json::array()},
                 {"moments", page_json::array()},
                 {"tasks", page_json::array()}};
  named_counts counts;
  for (const auto& named : outcome_colours) counts.emplace_back(named.outcome, 0);
  std::size_t cut = 0;
  bool open = false;
  for (const auto& task : tasks) {
    auto found = std::ranges::find_if(counts, [&](const auto& one) { return one.first == task.outcome; });
    if (found == counts.end()) found = counts.insert(found, {task.outcome, 0});
    ++found->second;
    cut += task.started < low || task.ended > high ? 1 : 0;
    open = open || task.at_work;
    made["tasks"].push_back({{"client", task.client},
                             {"s", task.outcome},
                             {"from", brief(task.started)},
                             {"to", brief(task.ended)},
                             {"open", task.at_work}});
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i].second > 0)
      made["series"].push_back(series_of(counts[i].first,
                                         i < outcome_colours.size() ? outcome_colours.at(i).colour : other_colour,
                                         grouped(counts[i].second)));
  for (const auto& [at, name] : moments) made["moments"].push_back({{"at", brief(at)}, {"name", name}});
  // A round that has what it needs does not wait to see how the others end.
  auto note = joined({open ? "Tasks still at work when the round ends are drawn up to its end." : "",
                      cut > 0 ? counted(cut, "bar") + " cut off at the edge: the table has the whole times." : ""});
  if (!note.empty()) made["note"] = std::move(note);
  return made;
}

}  // namespace

page_json outcomes_by_round(const run_record& run) {
  if (!has_other_ends(run)) return nullptr;
  const auto stretches = stretches_of(run.rounds.front().round, run.rounds.back().round);
  std::vector<std::array<std::uint64_t, ends>> sums(stretches.size());
  std::vector<std::uint64_t> lines(stretches.size());
  std::array<std::uint64_t, ends> totals{};
  std::size_t at = 0;
  for (const auto& round : run.rounds) {
    while (round.round > stretches[at].last) ++at;
    const auto counts = ends_of(round);
    for (std::size_t i = 0; i < ends; ++i) {
      sums[at][i] += counts.at(i);
      totals.at(i) += counts.at(i);
    }
    ++lines[at];
  }
  const bool means = std::ranges::any_of(lines, [](auto count) { return count > 1; });
  auto made = bar_chart("What became of the tasks, a round", "round", means ? number_style::mean : number_style::count);
  for (std::size_t i = 0; i < ends; ++i)
    if (totals.at(i) > 0)
      made["series"].push_back(
          series_of(outcome_colours.at(i).outcome, outcome_colours.at(i).colour, grouped(totals.at(i))));
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    std::vector<double> values;
    for (std::size_t end = 0; end < ends; ++end)
      if (totals.at(end) > 0) values.push_back(share_of(sums[i].at(end), lines[i]));
    add_bar(made, stretches[i], values);
  }
  if (stretches.front().last > stretches.front().first)
    made["note"] = "Each bar is a mean over " + counted(stretches.front().last - stretches.front().first + 1, "round") +
                   "; the figures above are sums over the run.";
  return made;
}

page_json availability_by_hour(const run_record& run) {
  if (time_word(run) == "time") return nullptr;  // since a federation began: no hour of the day
  constexpr double hour = 3600.0;
  constexpr double day = 24.0 * hour;
  std::array<std::uint64_t, 24> probed{};
  std::array<std::uint64_t, 24> available{};
  double first = std::numeric_limits<double>::infinity();
  double last = -first;
  for (const auto& round : run.rounds) {
    const auto began = round.figure("began").value_or(-1.0);
    if (round.count("probed") == 0 || !(began >= 0.0) || !std::isfinite(began)) continue;
    first = std::min(first, began);
    last = std::max(last, round.figure("ended").value_or(began));
    const auto at = std::min<std::size_t>(23, static_cast<std::size_t>(std::fmod(began, day) / hour));
    probed.at(at) += round.count("probed");
    available.at(at) += round.count("available");
  }
  if (!(last - first >= 3.0 * hour)) return nullptr;
  auto made = bar_chart("Availability over the day", "virtual hour of the day", number_style::percent);
  made["series"].push_back(series_of("available, of the clients looked at", 0, ""));
  made["heads"] = {"looked at", "available"};
  made["step"] = 3;
  for (std::size_t i = 0; i < 24; ++i)
    add_bar(made, static_cast<double>(i), 1.0, label_of(stretch{i, i + 1}), {share_of(available.at(i), probed.at(i))},
            {grouped(probed.at(i)), grouped(available.at(i))});
  if (last - first > day) made["note"] = "Days laid over each other: the run took " + duration(last - first) + ".";
  return made;
}

page_json staleness_histogram(const run_record& run) {
  std::vector<std::uint64_t> counts;
  for (const auto& round : run.rounds) {
    counts.resize(std::max(counts.size(), round.staleness.size()));
    for (std::size_t i = 0; i < round.staleness.size(); ++i) counts[i] += round.staleness[i];
  }
  while (!counts.empty() && counts.back() == 0) counts.pop_back();
  if (counts.empty()) return nullptr;
  std::uint64_t all = 0;
  for (const auto count : counts) all += count;
  auto made = bar_chart("Staleness of folded updates", "versions made since the task began", number_style::count);
  made["series"].push_back(series_of("updates", 0, grouped(all)));
  made["heads"] = {"share"};
  for (const auto& part : stretches_of(0, counts.size() - 1)) {
    std::uint64_t sum = 0;
    for (auto i = part.first; i <= part.last; ++i) sum += counts[i];
    add_bar(made, part, {static_cast<double>(sum)}, {written(share_of(sum, all), number_style::percent)});
  }
  if (const auto mean = run.summary ? run.summary->figure("staleness.mean") : std::nullopt)
    made["note"] = "Mean " + written(mean, number_style::mean) + ", most " +
                   written(run.summary->figure("staleness.max"), number_style::count) + " versions.";
  return made;
}

std::vector<page_json> quality_by_participation(const run_record& run) {
  constexpr std::size_t most = 2;
  std::vector<page_json> charts;
  if (!run.summary || run.summary->by_participation.empty()) return charts;
  for (const auto& which : metrics)
    if (charts.size() < most && score(run.summary->by_participation.front(), "", which))
      if (auto chart = quality(*run.summary, which); !chart["bars"].empty()) charts.push_back(std::move(chart));
  return charts;
}

std::vector<page_json> timelines_of(const run_record& run) {
  std::vector<page_json> made;
  for (const auto& round : run.rounds)
    if (auto chart = timeline_of(round, run.deadline); !chart.is_null()) made.push_back(std::move(chart));
  return made;
}

std::vector<stretch> stretches_of(std::uint64_t first, std::uint64_t last, std::size_t most) {
  std::uint64_t width = 1;  // 1, 2, 5, 10, 20, 50, ...
  for (int i = 0; (last - first) / width >= most; ++i) width = i % 3 == 1 ? width / 2 * 5 : width * 2;
  std::vector<stretch> out;
  for (std::uint64_t at = first;; at += width) {
    out.push_back({at, last - at < width ? last : at + width - 1});
    if (last - at < width) break;  // before `at` passes the largest number there is
  }
  return out;
}

std::string label_of(const stretch& of) {
  return of.first == of.last ? grouped(of.first) : grouped(of.first) + "\u2013" + grouped(of.last);
}

}  // namespace furlong::tools
