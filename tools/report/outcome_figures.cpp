#include "tools/report/detail/outcome_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "tools/report/detail/comparison.hpp"

namespace furlong::tools {

namespace {

constexpr std::size_t outcomes = 6;  // all of outcome_colours but "in flight", which is no end

std::array<std::uint64_t, outcomes> ends_of(const round_figures& round) {
  return {round.folded, round.rejected, round.late, round.surplus, sum_of(round.dropped), round.abandoned};
}

bool has_other_ends(const run_record& run) {
  return std::any_of(run.rounds.begin(), run.rounds.end(), [](const round_figures& round) {
    const auto ends = ends_of(round);
    return std::any_of(ends.begin() + 2, ends.end(), [](auto count) { return count > 0; });
  });
}

// Bars from half before the first number to half behind the last.
bar bar_over(const stretch& of) {
  bar one;
  one.from = static_cast<double>(of.first) - 0.5;
  one.to = static_cast<double>(of.last) + 0.5;
  one.label = label_of(of);
  return one;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

const metric* main_metric(const group_figures& of, std::size_t which) {
  for (const auto& one : metrics)
    if (of.*one.value && !is_redundant(one, of) && which-- == 0) return &one;
  return nullptr;
}

void add_quality_bar(bar_chart& to, const std::string& label, const group_figures& of, const metric& which,
                     bool unseen) {
  const auto value = of.*which.value;
  if (!value || !std::isfinite(*value)) return;
  const auto at = static_cast<double>(to.bars.size());
  to.bars.push_back({at,
                     at + 1.0,
                     label,
                     {unseen ? no_value : *value, unseen ? *value : no_value},
                     {grouped(of.clients), grouped(of.examples)}});
}

bar_chart quality(const run_record& run, const metric& which) {
  bar_chart plot;
  plot.title = std::string(which.title) + " by participation";
  plot.x_label = "a client\u2019s folded updates";
  plot.y_style = which.style;
  plot.label_bars = true;
  plot.parts = {{"seen clients", 0, ""}, {"unseen clients", 3, ""}};
  plot.value_head = which.title;
  plot.more_heads = {"clients", "examples"};
  for (const auto& bin : run.summary->by_participation)
    add_quality_bar(plot, label_of(stretch{bin.least, bin.most}), bin.of, which, false);
  const auto& eval = run.summary->eval;
  if (eval && (*eval)[1] && (*(*eval)[1]).*which.value && std::isfinite(*((*(*eval)[1]).*which.value))) {
    plot.base = (*(*eval)[1]).*which.value;
    plot.base_name = "all seen clients";
    plot.note = std::string("Bars begin at the value over all seen clients: ") +
                (which.smaller_is_better ? "down is better." : "up is better.");
  }
  if (eval && (*eval)[2] && !plot.bars.empty()) add_quality_bar(plot, "unseen", *(*eval)[2], which, true);
  return plot;
}

}  // namespace

std::optional<bar_chart> outcomes_by_round(const run_record& run) {
  if (!has_other_ends(run)) return std::nullopt;
  bar_chart plot;
  plot.title = "What became of the tasks, a round";
  plot.x_label = "round";
  const auto stretches = stretches_of(run.rounds.front().round, run.rounds.back().round);
  std::vector<std::array<std::uint64_t, outcomes>> sums(stretches.size());
  std::vector<std::uint64_t> lines(stretches.size());
  std::array<std::uint64_t, outcomes> totals{};
  std::size_t at = 0;
  for (const auto& round : run.rounds) {
    while (round.round > stretches[at].last) ++at;
    const auto ends = ends_of(round);
    for (std::size_t i = 0; i < outcomes; ++i) {
      sums[at][i] += ends[i];
      totals[i] += ends[i];
    }
    ++lines[at];
  }
  bool means = false;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    auto one = bar_over(stretches[i]);
    for (const auto sum : sums[i])
      one.values.push_back(lines[i] == 0 ? no_value : static_cast<double>(sum) / static_cast<double>(lines[i]));
    means = means || lines[i] > 1;
    plot.bars.push_back(std::move(one));
  }
  plot.y_style = means ? number_style::mean : number_style::count;
  for (std::size_t i = 0; i < outcomes; ++i)
    plot.parts.push_back({outcome_colours[i].outcome, outcome_colours[i].colour, grouped(totals[i])});
  if (stretches.front().last > stretches.front().first)
    plot.note = "Each bar is a mean over " + counted(stretches.front().last - stretches.front().first + 1, "round") +
                "; the figures above are sums over the run.";
  return plot;
}

std::optional<bar_chart> availability_by_hour(const run_record& run) {
  if (time_word(run) == "time") return std::nullopt;  // since a federation began: no hour of the day
  constexpr double hour = 3600.0;
  constexpr double day = 24.0 * hour;
  std::array<std::uint64_t, 24> probed{};
  std::array<std::uint64_t, 24> available{};
  double first = std::numeric_limits<double>::infinity();
  double last = -first;
  for (const auto& round : run.rounds) {
    if (!round.began || round.probed == 0 || !(*round.began >= 0.0) || !std::isfinite(*round.began)) continue;
    first = std::min(first, *round.began);
    last = std::max(last, round.ended.value_or(*round.began));
    const auto at = std::min<std::size_t>(23, static_cast<std::size_t>(std::fmod(*round.began, day) / hour));
    probed[at] += round.probed;
    available[at] += round.available;
  }
  if (!(last - first >= 3.0 * hour)) return std::nullopt;
  bar_chart plot;
  plot.title = "Availability over the day";
  plot.x_label = "virtual hour of the day";
  plot.y_style = number_style::percent;
  plot.x_step = 3.0;
  plot.parts = {{"available, of the clients looked at", 0, ""}};
  plot.more_heads = {"looked at", "available"};
  for (std::size_t i = 0; i < 24; ++i)
    plot.bars.push_back({static_cast<double>(i),
                         static_cast<double>(i + 1),
                         label_of(stretch{i, i + 1}),
                         {probed[i] == 0 ? no_value : share_of(available[i], probed[i])},
                         {grouped(probed[i]), grouped(available[i])}});
  if (last - first > day) plot.note = "Days laid over each other: the run took " + duration(last - first) + ".";
  return plot;
}

std::optional<bar_chart> staleness_histogram(const run_record& run) {
  std::vector<std::uint64_t> counts;
  std::uint64_t all = 0;
  for (const auto& round : run.rounds) {
    counts.resize(std::max(counts.size(), round.staleness.size()));
    for (std::size_t i = 0; i < round.staleness.size(); ++i) {
      counts[i] += round.staleness[i];
      all += round.staleness[i];
    }
  }
  while (!counts.empty() && counts.back() == 0) counts.pop_back();
  if (all == 0) return std::nullopt;
  bar_chart plot;
  plot.title = "Staleness of folded updates";
  plot.x_label = "versions made since the task began";
  plot.y_style = number_style::count;
  plot.parts = {{"updates", 0, grouped(all)}};
  plot.more_heads = {"share"};
  for (const auto& part : stretches_of(0, counts.size() - 1)) {
    std::uint64_t sum = 0;
    for (auto i = part.first; i <= part.last; ++i) sum += counts[i];
    auto one = bar_over(part);
    one.values = {static_cast<double>(sum)};
    one.more = {written(share_of(sum, all), number_style::percent)};
    plot.bars.push_back(std::move(one));
  }
  if (run.summary && run.summary->staleness && run.summary->staleness->mean)
    plot.note = "Mean " + written(run.summary->staleness->mean, number_style::mean) + ", most " +
                written(run.summary->staleness->max, number_style::count) + " versions.";
  return plot;
}

std::vector<bar_chart> quality_by_participation(const run_record& run) {
  std::vector<bar_chart> plots;
  if (!run.summary || run.summary->by_participation.empty()) return plots;
  for (std::size_t i = 0; i < 2; ++i)
    if (const auto* which = main_metric(run.summary->by_participation.front().of, i); which != nullptr)
      if (auto plot = quality(run, *which); !plot.bars.empty()) plots.push_back(std::move(plot));
  return plots;
}

std::vector<timeline> timelines_of(const run_record& run) {
  std::vector<timeline> made;
  for (const auto& round : run.rounds) {
    if (round.spans.empty()) continue;
    if (auto line = timeline_of(round, run.deadline); !line.tasks.empty()) made.push_back(std::move(line));
  }
  return made;
}

}  // namespace furlong::tools
