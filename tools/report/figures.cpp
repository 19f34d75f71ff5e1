#include "tools/report/detail/figures.hpp"

#include <algorithm>
#include <array>
#include <charconv>
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

round_value metric_of(std::size_t group, const metric& which) {
  return [before = group_key(group), &which](const round_figures& round) { return score(round, before, which); };
}

round_value value_of(const std::string& key) {
  return [key](const round_figures& round) { return round.figure(key); };
}

// What a round that changed nothing says of its training means nothing.
round_value if_applied(const std::string& key) {
  return [key](const round_figures& round) { return round.applied() ? round.figure(key) : std::nullopt; };
}

// The sum of a count up to each round. To be copied for each run, since it counts.
round_value cumulative(const std::string& key) {
  return [key, sum = 0.0](const round_figures& round) mutable { return sum += static_cast<double>(round.count(key)); };
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

// Means of several runs, round by round, up to the last round that all of them have.
struct mean_curve {
  series points;
  std::map<double, std::pair<double, double>> band;  ///< by round; empty of one run
};

mean_curve mean_of(std::vector<series> of) {
  std::erase_if(of, [](const auto& one) { return one.empty(); });
  if (of.empty()) return {};
  if (of.size() == 1) return {of.front(), {}};
  std::map<double, std::vector<double>> values;
  for (const auto& one : of)
    for (const auto& p : one) values[p.x].push_back(p.y);
  while (!values.empty() && std::prev(values.end())->second.size() < of.size()) values.erase(std::prev(values.end()));
  mean_curve made;
  for (const auto& [x, some] : values) {
    const auto found = estimate_of(some);
    made.points.push_back({x, found.mean});
    const auto [least, most] = std::minmax_element(some.begin(), some.end());
    made.band[x] = some.size() > 2 && found.low ? std::pair(*found.low, *found.high) : std::pair(*least, *most);
  }
  return made;
}

// The charts of some runs with one set of tracks: one for each run, then one for each configuration of several.
class curve_charts {
 public:
  curve_charts(std::span<const run_record> runs, std::span<const configuration> configurations)
      : runs_(runs), of_(configurations) {
    for (std::size_t i = 0; i < runs.size(); ++i) add_track({i});
    for (const auto& one : of_) {
      const auto drawn = members(one);
      track_of_.push_back(drawn.size() == 1 ? drawn.front() : tracks_.size());
      if (drawn.size() > 1) add_track(drawn);
    }
  }

  struct wanted {
    std::string title;
    number_style style = number_style::plain;
    bool zero = false;     ///< y starts at 0
    bool noisy = false;    ///< long curves are means over a sliding window
    std::string key = {};  ///< of the figure of summary.json that a legend shows, as tables do; empty: the last value
  };

  // A curve for each configuration.
  void add(page_json& to, const wanted& what, const round_value& value) const {
    auto chart = start(what);
    for (std::size_t i = 0; i < of_.size(); ++i) add_series(chart, i, name(i), i, value, what);
    finish(to, std::move(chart), of_.size() > 1);
  }

  // Several curves of the only run; a name may have the key of its final figure.
  struct curve {
    std::string name;
    round_value value;
    std::string key = {};
  };
  void add(page_json& to, wanted what, const std::vector<curve>& values) const {
    auto chart = start(what);
    for (std::size_t i = 0; i < values.size(); ++i) {
      what.key = values[i].key;
      add_series(chart, 0, values[i].name, i, values[i].value, what);
    }
    finish(to, std::move(chart), false);
  }

  [[nodiscard]] const page_json& tracks() const { return tracks_; }
  [[nodiscard]] std::string name(std::size_t i) const {
    if (runs_.size() == 1) return "";
    return of_[i].label +
           (of_[i].runs.empty() ? " (" + std::string(state_word(runs_[of_[i].failed.front()])) + ")" : "");
  }

 private:
  // The runs that count; where none does, the others are drawn.
  static const std::vector<std::size_t>& members(const configuration& of) {
    return of.runs.empty() ? of.failed : of.runs;
  }

  void add_track(const std::vector<std::size_t>& of) {
    const auto mean = [&](const round_value& value) {
      std::vector<series> all;
      for (const auto i : of) all.push_back(over_rounds(runs_[i], value));
      return mean_of(std::move(all)).points;
    };
    page_json track;
    const auto rounds = mean([](const round_figures& round) { return static_cast<double>(round.round); });
    const auto put = [&](const char* key, const series& values) {
      if (values.size() != rounds.size() || values.empty() || !(values.back().y > 0.0)) return;
      for (const auto& p : values) track[key].push_back(brief(p.y));
    };
    track["rounds"] = page_json::array();
    rounds_.emplace_back();
    for (const auto& p : rounds) {
      track["rounds"].push_back(static_cast<std::uint64_t>(p.x));
      rounds_.back().push_back(p.x);
    }
    put("time", mean(value_of("ended")));
    const auto moved = [sum = 0.0](const round_figures& round) mutable {
      return std::optional(sum += static_cast<double>(round.count("bytes_up") + round.count("bytes_down")));
    };
    put("bytes", mean(moved));
    tracks_.push_back(std::move(track));
  }

  [[nodiscard]] page_json start(const wanted& what) const {
    return {{"kind", "curves"},
            {"title", what.title},
            {"style", name_of(what.style)},
            {"zero", what.zero},
            {"series", page_json::array()}};
  }

  // Points of a curve: a chart of many is drawn as fast as one of a few.
  [[nodiscard]] std::size_t limit() const { return std::clamp<std::size_t>(2700 / of_.size(), 100, 500); }

  // Values, and where they lie in a track unless there is one for each of its rounds.
  void put_points(page_json& to, const series& points, std::size_t track) const {
    const auto& rounds = rounds_[track];
    for (const auto& p : points) {
      if (points.size() != rounds.size())
        to["at"].push_back(std::lower_bound(rounds.begin(), rounds.end(), p.x) - rounds.begin());
      to["y"].push_back(brief(p.y));
    }
  }

  void add_series(page_json& chart, std::size_t of, const std::string& name, std::size_t colour,
                  const round_value& value, const wanted& what) const {
    const auto& drawn = members(of_[of]);
    std::vector<series> all;
    bool smoothed = false;
    page_json singles = page_json::array();
    for (const auto i : drawn) {
      auto points = over_rounds(runs_[i], value);
      const bool long_enough = what.noisy && points.size() >= few_rounds;
      if (drawn.size() > 1 || long_enough) {
        page_json single{{"name", name + " seed " + runs_[i].seed}, {"track", i}};
        put_points(single, decimate(points, limit()), i);
        singles.push_back(std::move(single));
      }
      if (long_enough) points = smooth(points, points.size() / 25);
      smoothed = smoothed || long_enough;
      all.push_back(std::move(points));
    }
    const auto mean = mean_of(std::move(all));
    if (mean.points.empty()) return;
    page_json made{{"name", name}, {"colour", colour}, {"track", track_of_[of]}};
    if (of_[of].runs.empty() && of_.size() > 1) made["failed"] = true;
    if (made.contains("failed") && has_failed(runs_[drawn.front()])) made["value"] = "";  // the last one says nothing
    const auto kept = decimate(mean.points, limit());
    put_points(made, kept, track_of_[of]);
    const bool alike =
        std::ranges::all_of(mean.band, [](const auto& at) { return at.second.first == at.second.second; });
    if (!alike)  // else there is no band to see, and all runs are this curve
      for (const auto& p : kept) {
        made["low"].push_back(brief(mean.band.at(p.x).first));
        made["high"].push_back(brief(mean.band.at(p.x).second));
      }
    if (!singles.empty() && (!alike || smoothed)) made["runs"] = std::move(singles);
    if (const auto final = final_text(of, what); !final.empty()) made["value"] = final;
    if (smoothed) {
      chart["pale"] = runs_.size() == 1;  // beside others single rounds would hide the means
      chart["note"] = runs_.size() == 1 ? "The mean over a sliding window of rounds; single rounds are pale."
                                        : "Means over a sliding window of rounds.";
    }
    chart["series"].push_back(std::move(made));
  }

  // The mean over the runs that count, and which model it is of.
  [[nodiscard]] std::string final_text(std::size_t of, const wanted& what) const {
    std::vector<double> values;
    for (const auto i : of_[of].runs)
      if (const auto value = runs_[i].summary->figure(what.key)) values.push_back(*value);
    if (what.key.empty() || values.empty()) return {};
    const auto rounds = best_rounds_text(runs_, of_[of]);
    return written(estimate_of(values).mean, what.style) + (rounds.empty() ? "" : " (best, round " + rounds + ")");
  }

  // One point is better shown in a table.
  static void finish(page_json& to, page_json chart, bool shared) {
    chart["shared"] = shared;
    for (const auto& one : chart["series"])
      if (one["y"].size() > 1) return to.push_back(std::move(chart));
  }

  std::span<const run_record> runs_;
  std::span<const configuration> of_;
  page_json tracks_ = page_json::array();
  std::vector<std::vector<double>> rounds_;  ///< of each track
  std::vector<std::size_t> track_of_;        ///< of each configuration
};

using wanted = curve_charts::wanted;

page_json section(std::string title, std::string note = {}, const std::vector<page_json>& charts = {}) {
  return {{"title", std::move(title)}, {"note", std::move(note)}, {"charts", charts}};
}

// One run: a curve a group in each chart. Several: a chart a group, and a curve a configuration in each.
page_json learning(const curve_charts& charts, std::span<const run_record> runs,
                   std::span<const configuration> configurations) {
  auto made = section("Learning");
  auto& to = made["charts"];
  for (std::size_t group = 0; runs.size() > 1 && group < evaluation_groups.size(); ++group)
    for (const auto& which : metrics)
      charts.add(to,
                 {which.title + (", " + std::string(evaluation_groups[group])) + " clients", which.style, false, false,
                  group_key(group) + which.key},
                 metric_of(group, which));
  for (const auto& which : metrics) {
    if (runs.size() > 1) break;
    std::vector<curve_charts::curve> groups;
    for (std::size_t group = 0; group < evaluation_groups.size(); ++group)
      groups.push_back({std::string(evaluation_groups[group]), metric_of(group, which), group_key(group) + which.key});
    charts.add(to, {which.title, which.style}, groups);
  }
  charts.add(to, {"Training loss", number_style::plain, false, true}, if_applied("loss"));
  charts.add(to, {"Norm of the aggregated change", number_style::plain, false, true}, if_applied("change_norm"));
  std::set<std::size_t> seeds;
  for (const auto& one : configurations) seeds.insert(std::min<std::size_t>(3, one.runs.size()));
  const std::string mean = "A curve is the mean over the seeds, up to the last round that all have. A band ";
  const std::string student = "is the 95 % interval of Student\u2019s t";
  const std::string two =
      seeds.contains(3) ? " (of two seeds, from the lower to the higher)" : "reaches from the lower to the higher";
  made["note"] = joined(
      {*seeds.rbegin() < 2 ? "" : mean + (seeds.contains(3) ? student : "") + (seeds.contains(2) ? two : "") + ".",
       // More share a legend without figures.
       configurations.size() > 6 ? "" : "Legends of evaluations show the final figures, others the last value.",
       explained_figures(runs)});
  return made;
}

page_json communication(const curve_charts& charts, std::span<const run_record> runs) {
  auto made = section("Communication");
  if (runs.size() == 1) {
    charts.add(
        made["charts"], {"Data moved so far", number_style::bytes, true},
        {{"down, server to clients", cumulative("bytes_down")}, {"up, clients to server", cumulative("bytes_up")}});
  } else {
    charts.add(made["charts"], {"Data up so far", number_style::bytes, true}, cumulative("bytes_up"));
    charts.add(made["charts"], {"Data down so far", number_style::bytes, true}, cumulative("bytes_down"));
  }
  return made;
}

void add_some(page_json& to, page_json chart) {
  if (!chart.is_null()) to.push_back(std::move(chart));
}

page_json participation(const curve_charts& charts, std::span<const run_record> runs) {
  auto made = section("Participation");
  auto& to = made["charts"];
  const auto& run = runs.front();
  if (auto ends = runs.size() == 1 ? outcomes_by_round(run) : page_json(); !ends.is_null()) {
    to.push_back(std::move(ends));
  } else if (runs.size() == 1) {
    std::vector<curve_charts::curve> counts{{"selected", value_of("selected")}, {"folded", value_of("folded")}};
    if (std::ranges::any_of(run.rounds, [](const auto& round) { return round.count("rejected") > 0; }))
      counts.push_back({"rejected", value_of("rejected")});
    charts.add(to, {"Clients a round", number_style::count, true}, counts);
  } else {
    charts.add(to, {"Clients folded a round", number_style::count, true}, value_of("folded"));
  }
  if (runs.size() == 1) add_some(to, availability_by_hour(run));
  charts.add(to, {"Examples a round", number_style::count, true, true}, value_of("examples"));
  if (runs.size() == 1) add_some(to, staleness_histogram(run));
  return made;
}

// A chart a tensor: how far the weights of a round's updates lie apart.
page_json attention(const curve_charts& charts, const run_record& run) {
  auto made = section(
      "Attention",
      "An update\u2019s attention times the number of updates in its round: 1 is what a plain mean gives to all.");
  const auto first = std::ranges::find_if(run.rounds, [](const auto& round) { return !round.attention.empty(); });
  for (std::size_t t = 0; first != run.rounds.end() && t < first->attention.size(); ++t) {
    const auto at = [t](double attention_figures::*value) -> round_value {
      return [t, value](const round_figures& round) -> std::optional<double> {
        if (t >= round.attention.size()) return std::nullopt;
        return value == nullptr ? 1.0 : round.attention[t].*value;
      };
    };
    charts.add(made["charts"], {"Weight of an update in " + first->attention[t].tensor},
               {{"smallest", at(&attention_figures::least)},
                {"largest", at(&attention_figures::most)},
                {"mean", at(nullptr)}});
  }
  return made;
}

page_json user_embeddings(std::span<const run_record> runs, const std::vector<std::string>& labels) {
  auto made = section("User embeddings");
  for (std::size_t i = 0; i < runs.size(); ++i)
    add_some(made["charts"], embedding_picture(runs[i], runs.size() == 1 ? "" : labels[i]));
  made["note"] =
      joined({"These points are made of private values: anyone who has this file learns which users are similar.",
              embedding_likeness(runs, labels)});
  return made;
}

}  // namespace

page_json brief(double value) {
  if (!std::isfinite(value)) return nullptr;
  std::array<char, 40> text{};
  const auto* const end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6).ptr;
  std::from_chars(text.data(), end, value);
  return value == std::round(value) && std::abs(value) < 1e15 ? page_json(static_cast<std::int64_t>(value))
                                                              : page_json(value);
}

std::string_view name_of(number_style style) {
  constexpr std::array<std::string_view, 8> names{"plain", "percent", "accuracy", "count",
                                                  "mean",  "rate",    "bytes",    "seconds"};
  return names.at(static_cast<std::size_t>(style));
}

page_json figures_of(std::span<const run_record> runs, std::span<const configuration> configurations) {
  const curve_charts charts(runs, configurations);
  const auto labels = labels_of(runs, configurations);
  std::vector<page_json> sections{learning(charts, runs, configurations)};
  if (runs.size() == 1) {
    sections.push_back(attention(charts, runs.front()));
    sections.push_back(section("Quality by participation", "", quality_by_participation(runs.front())));
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < configurations.size(); ++i) names.push_back(charts.name(i));
  sections.push_back(client_charts(runs, configurations, names));
  sections.push_back(communication(charts, runs));
  sections.push_back(participation(charts, runs));
  if (runs.size() == 1) sections.push_back(section("Rounds, task by task", "", timelines_of(runs.front())));
  sections.push_back(user_embeddings(runs, labels));
  std::erase_if(sections, [](const auto& one) { return one["charts"].empty(); });
  const auto is_asynchronous = [](const run_record& run) {
    return std::ranges::any_of(run.rounds, [](const auto& round) { return !round.staleness.empty(); });
  };
  return {{"clock", time_word(runs)},
          {"asynchronous", std::ranges::any_of(runs, is_asynchronous)},
          {"tracks", charts.tracks()},
          {"sections", std::move(sections)}};
}

}  // namespace furlong::tools
