#include "tools/compare/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "tools/compare/run_figures.hpp"

namespace furlong::tools {

namespace {

// Figures of the protocol "fedatt-2018" do not compete with those of language models.
std::vector<bool> competing(std::span<const run_record> runs, const std::vector<configuration>& configurations) {
  const bool alike = std::ranges::all_of(runs, is_no_language_model);
  std::vector<bool> competes;
  for (const auto& setup : configurations)
    competes.push_back(alike ||
                       std::ranges::none_of(setup.runs, [&](std::size_t i) { return is_no_language_model(runs[i]); }));
  return competes;
}

// The position of the seed in the values of a configuration.
std::optional<std::size_t> position_of(const std::string& seed, const std::vector<seeded_value>& values) {
  const auto found = std::ranges::find(values, seed, &seeded_value::first);
  return found == values.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - values.begin()));
}

// Whether the runs of each seed that two configurations share were scored on the same.
bool comparable(const compared_column& column, std::size_t a, std::size_t b) {
  for (std::size_t i = 0; i < column.values[a].size(); ++i)
    if (const auto partner = position_of(column.values[a][i].first, column.values[b]);
        partner && !same_scored(column.facts[a][i], column.facts[b][*partner]))
      return false;
  return true;
}

bool all_finite(const std::vector<seeded_value>& values) {
  return std::ranges::all_of(values, [](const auto& value) { return std::isfinite(value.second); });
}

// Whether two configurations differ beyond chance: by the interval, or where no seed changes their figures at all, such
// as bytes.
bool differ(const compared_column& column, std::size_t a, std::size_t b, const estimate& difference) {
  if (column.estimates[a].is_constant() && column.estimates[b].is_constant())
    return difference.is_constant() && difference.mean != 0.0;
  return difference.excludes_zero();
}

std::optional<std::size_t> best_in(const compared_column& column, const std::vector<bool>& competes) {
  if (column.figure.when == better::neither) return std::nullopt;
  const double sign = column.figure.when == better::smaller ? 1.0 : -1.0;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (!competes[i] || column.estimates[i].n == 0 || !all_finite(column.values[i])) continue;
    if (!best || sign * column.estimates[i].mean < sign * column.estimates[*best].mean) best = i;
  }
  if (!best) return best;
  std::size_t rivals = 0;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (i == *best || !competes[i] || column.values[i].empty()) continue;
    ++rivals;
    if (!comparable(column, *best, i)) return std::nullopt;
    if (const auto behind = difference_in(column, *best, i);
        !differ(column, *best, i, behind) || sign * behind.mean < 0.0)
      return std::nullopt;
  }
  return rivals > 0 ? best : std::nullopt;
}

// All spreads of a column are nothing: of counts that no seed changes.
bool is_constant(const compared_column& column) {
  return std::ranges::all_of(column.estimates, [](const auto& value) { return value.sd.value_or(0.0) == 0.0; });
}

// A note for each reason, with its configurations and the folders of their runs.
void add_failed(std::span<const run_record> runs, const comparison& compared, std::vector<std::string>& notes) {
  constexpr std::size_t listed = 8;
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  std::size_t unlisted = 0;
  for (const auto& setup : compared.configurations)
    for (const auto i : setup.failed) {
      const auto& run = runs[i];
      auto why = run.summary ? failure_of(run) : "not ended";
      if (const auto colon = why.find(": "); colon != std::string::npos) why[colon] = ',';
      if (!run.summary && !run.rounds.empty()) why.append(" after ").append(counted(rounds_of(run), "round"));
      auto found = std::ranges::find_if(reasons, [&](const auto& known) { return known.first == why; });
      if (found == reasons.end() && reasons.size() < listed) found = reasons.insert(found, {why, {}});
      if (found == reasons.end() || found->second.size() == listed)
        ++unlisted;
      else
        found->second.push_back(setup.label + ", run \"" + run.directory.filename().string() + "\"");
    }
  for (const auto& [why, names] : reasons) notes.push_back("Not counted: " + joined(names, "; ") + ": " + why + ".");
  if (unlisted > 0) notes.push_back("Not counted either: " + counted(unlisted, "run") + ".");
}

// How many seeds the compared configurations share at most.
std::size_t most_pairs(std::span<const run_record> runs, const std::vector<configuration>& configurations) {
  std::size_t most = 0;
  std::vector<std::set<std::string>> seeds(configurations.size());
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    for (const auto run : configurations[i].runs) seeds[i].insert(runs[run].seed);
    for (std::size_t j = 0; j < i; ++j)
      most = std::max(most, static_cast<std::size_t>(std::ranges::count_if(
                                seeds[j], [&](const auto& seed) { return seeds[i].contains(seed); })));
  }
  return most;
}

std::string mark_note(std::span<const run_record> runs, const comparison& compared) {
  const auto counted_configurations =
      std::ranges::count_if(compared.configurations, [](const auto& setup) { return !setup.runs.empty(); });
  if (counted_configurations < 2) return {};
  const auto pairs = most_pairs(runs, compared.configurations);
  if (pairs == 0)
    return "Nothing is marked as best: the configurations share no seed, so that no difference is paired.";
  if (pairs == 1)
    return "Nothing is marked as best: with one shared seed a difference has no interval; run several seeds.";
  const bool marks = std::ranges::any_of(compared.columns, [](const auto& column) { return column.best.has_value(); });
  const bool ranked =
      std::ranges::any_of(compared.columns, [](const auto& column) { return column.figure.when != better::neither; });
  if (!ranked) return "Nothing is marked as best: neither a smaller nor a larger value of these figures is better.";
  if (!marks)
    return "Nothing is marked as best: no configuration is better than every other one by more than the 95 % interval "
           "of the differences within a seed.";
  return "* best: the 95 % interval of its difference to each other configuration, within a seed, excludes zero.";
}

// Figures that vary over seeds, of configurations whose difference does not: neither a mark nor an interval is made of
// it.
std::string constant_note(const comparison& compared) {
  std::vector<std::string> figures;
  for (const auto& column : compared.columns) {
    const auto differs_equally = [&](std::size_t i, std::size_t j) {
      const auto difference = difference_in(column, j, i);
      return difference.is_constant() && difference.mean != 0.0 && !differ(column, i, j, difference);
    };
    bool found = false;
    for (std::size_t i = 0; i < compared.configurations.size() && !found; ++i)
      for (std::size_t j = 0; j < i && !found; ++j) found = differs_equally(i, j);
    if (found) figures.push_back(column.figure.key);
  }
  if (figures.empty()) return {};
  return "A difference that is the same in each seed has no interval, since nothing is known of its spread: " +
         joined(figures, ", ") + ". More seeds, or more scored examples, show it.";
}

// Values of a fact that differ within a seed, each with the runs that have it.
struct fact_conflict {
  std::string name;
  std::string group;                                                     ///< of the evaluation; empty: of the whole run
  std::vector<std::pair<std::string, std::vector<std::string>>> values;  ///< and runs, in words
};

// The value in words: of data their settings, where these say what differs.
std::string value_words(const configuration& owner, const scored_fact& fact) {
  if (fact.name != "data") return fact.value;
  std::vector<std::string> settings;
  for (const auto& [key, value] : owner.settings)
    if (chooses_scored(key)) settings.push_back(key + " = " + value);
  return settings.empty() ? "digest " + fact.value.substr(0, 8) : joined(settings, ", ");
}

// All conflicts of a column, a fact each: those of the first seed that has one.
std::vector<fact_conflict> conflicts_in(std::span<const run_record> runs, const comparison& compared,
                                        const compared_column& column) {
  std::vector<fact_conflict> found;
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::size_t>> digests;  // by fact and seed
  std::map<std::pair<std::string, std::string>, fact_conflict> by_fact;
  for (std::size_t i = 0; i < column.values.size(); ++i)
    for (std::size_t k = 0; k < column.values[i].size(); ++k)
      for (const auto& fact : column.facts[i][k]) {
        const std::pair key(fact.name, fact.of_seed ? column.values[i][k].first : "");
        auto& conflict = by_fact[key];
        const auto [place, is_new] = digests[key].try_emplace(fact.value, conflict.values.size());
        if (is_new) conflict.values.push_back({value_words(compared.configurations[i], fact), {}});
        const auto& run = *std::ranges::find_if(compared.configurations[i].runs, [&](std::size_t index) {
          return runs[index].seed == column.values[i][k].first;
        });
        const bool of_group = fact.name == "examples" || fact.name == "clients" || fact.name == "characters";
        conflict.name = fact.name;
        conflict.group = of_group ? group_of(runs[run], column.figure.key) : "";
        conflict.values[place->second].second.push_back(compared.configurations[i].label + ", run \"" +
                                                        runs[run].directory.filename().string() + "\"");
      }
  for (auto& [key, conflict] : by_fact) {
    const bool known = std::ranges::find(found, conflict.name, &fact_conflict::name) != found.end();
    if (conflict.values.size() > 1 && !known) found.push_back(std::move(conflict));
  }
  return found;
}

std::string conflict_note(const fact_conflict& conflict) {
  constexpr std::size_t listed = 4;
  std::vector<std::string> values;
  for (std::size_t i = 0; i < std::min(conflict.values.size(), listed); ++i) {
    const auto& [value, runs] = conflict.values[i];
    values.push_back(value + " (" + runs.front() +
                     (runs.size() > 1 ? " and " + std::to_string(runs.size() - 1) + " more" : "") + ")");
  }
  if (conflict.values.size() > listed) values.push_back(counted(conflict.values.size() - listed, "further value"));
  const auto difference =
      conflict.group.empty() ? conflict.name : "number of scored " + conflict.name + " of the group " + conflict.group;
  return "Neither ranked nor paired, because they differ in the " + difference + ": " + joined(values, "; ") + ".";
}

// A note for each thing in which figures that stand side by side were scored differently.
void add_conflicts(std::span<const run_record> runs, const comparison& compared, std::vector<std::string>& notes) {
  for (const auto& column : compared.columns)
    for (const auto& conflict : conflicts_in(runs, compared, column)) {
      if (conflict.name == "protocol") continue;  // has a warning of its own
      auto note = conflict_note(conflict);
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
    }
}

// Runs whose value is infinite: they missed the target, and no mean counts them.
void add_unreached(const comparison& compared, std::vector<std::string>& notes) {
  for (const auto& column : compared.columns)
    for (std::size_t i = 0; i < column.values.size(); ++i) {
      std::vector<std::string> seeds;
      for (const auto& [seed, value] : column.values[i])
        if (std::isinf(value)) seeds.push_back(seed);
      if (!seeds.empty())
        notes.push_back("Target not reached: " + compared.configurations[i].label + ", " +
                        (seeds.size() == 1 ? "seed " : "seeds ") + joined(seeds, ", ") + ". The mean of " +
                        column.figure.key + " is that of the seeds that reached it.");
    }
}

}  // namespace

comparison compare(std::span<const run_record> runs, const std::vector<compared_figure>& figures) {
  comparison made{configurations_of(runs), {}};
  const auto competes = competing(runs, made.configurations);
  for (const auto& figure : figures) {
    compared_column column{figure, {}, {}, {}, {}};
    bool any = false;
    for (const auto& setup : made.configurations) {
      auto& values = column.values.emplace_back();
      auto& facts = column.facts.emplace_back();
      std::vector<double> numbers;
      for (const auto i : setup.runs)
        if (const auto value = figure.value(runs[i])) {
          values.emplace_back(runs[i].seed, *value);
          facts.push_back(facts_about(runs[i], figure.key));
          numbers.push_back(*value);
        }
      column.estimates.push_back(estimate_of(numbers));
      any = any || !values.empty();
    }
    if (!any) continue;
    column.best = best_in(column, competes);
    made.columns.push_back(std::move(column));
  }
  return made;
}

estimate difference_in(const compared_column& column, std::size_t baseline, std::size_t configuration) {
  auto pairs = column.values[configuration];
  std::size_t position = 0;
  std::erase_if(pairs, [&](const seeded_value& value) {
    const auto& facts = column.facts[configuration][position++];
    const auto partner = position_of(value.first, column.values[baseline]);
    return partner && !same_scored(facts, column.facts[baseline][*partner]);
  });
  return paired_difference(column.values[baseline], pairs);
}

estimate_text text_of(const comparison& compared, const compared_column& column, std::size_t configuration) {
  const auto& values = column.values[configuration];
  const auto& estimate = column.estimates[configuration];
  if (values.empty()) return {written({}, number_style::plain), {}, {}};
  if (estimate.n == 0) return {std::isinf(values.front().second) ? "not reached" : "NaN", {}, {}};
  const auto spread = is_constant(column) ? std::nullopt : estimate.sd;
  auto [mean, sd, unit] = written_spread(estimate.mean, spread, column.figure.style);
  const auto total = compared.configurations[configuration].runs.size();
  if (estimate.n < total)
    unit.append(" (").append(std::to_string(estimate.n)).append(" of ").append(std::to_string(total)).append(")");
  return {std::move(mean), std::move(sd), std::move(unit)};
}

std::string runs_text(std::span<const run_record> runs, const configuration& setup) {
  auto text = std::to_string(setup.runs.size());
  if (setup.failed.empty()) return text;
  text.append(" of ").append(std::to_string(setup.runs.size() + setup.failed.size()));
  for (const auto* word : {"failed", "diverged", "not ended"}) {
    const auto number = std::ranges::count_if(setup.failed, [&](std::size_t i) { return state_word(runs[i]) == word; });
    if (number > 0) text.append(", ").append(std::to_string(number)).append(" ").append(word);
  }
  return text;
}

std::string best_rounds_text(std::span<const run_record> runs, const configuration& setup) {
  std::set<std::uint64_t> rounds;
  for (const auto i : setup.runs)
    if (const auto round = runs[i].summary->count("best.version"); round > 0) rounds.insert(round);
  if (rounds.empty()) return {};
  const auto first = std::to_string(*rounds.begin());
  return rounds.size() == 1 ? first : first + "-" + std::to_string(*rounds.rbegin());
}

std::vector<std::string> notes_on(std::span<const run_record> runs, const comparison& compared) {
  std::vector<std::string> notes;
  add_conflicts(runs, compared, notes);
  const bool marks = std::ranges::any_of(compared.columns, [](const auto& column) { return column.best.has_value(); });
  if (auto note = mark_note(runs, compared); !note.empty() && (marks || notes.empty()))
    notes.push_back(std::move(note));
  if (auto note = constant_note(compared); !note.empty()) notes.push_back(std::move(note));
  add_unreached(compared, notes);
  const bool selects = std::ranges::any_of(compared.configurations,
                                           [&](const auto& setup) { return !best_rounds_text(runs, setup).empty(); });
  if (selects)
    notes.emplace_back(
        "Figures are those of the model with the best validation figure (evaluation.select), from the round given.");
  if (auto warning = protocol_warning(runs); !warning.empty()) notes.push_back(std::move(warning));
  add_failed(runs, compared, notes);
  return notes;
}

}  // namespace furlong::tools
