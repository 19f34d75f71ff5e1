#include "tools/report/detail/figures.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tools/report/detail/comparison.hpp"
#include "tools/report/detail/embedding_figures.hpp"
#include "tools/report/detail/html.hpp"
#include "tools/report/detail/outcome_figures.hpp"

namespace furlong::tools {

namespace {

using round_value = std::function<std::optional<double>(const round_figures&)>;

// A value over rounds, where it is known and finite.
series over_rounds(const run_record& run, const round_value& value) {
  series points;
  for (const auto& round : run.rounds)
    if (const auto y = value(round); y && std::isfinite(*y)) points.push_back({static_cast<double>(round.round), *y});
  return points;
}

round_value metric_of(std::size_t group, const metric& which) {
  return [group, &which](const round_figures& round) -> std::optional<double> {
    if (!round.eval || !(*round.eval)[group] || is_redundant(which, *(*round.eval)[group])) return std::nullopt;
    return *(*round.eval)[group].*which.value;
  };
}

// What a round that changed nothing says of its training means nothing.
round_value value_of(std::optional<double> round_figures::*member) {
  return [member](const round_figures& round) { return round.applied ? round.*member : std::nullopt; };
}

round_value count_of(std::uint64_t round_figures::*member) {
  return [member](const round_figures& round) { return static_cast<double>(round.*member); };
}

// The sum of a count up to each round.
round_value cumulative(std::uint64_t round_figures::*member) {
  return [member, sum = 0.0](const round_figures& round) mutable { return sum += static_cast<double>(round.*member); };
}

chart by_round(std::string title, number_style style) {
  chart plot;
  plot.title = std::move(title);
  plot.x_label = "round";
  plot.y_style = style;
  return plot;
}

// One curve a run. `value` is copied for each, since a cumulative one counts.
chart overlay(chart plot, std::span<const run_record> runs, const std::vector<std::string>& labels,
              const round_value& value) {
  for (std::size_t i = 0; i < runs.size(); ++i)
    plot.curves.push_back({labels[i], i, over_rounds(runs[i], round_value(value)), false});
  return plot;
}

void add(figure_group& to, chart plot) {
  if (has_line(plot)) to.plots.push_back(std::move(plot));
}

void add_evaluation(figure_group& to, const run_record& run) {
  for (const auto& which : metrics) {
    auto plot = by_round(which.title, which.style);
    for (std::size_t group = 0; group < evaluation_groups.size(); ++group)
      plot.curves.push_back(
          {std::string(evaluation_groups[group]), group, over_rounds(run, metric_of(group, which)), false});
    add(to, std::move(plot));
  }
}

void add_evaluation(figure_group& to, std::span<const run_record> runs, const std::vector<std::string>& labels) {
  for (std::size_t group = 0; group < evaluation_groups.size(); ++group)
    for (const auto& which : metrics) {
      const auto title = which.title + (", " + std::string(evaluation_groups[group])) + " clients";
      add(to, overlay(by_round(title, which.style), runs, labels, metric_of(group, which)));
    }
}

figure_group learning(std::span<const run_record> runs, const std::vector<std::string>& labels) {
  figure_group group{"Learning", "", {}};
  auto loss = by_round("Training loss", number_style::plain);
  loss.noisy = true;
  auto step = by_round("Norm of the aggregated change", number_style::plain);
  step.noisy = true;
  const bool alone = runs.size() == 1;
  if (alone) add_evaluation(group, runs.front());
  if (!alone) add_evaluation(group, runs, labels);
  const std::vector<std::string> names = alone ? std::vector<std::string>{"mean per example, before its step"} : labels;
  add(group, overlay(std::move(loss), runs, names, value_of(&round_figures::loss)));
  const std::vector<std::string> norm = alone ? std::vector<std::string>{"L2 norm"} : labels;
  add(group, overlay(std::move(step), runs, norm, value_of(&round_figures::change_norm)));
  for (const auto& plot : group.plots)
    for (const auto& line : std::get<chart>(plot).curves)
      if (is_averaged(line, std::get<chart>(plot)))
        group.note = "Training curves are means over a sliding window; the single rounds lie pale behind them.";
  if (const auto figures = explained_figures(runs); !figures.empty())
    group.note += (group.note.empty() ? "" : " ") + figures;
  return group;
}

// The metric that runs are judged by first, against what was sent for it.
chart by_traffic(std::span<const run_record> runs, const std::vector<std::string>& labels, std::size_t group,
                 const metric& which) {
  chart plot;
  plot.title = which.title + (", " + std::string(evaluation_groups[group])) + " clients, by data moved";
  plot.x_label = "data up and down";
  plot.x_style = number_style::bytes;
  plot.y_style = which.style;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    series points;
    double sent = 0.0;
    const auto value = metric_of(group, which);
    for (const auto& round : runs[i].rounds) {
      sent += static_cast<double>(round.bytes_up) + static_cast<double>(round.bytes_down);
      if (const auto y = value(round); y && std::isfinite(*y)) points.push_back({sent, *y});
    }
    plot.curves.push_back({labels[i], i, std::move(points), false});
  }
  return plot;
}

// Fills the last row of two: one plot beside one, two beside two.
void add_by_traffic(figure_group& to, std::span<const run_record> runs, const std::vector<std::string>& labels) {
  const std::size_t wanted = 2 * to.plots.size();
  for (const std::size_t group : {std::size_t{2}, std::size_t{0}, std::size_t{1}})  // unseen, validation, seen
    for (const auto& which : metrics)
      if (auto plot = by_traffic(runs, labels, group, which); has_line(plot) && to.plots.size() < wanted)
        to.plots.push_back(std::move(plot));
}

figure_group communication(std::span<const run_record> runs, const std::vector<std::string>& labels) {
  figure_group group{"Communication", "", {}};
  const auto total = [](const char* title) {
    auto plot = by_round(title, number_style::bytes);
    plot.from_zero = true;
    return plot;
  };
  if (runs.size() == 1) {
    auto plot = total("Data moved so far");
    const auto& run = runs.front();
    plot.curves.push_back(
        {"down, server to clients", 0, over_rounds(run, cumulative(&round_figures::bytes_down)), false});
    plot.curves.push_back({"up, clients to server", 1, over_rounds(run, cumulative(&round_figures::bytes_up)), false});
    add(group, std::move(plot));
  } else {
    add(group, overlay(total("Data up so far"), runs, labels, cumulative(&round_figures::bytes_up)));
    add(group, overlay(total("Data down so far"), runs, labels, cumulative(&round_figures::bytes_down)));
  }
  add_by_traffic(group, runs, runs.size() == 1 ? std::vector<std::string>{"this run"} : labels);
  return group;
}

// A value over virtual time: what a round came to stands at its end.
series over_time(const run_record& run, const round_value& value) {
  series points;
  for (const auto& round : run.rounds) {
    const auto y = value(round);
    if (!y || !std::isfinite(*y) || !round.ended || !std::isfinite(*round.ended)) continue;
    if (points.empty() || *round.ended >= points.back().x) points.push_back({*round.ended, *y});
  }
  return points;
}

chart by_time(const std::string& title, number_style style, std::string_view clock) {
  chart plot;
  plot.title = title;
  plot.x_label = clock;
  plot.x_style = number_style::seconds;
  plot.y_style = style;
  return plot;
}

// One run: a curve a group in each plot. Several: a plot a group, and a curve a run in each.
figure_group learning_in_time(std::span<const run_record> runs, const std::vector<std::string>& labels) {
  const auto clock = time_word(runs);
  figure_group to{clock == "time" ? "Learning over time" : "Learning in virtual time", "", {}};
  const auto name = [](std::size_t group) { return std::string(evaluation_groups[group]); };
  const bool alone = runs.size() == 1;
  for (const auto& which : metrics) {
    auto plot = by_time(which.title, which.style, clock);
    for (std::size_t group = 0; alone && group < evaluation_groups.size(); ++group)
      plot.curves.push_back({name(group), group, over_time(runs.front(), metric_of(group, which)), false});
    add(to, std::move(plot));
  }
  for (std::size_t group = 0; !alone && group < evaluation_groups.size(); ++group)
    for (const auto& which : metrics) {
      auto plot = by_time(which.title + (", " + name(group)) + " clients", which.style, clock);
      for (std::size_t i = 0; i < runs.size(); ++i)
        plot.curves.push_back({labels[i], i, over_time(runs[i], metric_of(group, which)), false});
      add(to, std::move(plot));
    }
  return to;
}

template <class Plot>
void add_all(figure_group& to, std::vector<Plot> plots) {
  for (auto& plot : plots) to.plots.emplace_back(std::move(plot));
}

void add_some(figure_group& to, std::optional<bar_chart> plot) {
  if (plot) to.plots.emplace_back(std::move(*plot));
}

bool any_rejected(const run_record& run) {
  for (const auto& round : run.rounds)
    if (round.rejected > 0) return true;
  return false;
}

figure_group participation(std::span<const run_record> runs, const std::vector<std::string>& labels) {
  figure_group group{"Participation", "", {}};
  auto plot = by_round("Clients a round", number_style::count);
  plot.from_zero = true;
  if (auto ends = runs.size() == 1 ? outcomes_by_round(runs.front()) : std::nullopt) {
    group.plots.emplace_back(std::move(*ends));
  } else if (runs.size() == 1) {
    const auto& run = runs.front();
    plot.curves.push_back({"selected", 5, over_rounds(run, count_of(&round_figures::selected)), true});
    plot.curves.push_back({"folded", 0, over_rounds(run, count_of(&round_figures::folded)), false});
    if (any_rejected(run))
      plot.curves.push_back({"rejected", 1, over_rounds(run, count_of(&round_figures::rejected)), false});
    add(group, std::move(plot));
  } else {
    plot.title = "Clients folded a round";
    add(group, overlay(std::move(plot), runs, labels, count_of(&round_figures::folded)));
  }
  if (runs.size() == 1) add_some(group, availability_by_hour(runs.front()));
  auto examples = by_round("Examples a round", number_style::count);
  examples.from_zero = true;
  examples.noisy = true;
  const std::vector<std::string> names = runs.size() == 1 ? std::vector<std::string>{"processed"} : labels;
  add(group, overlay(std::move(examples), runs, names, count_of(&round_figures::examples)));
  if (runs.size() == 1) add_some(group, staleness_histogram(runs.front()));
  return group;
}

// A plot a tensor: how far the weights of a round's updates lie apart.
figure_group attention(const run_record& run) {
  figure_group group{"Attention", "", {}};
  const auto first =
      std::find_if(run.rounds.begin(), run.rounds.end(), [](const auto& round) { return !round.attention.empty(); });
  if (first == run.rounds.end()) return group;
  for (std::size_t t = 0; t < first->attention.size(); ++t) {
    const auto curve_of = [&](const char* name, std::size_t colour, double attention_figures::*value) {
      const auto at = [&](const round_figures& round) -> std::optional<double> {
        if (t >= round.attention.size()) return std::nullopt;
        return value == nullptr ? 1.0 : round.attention[t].*value;
      };
      return curve{name, colour, over_rounds(run, at), false};
    };
    auto plot = by_round("Weight of an update in " + first->attention[t].tensor, number_style::plain);
    plot.curves.push_back(curve_of("largest", 1, &attention_figures::most));
    plot.curves.push_back(curve_of("mean", 7, nullptr));
    plot.curves.push_back(curve_of("smallest", 0, &attention_figures::least));
    add(group, std::move(plot));
  }
  group.note = "An update's attention times the number of updates in its round: 1 is what a plain mean gives to all.";
  return group;
}

figure_group user_embeddings(std::span<const run_record> runs, const std::vector<std::string>& labels) {
  figure_group group{"User embeddings", "", {}};
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (auto plot = embedding_picture(runs[i], runs.size() == 1 ? "" : labels[i])) group.plots.emplace_back(*plot);
  const auto likeness = embedding_likeness(runs, labels);
  group.note = "These points are made of private values: whoever has this file learns who is like whom." +
               (likeness.empty() ? "" : " " + escape(likeness));
  return group;
}

}  // namespace

std::vector<figure_group> figures_of(std::span<const run_record> runs, const std::vector<std::string>& labels) {
  figure_group quality{"Quality by participation", "", {}};
  figure_group rounds{"Rounds, task by task", "", {}};
  figure_group weights;
  if (runs.size() == 1) {
    weights = attention(runs.front());
    add_all(quality, quality_by_participation(runs.front()));
    add_all(rounds, timelines_of(runs.front()));
  }
  std::vector<figure_group> groups;
  for (auto& group : {learning(runs, labels), learning_in_time(runs, labels), weights, quality,
                      communication(runs, labels), participation(runs, labels), rounds, user_embeddings(runs, labels)})
    if (!group.plots.empty()) groups.push_back(group);
  return groups;
}

}  // namespace furlong::tools
