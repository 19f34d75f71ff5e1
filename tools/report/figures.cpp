#include "tools/report/detail/figures.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tools/compare/comparison.hpp"
#include "tools/compare/run_figures.hpp"
#include "tools/compare/statistics.hpp"
#include "tools/report/detail/series.hpp"

namespace furlong::tools {

namespace {

using round_value = std::function<std::optional<double>(const round_figures&)>;

constexpr std::size_t few_rounds = 75;  // below it no curve needs a sliding mean, whose window is a 25th of the rounds

round_value value_of(const std::string& key) {
  return [key](const round_figures& round) { return round.figure(key); };
}

// What a round that changed nothing says of its training means nothing.
round_value if_applied(const std::string& key) {
  return [key](const round_figures& round) { return round.applied() ? round.figure(key) : std::nullopt; };
}

// The sum of some counts up to each round. To be copied for each run, since it counts.
round_value cumulative(const std::vector<std::string>& keys) {
  return [keys, sum = 0.0](const round_figures& round) mutable {
    for (const auto& key : keys) sum += static_cast<double>(round.count(key));
    return sum;
  };
}

// A value by round, where it is known and finite; of a round that was tried again, the last.
series over_rounds(const run_record& run, round_value value) {
  series points;
  for (const auto& round : run.rounds) {
    const auto y = value(round);
    const auto x = static_cast<double>(round.round);
    if (!y || !std::isfinite(*y)) continue;
    if (!points.empty() && points.back().x == x) points.pop_back();
    points.push_back({x, *y});
  }
  return points;
}

// Means of several runs, round by round, up to the last round that all of them have, with intervals.
series mean_of(std::vector<series> curves) {
  std::erase_if(curves, [](const auto& curve) { return curve.empty(); });
  if (curves.size() < 2) return curves.empty() ? series() : curves.front();
  std::map<double, std::vector<double>> values;
  for (const auto& line : curves)
    for (const auto& p : line) values[p.x].push_back(p.y);
  while (!values.empty() && values.rbegin()->second.size() < curves.size()) values.erase(std::prev(values.end()));
  series made;
  for (const auto& [x, samples] : values) {
    const auto found = estimate_of(samples);
    const auto [least, most] = std::ranges::minmax(samples);
    const bool by_estimate = samples.size() > 2 && found.low;
    made.push_back({x, found.mean, by_estimate ? *found.low : least, by_estimate ? *found.high : most});
  }
  return made;
}

struct curve {
  round_value value;
  std::string name = {};  ///< of a curve of the only run
  std::string key = {};   ///< of the figure of summary.json that a legend shows, as tables do; empty: the last value
};

curve metric_curve(std::size_t group, const metric& which) {
  return {[before = group_key(group), &which](const round_figures& round) { return score(round, before, which); },
          std::string(evaluation_groups[group]), group_key(group) + which.key};
}

struct curve_style {
  number_style numbers = number_style::plain;
  bool zero = false;   ///< y starts at 0
  bool noisy = false;  ///< long curves are means over a sliding window
  std::string note = {};
};

// The charts of some runs with one set of tracks: one for each run, then one for each configuration of several.
class curve_charts {
 public:
  explicit curve_charts(const reported_runs& report) : report_(report) {
    for (std::size_t i = 0; i < report.runs.size(); ++i) add_track({i});
    for (const auto& setup : report.configurations) {
      const auto& drawn = members(setup);
      track_of_.push_back(drawn.size() == 1 ? drawn.front() : tracks_.size());
      if (drawn.size() > 1) add_track(drawn);
    }
  }

  // A chart of some curves of the only run, or of one for each configuration; null of single points, which are better
  // shown in a table.
  [[nodiscard]] page_json chart(const std::string& title, const curve_style& style,
                                const std::vector<curve>& curves) const {
    auto made = new_chart("curves", title, {}, style.numbers);
    made["zero"] = style.zero;
    made["shared"] = report_.configurations.size() > 1;
    if (!style.note.empty()) made["note"] = style.note;
    for (std::size_t i = 0; i < report_.configurations.size(); ++i)
      for (std::size_t k = 0; k < curves.size(); ++k) add_curve(made, i, i + k, curves[k], style);
    const auto has_points = [](const page_json& chart) { return chart["y"].size() > 1; };
    return std::ranges::any_of(made["series"], has_points) ? made : page_json();
  }

  [[nodiscard]] const page_json& tracks() const { return tracks_; }

 private:
  // The runs that count; where none does, the others are drawn.
  static const std::vector<std::size_t>& members(const configuration& setup) {
    return setup.runs.empty() ? setup.failed : setup.runs;
  }

  void add_track(const std::vector<std::size_t>& members) {
    const auto mean = [&](const round_value& value) {
      std::vector<series> parts;
      for (const auto i : members) parts.push_back(over_rounds(report_.runs[i], value));
      return mean_of(std::move(parts));
    };
    page_json track{{"rounds", page_json::array()}};
    for (const auto& p : mean([](const round_figures& round) { return static_cast<double>(round.round); }))
      track["rounds"].push_back(static_cast<std::uint64_t>(p.x));
    const auto put = [&](const char* key, const series& values) {
      if (values.size() != track["rounds"].size() || values.empty() || !(values.back().y > 0.0)) return;
      for (const auto& p : values) track[key].push_back(brief(p.y));
    };
    put("time", mean(value_of("ended")));
    put("bytes", mean(cumulative({"bytes_up", "bytes_down"})));
    tracks_.push_back(std::move(track));
  }

  // Values, the interval of means unless it is empty everywhere, and where they lie in a track unless there is a value
  // for each of its rounds.
  void put_points(page_json& chart, const series& points, std::size_t track) const {
    // A chart of many curves is drawn as fast as one of a few.
    const auto kept = decimate(points, std::clamp<std::size_t>(2700 / report_.configurations.size(), 100, 500));
    const auto& rounds = tracks_[track]["rounds"];
    const bool has_band = std::ranges::any_of(points, [](const point& p) { return p.low != p.high; });
    for (const auto& p : kept) {
      if (kept.size() != rounds.size())
        chart["at"].push_back(std::lower_bound(rounds.begin(), rounds.end(), p.x) - rounds.begin());
      chart["y"].push_back(brief(p.y));
      if (!has_band) continue;
      chart["low"].push_back(brief(p.low));
      chart["high"].push_back(brief(p.high));
    }
  }

  void add_curve(page_json& chart, std::size_t number, std::size_t colour, const curve& shape,
                 const curve_style& style) const {
    const auto& configured = report_.configurations[number];
    const auto& drawn = members(configured);
    const auto& name = report_.is_one() ? shape.name : report_.names[number];
    std::vector<series> parts;
    bool smoothed = false;
    auto singles = page_json::array();
    for (const auto i : drawn) {
      auto points = over_rounds(report_.runs[i], shape.value);
      const bool is_long = style.noisy && points.size() >= few_rounds;
      if (drawn.size() > 1 || is_long) {
        page_json single{{"name", name + " seed " + report_.runs[i].seed}, {"track", i}};
        put_points(single, points, i);
        singles.push_back(std::move(single));
      }
      parts.push_back(is_long ? smooth(points, points.size() / 25) : std::move(points));
      smoothed = smoothed || is_long;
    }
    const auto mean = mean_of(std::move(parts));
    if (mean.empty()) return;
    auto& made = add_series(chart, name, colour);
    made["track"] = track_of_[number];
    const bool failed = configured.runs.empty() && report_.configurations.size() > 1;
    if (failed) made["failed"] = true;
    if (failed && has_failed(report_.runs[drawn.front()])) made["value"] = "";  // the last one says nothing
    put_points(made, mean, track_of_[number]);
    if (!singles.empty() && (made.contains("low") || smoothed)) made["runs"] = std::move(singles);  // else all are this
    if (const auto final = final_text(configured, shape.key, style.numbers); !final.empty()) made["value"] = final;
    if (!smoothed) return;
    chart["pale"] = report_.is_one();  // beside others single rounds would hide the means
    chart["note"] =
        joined({style.note, report_.is_one() ? "The curve is the mean over a sliding window of rounds; single rounds "
                                               "are pale."
                                             : "Curves are means over a sliding window of rounds."});
  }

  // The mean over the runs that count, and which model it is of.
  [[nodiscard]] std::string final_text(const configuration& setup, const std::string& key, number_style style) const {
    std::vector<double> values;
    for (const auto i : setup.runs)
      if (const auto value = report_.runs[i].summary->figure(key)) values.push_back(*value);
    if (values.empty()) return {};
    const auto rounds = best_rounds_text(report_.runs, setup);
    return written(estimate_of(values).mean, style) + (rounds.empty() ? "" : " (best, round " + rounds + ")");
  }

  const reported_runs& report_;
  page_json tracks_ = page_json::array();
  std::vector<std::size_t> track_of_;  ///< of each configuration
};

page_json section(std::string_view title, std::string_view note, std::vector<page_json> charts) {
  std::erase(charts, nullptr);
  return {{"title", title}, {"note", note}, {"charts", std::move(charts)}};
}

std::string learning_note(const reported_runs& report) {
  std::set<std::size_t> seeds;
  for (const auto& setup : report.configurations) seeds.insert(std::min<std::size_t>(3, setup.runs.size()));
  const std::string mean = "A curve is the mean over the seeds, up to the last round that all have. A band ";
  const std::string student = "is the 95 % interval of Student\u2019s t";
  const std::string two =
      seeds.contains(3) ? " (of two seeds, from the lower to the higher)" : "reaches from the lower to the higher";
  return joined(
      {*seeds.rbegin() < 2 ? "" : mean + (seeds.contains(3) ? student : "") + (seeds.contains(2) ? two : "") + ".",
       // More share a legend without figures.
       report.configurations.size() > 6 ? "" : "Legends of evaluations show the final figures, others the last value.",
       explained_figures(report.runs)});
}

// One run: a curve a group in each chart. Several: a chart a group, and a curve a configuration in each.
std::vector<page_json> learning(const curve_charts& charts, const reported_runs& report) {
  std::vector<page_json> made;
  for (std::size_t group = 0; !report.is_one() && group < evaluation_groups.size(); ++group)
    for (const auto& which : metrics)
      made.push_back(charts.chart(which.title + (", " + std::string(evaluation_groups[group])) + " clients",
                                  {which.style}, {metric_curve(group, which)}));
  for (const auto& which : metrics)
    if (report.is_one())
      made.push_back(charts.chart(
          which.title, {which.style},
          {metric_curve(0, which), metric_curve(1, which), metric_curve(2, which), metric_curve(3, which)}));
  made.push_back(charts.chart("Training loss",
                              {.noisy = true, .note = "Mean loss of an example before the step that uses it."},
                              {{if_applied("loss")}}));
  std::set<std::string> own;
  for (const auto& run : report.runs)
    for (const auto& round : run.rounds)
      for (const auto& [name, ignored] : round.counts_in("metrics.")) own.insert(name);
  for (const auto& name : own)
    made.push_back(charts.chart("Metric: " + name,
                                {.noisy = true, .note = "Of the tasks of a round, as the algorithm counts it."},
                                {{if_applied("metrics." + name)}}));
  made.push_back(charts.chart("Norm of the aggregated change",
                              {.noisy = true, .note = "L2 norm over all shared parameters."},
                              {{if_applied("change_norm")}}));
  return made;
}

std::vector<page_json> communication(const curve_charts& charts, const reported_runs& report) {
  const curve_style bytes{number_style::bytes, true};
  const curve up{cumulative({"bytes_up"}), "up, clients to server"};
  const curve down{cumulative({"bytes_down"}), "down, server to clients"};
  if (report.is_one()) return {charts.chart("Data moved so far", bytes, {down, up})};
  return {charts.chart("Data up so far", bytes, {up}), charts.chart("Data down so far", bytes, {down})};
}

page_json clients_by_round(const curve_charts& charts, const reported_runs& report) {
  const curve_style counts{number_style::count, true};
  const curve folded{value_of("folded"), "folded"};
  if (!report.is_one()) return charts.chart("Clients folded a round", counts, {folded});
  if (auto ends = outcomes_by_round(report.only()); !ends.is_null()) return ends;
  std::vector<curve> curves{{value_of("selected"), "selected"}, folded};
  if (std::ranges::any_of(report.only().rounds, [](const auto& round) { return round.count("rejected") > 0; }))
    curves.push_back({value_of("rejected"), "rejected"});
  return charts.chart("Clients a round", counts, curves);
}

// A chart a tensor: how far the weights of a round's updates lie apart.
std::vector<page_json> attention(const curve_charts& charts, const run_record& run) {
  std::vector<page_json> made;
  const auto first = std::ranges::find_if(run.rounds, [](const auto& round) { return !round.attention.empty(); });
  for (std::size_t t = 0; first != run.rounds.end() && t < first->attention.size(); ++t) {
    const auto value_of = [t](auto value) -> round_value {
      return [=](const round_figures& round) {
        return t < round.attention.size() ? std::optional(value(round.attention[t])) : std::nullopt;
      };
    };
    made.push_back(charts.chart("Weight of an update in " + first->attention[t].tensor, {},
                                {{value_of([](const auto& weights) { return weights.least; }), "smallest"},
                                 {value_of([](const auto& weights) { return weights.most; }), "largest"},
                                 {value_of([](const auto&) { return 1.0; }), "mean"}}));
  }
  return made;
}

std::vector<page_json> embedding_pictures(const reported_runs& report) {
  std::vector<page_json> made;
  for (std::size_t i = 0; i < report.runs.size(); ++i)
    made.push_back(embedding_picture(report.runs[i], report.is_one() ? "" : report.labels[i]));
  return made;
}

}  // namespace

page_json figures_of(const reported_runs& report) {
  const curve_charts charts(report);
  const auto attention_note =
      "An update\u2019s attention times the number of updates in its round: 1 is what a plain mean gives to all.";
  const auto embeddings_note =
      joined({"These points are made of private values: anyone who has this file learns which users are similar.",
              embedding_likeness(report.runs, report.labels)});
  std::vector<page_json> sections{
      section("Learning", learning_note(report), learning(charts, report)),
      section("Attention", attention_note, attention(charts, report.only())),
      section("Quality by participation", "", quality_by_participation(report.only())),
      section("Quality by activity", "", quality_by_activity(report.only())),
      client_charts(report),
      section("Communication", "", communication(charts, report)),
      section("Participation", "",
              {clients_by_round(charts, report), availability_by_hour(report.only()),
               charts.chart("Examples a round", {number_style::count, true, true}, {{value_of("examples")}}),
               staleness_histogram(report.only())}),
      section("Rounds, task by task", "", timelines_of(report.only())),
      section("User embeddings", embeddings_note, embedding_pictures(report))};
  std::erase_if(sections, [](const auto& section) { return section["charts"].empty(); });
  const auto is_asynchronous = [](const run_record& record) { return !record.staleness.empty(); };
  return {{"clock", time_word(report.runs)},
          {"asynchronous", std::ranges::all_of(report.runs, is_asynchronous)},
          {"tracks", charts.tracks()},
          {"sections", std::move(sections)}};
}

}  // namespace furlong::tools
