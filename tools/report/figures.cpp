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
series mean_of(std::vector<series> of) {
  std::erase_if(of, [](const auto& one) { return one.empty(); });
  if (of.size() < 2) return of.empty() ? series() : of.front();
  std::map<double, std::vector<double>> values;
  for (const auto& one : of)
    for (const auto& p : one) values[p.x].push_back(p.y);
  while (!values.empty() && values.rbegin()->second.size() < of.size()) values.erase(std::prev(values.end()));
  series made;
  for (const auto& [x, some] : values) {
    const auto found = estimate_of(some);
    const auto [least, most] = std::ranges::minmax(some);
    const bool by_estimate = some.size() > 2 && found.low;
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
  explicit curve_charts(const reported_runs& of) : of_(of) {
    for (std::size_t i = 0; i < of.runs.size(); ++i) add_track({i});
    for (const auto& one : of.configurations) {
      const auto& drawn = members(one);
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
    made["shared"] = of_.configurations.size() > 1;
    if (!style.note.empty()) made["note"] = style.note;
    for (std::size_t i = 0; i < of_.configurations.size(); ++i)
      for (std::size_t k = 0; k < curves.size(); ++k) add_curve(made, i, i + k, curves[k], style);
    const auto has_points = [](const page_json& one) { return one["y"].size() > 1; };
    return std::ranges::any_of(made["series"], has_points) ? made : page_json();
  }

  [[nodiscard]] const page_json& tracks() const { return tracks_; }

 private:
  // The runs that count; where none does, the others are drawn.
  static const std::vector<std::size_t>& members(const configuration& of) {
    return of.runs.empty() ? of.failed : of.runs;
  }

  void add_track(const std::vector<std::size_t>& of) {
    const auto mean = [&](const round_value& value) {
      std::vector<series> all;
      for (const auto i : of) all.push_back(over_rounds(of_.runs[i], value));
      return mean_of(std::move(all));
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
  void put_points(page_json& to, const series& points, std::size_t track) const {
    // A chart of many curves is drawn as fast as one of a few.
    const auto kept = decimate(points, std::clamp<std::size_t>(2700 / of_.configurations.size(), 100, 500));
    const auto& rounds = tracks_[track]["rounds"];
    const bool has_band = std::ranges::any_of(points, [](const point& p) { return p.low != p.high; });
    for (const auto& p : kept) {
      if (kept.size() != rounds.size())
        to["at"].push_back(std::lower_bound(rounds.begin(), rounds.end(), p.x) - rounds.begin());
      to["y"].push_back(brief(p.y));
      if (!has_band) continue;
      to["low"].push_back(brief(p.low));
      to["high"].push_back(brief(p.high));
    }
  }

  void add_curve(page_json& to, std::size_t of, std::size_t colour, const curve& what, const curve_style& style) const {
    const auto& configured = of_.configurations[of];
    const auto& drawn = members(configured);
    const auto& name = of_.is_one() ? what.name : of_.names[of];
    std::vector<series> all;
    bool smoothed = false;
    auto singles = page_json::array();
    for (const auto i : drawn) {
      auto points = over_rounds(of_.runs[i], what.value);
      const bool is_long = style.noisy && points.size() >= few_rounds;
      if (drawn.size() > 1 || is_long) {
        page_json single{{"name", name + " seed " + of_.runs[i].seed}, {"track", i}};
        put_points(single, points, i);
        singles.push_back(std::move(single));
      }
      all.push_back(is_long ? smooth(points, points.size() / 25) : std::move(points));
      smoothed = smoothed || is_long;
    }
    const auto mean = mean_of(std::move(all));
    if (mean.empty()) return;
    auto& made = add_series(to, name, colour);
    made["track"] = track_of_[of];
    const bool failed = configured.runs.empty() && of_.configurations.size() > 1;
    if (failed) made["failed"] = true;
    if (failed && has_failed(of_.runs[drawn.front()])) made["value"] = "";  // the last one says nothing
    put_points(made, mean, track_of_[of]);
    if (!singles.empty() && (made.contains("low") || smoothed)) made["runs"] = std::move(singles);  // else all are this
    if (const auto final = final_text(configured, what.key, style.numbers); !final.empty()) made["value"] = final;
    if (!smoothed) return;
    to["pale"] = of_.is_one();  // beside others single rounds would hide the means
    to["note"] =
        joined({style.note, of_.is_one() ? "The curve is the mean over a sliding window of rounds; single rounds "
                                           "are pale."
                                         : "Curves are means over a sliding window of rounds."});
  }

  // The mean over the runs that count, and which model it is of.
  [[nodiscard]] std::string final_text(const configuration& of, const std::string& key, number_style style) const {
    std::vector<double> values;
    for (const auto i : of.runs)
      if (const auto value = of_.runs[i].summary->figure(key)) values.push_back(*value);
    if (values.empty()) return {};
    const auto rounds = best_rounds_text(of_.runs, of);
    return written(estimate_of(values).mean, style) + (rounds.empty() ? "" : " (best, round " + rounds + ")");
  }

  const reported_runs& of_;
  page_json tracks_ = page_json::array();
  std::vector<std::size_t> track_of_;  ///< of each configuration
};

page_json section(std::string_view title, std::string_view note, std::vector<page_json> charts) {
  std::erase(charts, nullptr);
  return {{"title", title}, {"note", note}, {"charts", std::move(charts)}};
}

std::string learning_note(const reported_runs& of) {
  std::set<std::size_t> seeds;
  for (const auto& one : of.configurations) seeds.insert(std::min<std::size_t>(3, one.runs.size()));
  const std::string mean = "A curve is the mean over the seeds, up to the last round that all have. A band ";
  const std::string student = "is the 95 % interval of Student\u2019s t";
  const std::string two =
      seeds.contains(3) ? " (of two seeds, from the lower to the higher)" : "reaches from the lower to the higher";
  return joined(
      {*seeds.rbegin() < 2 ? "" : mean + (seeds.contains(3) ? student : "") + (seeds.contains(2) ? two : "") + ".",
       // More share a legend without figures.
       of.configurations.size() > 6 ? "" : "Legends of evaluations show the final figures, others the last value.",
       explained_figures(of.runs)});
}

// One run: a curve a group in each chart. Several: a chart a group, and a curve a configuration in each.
std::vector<page_json> learning(const curve_charts& charts, const reported_runs& of) {
  std::vector<page_json> made;
  for (std::size_t group = 0; !of.is_one() && group < evaluation_groups.size(); ++group)
    for (const auto& which : metrics)
      made.push_back(charts.chart(which.title + (", " + std::string(evaluation_groups[group])) + " clients",
                                  {which.style}, {metric_curve(group, which)}));
  for (const auto& which : metrics)
    if (of.is_one())
      made.push_back(charts.chart(
          which.title, {which.style},
          {metric_curve(0, which), metric_curve(1, which), metric_curve(2, which), metric_curve(3, which)}));
  made.push_back(charts.chart("Training loss",
                              {.noisy = true, .note = "Mean loss of an example before the step that uses it."},
                              {{if_applied("loss")}}));
  std::set<std::string> own;
  for (const auto& run : of.runs)
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

std::vector<page_json> communication(const curve_charts& charts, const reported_runs& of) {
  const curve_style bytes{number_style::bytes, true};
  const curve up{cumulative({"bytes_up"}), "up, clients to server"};
  const curve down{cumulative({"bytes_down"}), "down, server to clients"};
  if (of.is_one()) return {charts.chart("Data moved so far", bytes, {down, up})};
  return {charts.chart("Data up so far", bytes, {up}), charts.chart("Data down so far", bytes, {down})};
}

page_json clients_by_round(const curve_charts& charts, const reported_runs& of) {
  const curve_style counts{number_style::count, true};
  const curve folded{value_of("folded"), "folded"};
  if (!of.is_one()) return charts.chart("Clients folded a round", counts, {folded});
  if (auto ends = outcomes_by_round(of.only()); !ends.is_null()) return ends;
  std::vector<curve> curves{{value_of("selected"), "selected"}, folded};
  if (std::ranges::any_of(of.only().rounds, [](const auto& round) { return round.count("rejected") > 0; }))
    curves.push_back({value_of("rejected"), "rejected"});
  return charts.chart("Clients a round", counts, curves);
}

// A chart a tensor: how far the weights of a round's updates lie apart.
std::vector<page_json> attention(const curve_charts& charts, const run_record& run) {
  std::vector<page_json> made;
  const auto first = std::ranges::find_if(run.rounds, [](const auto& round) { return !round.attention.empty(); });
  for (std::size_t t = 0; first != run.rounds.end() && t < first->attention.size(); ++t) {
    const auto at = [t](auto value) -> round_value {
      return [=](const round_figures& round) {
        return t < round.attention.size() ? std::optional(value(round.attention[t])) : std::nullopt;
      };
    };
    made.push_back(charts.chart("Weight of an update in " + first->attention[t].tensor, {},
                                {{at([](const auto& of) { return of.least; }), "smallest"},
                                 {at([](const auto& of) { return of.most; }), "largest"},
                                 {at([](const auto&) { return 1.0; }), "mean"}}));
  }
  return made;
}

std::vector<page_json> embedding_pictures(const reported_runs& of) {
  std::vector<page_json> made;
  for (std::size_t i = 0; i < of.runs.size(); ++i)
    made.push_back(embedding_picture(of.runs[i], of.is_one() ? "" : of.labels[i]));
  return made;
}

}  // namespace

page_json figures_of(const reported_runs& of) {
  const curve_charts charts(of);
  const auto attention_note =
      "An update\u2019s attention times the number of updates in its round: 1 is what a plain mean gives to all.";
  const auto embeddings_note =
      joined({"These points are made of private values: anyone who has this file learns which users are similar.",
              embedding_likeness(of.runs, of.labels)});
  std::vector<page_json> sections{
      section("Learning", learning_note(of), learning(charts, of)),
      section("Attention", attention_note, attention(charts, of.only())),
      section("Quality by participation", "", quality_by_participation(of.only())),
      section("Quality by activity", "", quality_by_activity(of.only())),
      client_charts(of),
      section("Communication", "", communication(charts, of)),
      section("Participation", "",
              {clients_by_round(charts, of), availability_by_hour(of.only()),
               charts.chart("Examples a round", {number_style::count, true, true}, {{value_of("examples")}}),
               staleness_histogram(of.only())}),
      section("Rounds, task by task", "", timelines_of(of.only())),
      section("User embeddings", embeddings_note, embedding_pictures(of))};
  std::erase_if(sections, [](const auto& one) { return one["charts"].empty(); });
  const auto is_asynchronous = [](const run_record& one) { return !one.staleness.empty(); };
  return {{"clock", time_word(of.runs)},
          {"asynchronous", std::ranges::all_of(of.runs, is_asynchronous)},
          {"tracks", charts.tracks()},
          {"sections", std::move(sections)}};
}

}  // namespace furlong::tools
