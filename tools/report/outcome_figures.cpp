// The charts of one run about its tasks and clients.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tools/compare/run_figures.hpp"
#include "tools/report/detail/figures.hpp"
#include "tools/runs/ranking_names.hpp"

namespace furlong::tools {

namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// Colours by outcome, the same in all charts. All but the last are ends.
struct outcome_colour {
  std::string_view outcome;
  std::size_t colour;
};
constexpr std::array<outcome_colour, 7> outcome_colours{
    {{"folded", 0}, {"rejected", 1}, {"late", 3}, {"surplus", 2}, {"dropped", 4}, {"abandoned", 6}, {"in flight", 5}}};
constexpr std::size_t other_colour = 7;

std::uint64_t tasks_in(std::span<const round_figures> rounds, std::string_view outcome) {
  std::uint64_t sum = 0;
  for (const auto& round : rounds) sum += tasks_with(round, std::string(outcome));
  return sum;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? no_value : static_cast<double>(part) / static_cast<double>(whole);
}

page_json bar_chart(std::string title, std::string_view x, number_style style) {
  auto made = new_chart("bars", std::move(title), x, style);
  made["heads"] = made["bars"] = page_json::array();
  return made;
}

// A bar with a value for each series, stacked from 0 unless the chart has a base, and further cells for its table.
void add_bar(page_json& chart, double begin, double end, const std::string& label, const std::vector<double>& values,
             const std::vector<std::string>& more = {}) {
  page_json made{{"from", begin}, {"to", end}, {"label", label}, {"values", page_json::array()}, {"more", more}};
  for (const auto value : values) made["values"].push_back(brief(value));
  chart["bars"].push_back(std::move(made));
}

void add_bar(page_json& chart, const stretch& over, const std::vector<double>& values,
             const std::vector<std::string>& more = {}) {
  add_bar(chart, static_cast<double>(over.first) - 0.5, static_cast<double>(over.last) + 0.5, label_of(over), values,
          more);
}

/// @param division what bins are of: "participation"
page_json quality(const run_summary& summary, const metric& which, const std::vector<figure_set>& bins,
                  const std::string& division, std::string_view axis) {
  const std::string title(which.title);
  auto made = bar_chart(title + " by " + division, axis, which.style);
  made["heads"] = {"clients", "examples"};
  made["labelled"] = true;
  add_series(made, "seen clients", 0);
  const auto unseen = summary.figure(group_key(2) + which.key);
  if (unseen && std::isfinite(*unseen)) add_series(made, "unseen clients", 3);
  const auto add = [&](const std::string& label, const figure_set& figures, const std::string& before,
                       std::size_t series) {
    const auto value = figures.figure(before + which.key);
    if (!value || !std::isfinite(*value)) return;
    std::vector<double> values(made["series"].size(), no_value);
    values.at(series) = *value;
    const auto position = static_cast<double>(made["bars"].size());
    add_bar(made, position, position + 1.0, label, values,
            {grouped(figures.count(before + "clients")), grouped(figures.count(before + "examples"))});
  };
  for (const auto& bin : bins) add(label_of({bin.count("least"), bin.count("most")}), bin, "", 0);
  if (made["bars"].empty()) return nullptr;
  if (const auto base = summary.figure(group_key(1) + which.key); base && std::isfinite(*base)) {
    made["base"] = brief(*base);
    made["line"] = "all seen clients " + written(base, which.style);
    made["note"] = "Bars begin at " + written(base, which.style) + ", the value over all seen clients: " +
                   (which.smaller_is_better ? "down is better." : "up is better.");
  }
  add("unseen", summary, group_key(2), 1);
  return made;
}

// From the first start to the last end of tasks by their ends, in seconds since the round began. Stragglers may take a
// hundred times as long as the others: where a few bars would reach further from the round than twice its length, they
// are cut off.
std::pair<double, double> reach_of(const std::vector<task_figures>& tasks, double length) {
  const auto most = tasks.size() * 9 / 10;  // one in ten reaches further
  std::vector<double> before(tasks.size());
  std::ranges::transform(tasks, before.begin(), [](const auto& task) { return -task.started; });
  std::ranges::sort(before);
  const double back = std::max(0.0, before.back());
  const double ahead = std::max(length, tasks.back().ended);
  if (!(length > 0.0)) return {-back, ahead > -back ? ahead : -back + 1.0};
  return {-std::min(back, std::max(2.0 * length, before[most])),
          std::min(ahead, std::max(3.0 * length, tasks[most].ended))};
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

// Tasks with finite times, in seconds since the round began, by their ends.
std::vector<task_figures> tasks_of(const round_figures& round, double began) {
  std::vector<task_figures> tasks = round.spans;
  for (auto& task : tasks) {
    task.started -= began;
    task.ended -= began;
  }
  std::erase_if(tasks, [](const auto& task) { return !std::isfinite(task.started) || !std::isfinite(task.ended); });
  std::ranges::stable_sort(tasks, {}, &task_figures::ended);
  return tasks;
}

page_json timeline_of(const round_figures& round, std::optional<double> deadline) {
  const double began = round.figure("began").value_or(0.0);
  const auto tasks = tasks_of(round, began);
  if (tasks.empty()) return nullptr;
  const double length = round.figure("ended").value_or(began) - began;
  const auto moments = moments_of(tasks, length, deadline);
  const auto [low, high] = reach_of(tasks, moments.empty() ? 0.0 : std::max(0.0, moments.back().first));
  auto made = new_chart("timeline", "Round " + grouped(round.round) + ", task by task", "time since the round began",
                        number_style::seconds);
  made["across"] = {brief(low), brief(high)};
  made["moments"] = made["tasks"] = page_json::array();
  std::vector<outcome_colour> outcomes(outcome_colours.begin(), outcome_colours.end());
  std::size_t cut = 0;
  for (const auto& task : tasks) {
    if (std::ranges::find(outcomes, task.outcome, &outcome_colour::outcome) == outcomes.end())
      outcomes.push_back({task.outcome, other_colour});
    cut += task.started < low || task.ended > high ? 1 : 0;
    made["tasks"].push_back({{"client", task.client},
                             {"s", task.outcome},
                             {"from", brief(task.started)},
                             {"to", brief(task.ended)},
                             {"open", task.at_work}});
  }
  for (const auto& [outcome, colour] : outcomes)
    if (const auto count = std::ranges::count(tasks, outcome, &task_figures::outcome); count > 0)
      add_series(made, outcome, colour, grouped(static_cast<std::uint64_t>(count)));
  for (const auto& [time, name] : moments) made["moments"].push_back({{"at", brief(time)}, {"name", name}});
  // A round that has what it needs does not wait to see how the others end.
  const bool open = std::ranges::any_of(tasks, &task_figures::at_work);
  auto note = joined({open ? "Tasks still at work when the round ends are drawn up to its end." : "",
                      cut > 0 ? counted(cut, "bar") + " cut off at the edge: the table has the whole times." : ""});
  if (!note.empty()) made["note"] = std::move(note);
  return made;
}

}  // namespace

page_json outcomes_by_round(const run_record& run) {
  std::vector<outcome_colour> ends(outcome_colours.begin(), outcome_colours.end() - 1);
  std::erase_if(ends, [&](const auto& end) { return tasks_in(run.rounds, end.outcome) == 0; });
  const auto is_usual = [](std::string_view outcome) { return outcome == "folded" || outcome == "rejected"; };
  if (std::ranges::all_of(ends, is_usual, &outcome_colour::outcome)) return nullptr;
  const auto stretches = stretches_of(run.rounds.front().round, run.rounds.back().round);
  const auto rounds_in = [&](const stretch& rounds) {
    return std::span<const round_figures>(std::ranges::lower_bound(run.rounds, rounds.first, {}, &round_figures::round),
                                          std::ranges::upper_bound(run.rounds, rounds.last, {}, &round_figures::round));
  };
  const bool means = std::ranges::any_of(stretches, [&](const auto& part) { return rounds_in(part).size() > 1; });
  auto made = bar_chart("What became of the tasks, a round", "round", means ? number_style::mean : number_style::count);
  for (const auto& [outcome, colour] : ends) add_series(made, outcome, colour, grouped(tasks_in(run.rounds, outcome)));
  for (const auto& part : stretches) {
    const auto inside = rounds_in(part);
    std::vector<double> values(ends.size());
    std::ranges::transform(ends, values.begin(), [&](const outcome_colour& end) {
      return share_of(tasks_in(inside, end.outcome), inside.size());
    });
    add_bar(made, part, values);
  }
  if (const auto [first, last] = stretches.front(); last > first)
    made["note"] =
        "Each bar is a mean over " + counted(last - first + 1, "round") + "; the figures above are sums over the run.";
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
    const auto hour_index = std::min<std::size_t>(23, static_cast<std::size_t>(std::fmod(began, day) / hour));
    probed.at(hour_index) += round.count("probed");
    available.at(hour_index) += round.count("available");
  }
  if (!(last - first >= 3.0 * hour)) return nullptr;
  auto made = bar_chart("Eligible clients over the day", "virtual hour of the day", number_style::percent);
  add_series(made, "available and connected, of the clients without a task that were looked at", 0);
  made["heads"] = {"looked at", "eligible"};
  made["step"] = 3;
  for (std::size_t i = 0; i < 24; ++i)
    add_bar(made, static_cast<double>(i), static_cast<double>(i + 1), label_of({i, i + 1}),
            {share_of(available.at(i), probed.at(i))}, {grouped(probed.at(i)), grouped(available.at(i))});
  if (last - first > day) made["note"] = "Days laid over each other: the run took " + duration(last - first) + ".";
  return made;
}

page_json staleness_histogram(const run_record& run) {
  auto counts = run.staleness;
  while (!counts.empty() && counts.back() == 0) counts.pop_back();
  if (counts.empty()) return nullptr;
  const auto sum = [&](const stretch& rounds) {
    std::uint64_t found = 0;
    for (auto i = rounds.first; i <= rounds.last; ++i) found += counts[i];
    return found;
  };
  const auto total = sum({0, counts.size() - 1});
  auto made = bar_chart("Staleness of folded updates", "versions made since the task began", number_style::count);
  add_series(made, "updates", 0, grouped(total));
  made["heads"] = {"share"};
  for (const auto& part : stretches_of(0, counts.size() - 1))
    add_bar(made, part, {static_cast<double>(sum(part))}, {written(share_of(sum(part), total), number_style::percent)});
  const auto& summary = summary_of(run);
  if (const auto mean = summary.figure("staleness.mean"))
    made["note"] = "Mean " + written(mean, number_style::mean) + ", most " +
                   written(summary.figure("staleness.max"), number_style::count) + " versions.";
  return made;
}

std::vector<page_json> quality_by_participation(const run_record& run) {
  constexpr std::size_t most = 2;
  std::vector<page_json> charts;
  const auto& summary = summary_of(run);
  for (const auto& which : metrics)
    if (charts.size() < most && !summary.by_participation.empty() && score(summary.by_participation.front(), "", which))
      add_some(charts,
               quality(summary, which, summary.by_participation, "participation", "a client\u2019s folded updates"));
  return charts;
}

std::vector<page_json> quality_by_activity(const run_record& run) {
  const auto& summary = summary_of(run);
  if (summary.by_activity.empty()) return {};
  std::vector<std::string> names;
  for (const auto& [name, value] : summary.by_activity.front().figures) names.emplace_back(name);
  const auto places = shown_places(names);
  std::vector<page_json> charts;
  for (const auto& name : names)
    if (places && name.starts_with("full_") && is_shown(name, *places))
      add_some(charts, quality(summary, {name.c_str(), name.c_str(), name.c_str(), number_style::plain, false},
                               summary.by_activity, "activity", "a client\u2019s training interactions"));
  return charts;
}

std::vector<page_json> timelines_of(const run_record& run) {
  std::vector<page_json> made;
  for (const auto& round : run.rounds) add_some(made, timeline_of(round, run.deadline));
  return made;
}

std::vector<stretch> stretches_of(std::uint64_t first, std::uint64_t last, std::size_t most) {
  std::uint64_t width = 1;  // 1, 2, 5, 10, 20, 50, ...
  for (int i = 0; (last - first) / width >= most; ++i) width = i % 3 == 1 ? width / 2 * 5 : width * 2;
  std::vector<stretch> out;
  for (std::uint64_t position = first;; position += width) {
    out.push_back({position, last - position < width ? last : position + width - 1});
    if (last - position < width) break;  // before `position` passes the largest number there is
  }
  return out;
}

std::string label_of(const stretch& rounds) {
  return rounds.first == rounds.last ? grouped(rounds.first) : grouped(rounds.first) + "\u2013" + grouped(rounds.last);
}

}  // namespace furlong::tools
