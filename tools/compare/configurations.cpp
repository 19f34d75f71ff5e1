#include "tools/compare/configurations.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "tools/compare/run_figures.hpp"
#include "tools/runs/scenario_settings.hpp"

namespace furlong::tools {

namespace {

// Keys that change no result, by their beginnings; and the seed and what labels show anyway.
bool tells_nothing(std::string_view key) {
  constexpr std::array<std::string_view, 12> beginnings{
      "scenario.seed",  "scenario.name",       "checkpoint.",      "expect.",
      "private.layout", "private.open_shards", "private.key_file", "python.workers",
      "python.timeout", "python.interpreter",  "python.profile",   "evaluation.attention"};
  return std::ranges::any_of(beginnings, [&](auto begin) { return key.starts_with(begin); });
}

// A run with the settings that distinguish it from others.
struct described_run {
  std::size_t index = 0;
  std::vector<scenario_setting> settings;  ///< in the order of the file, without seeds
  std::vector<scenario_setting> seeds;     ///< keys of further seeds
};

described_run describe(const run_record& run, std::size_t index) {
  described_run described{index, {}, {}};
  for (auto& setting : scenario_settings(run.scenario))
    if (!tells_nothing(setting.first))
      (setting.first.ends_with("seed") ? described.seeds : described.settings).push_back(std::move(setting));
  // An alias is no setting: it counts only where there is no other word for the algorithm.
  if (run.scenario.empty())
    described.settings = {
        {"algorithm.kind", run.algorithm}, {"model.kind", run.model}, {"model.protocol", run.protocol}};
  return described;
}

// What two runs of one configuration have in common.
std::string identity_text(const run_record& run, const std::vector<scenario_setting>& settings) {
  std::string text = run.name;
  for (const auto& [key, value] : settings) text.append("\n").append(key).append("=").append(value);
  return text;
}

// Moves the further seeds of a scenario to its settings. One that equals scenario.seed follows it, unless another run
// of otherwise equal settings has the same value with another seed: then it is fixed.
void settle_seeds(std::span<const run_record> runs, std::vector<described_run>& described) {
  std::set<std::tuple<std::string, std::string, std::string>> fixed;  // identity, key, value
  std::vector<std::string> identities;
  for (const auto& entry : described) {
    identities.push_back(identity_text(runs[entry.index], entry.settings));
    for (const auto& [key, value] : entry.seeds)
      if (value != runs[entry.index].seed) fixed.emplace(identities.back(), key, value);
  }
  for (auto& entry : described)
    for (auto& [key, value] : entry.seeds) {
      const bool is_fixed = fixed.contains({identities[entry.index], key, value});
      entry.settings.emplace_back(key, is_fixed ? value : "scenario.seed");
    }
}

// 0 to count - 1.
std::vector<std::size_t> positions(std::size_t count) {
  std::vector<std::size_t> found(count);
  std::iota(found.begin(), found.end(), std::size_t{0});
  return found;
}

// Positions by something of theirs, in order of first appearance.
template <class Key>
std::vector<std::vector<std::size_t>> parted_by(const std::vector<std::size_t>& members, const Key& key) {
  std::vector<std::vector<std::size_t>> parts;
  std::map<decltype(key(0)), std::size_t> known;
  for (const auto i : members) {
    const auto [place, is_new] = known.try_emplace(key(i), parts.size());
    if (is_new) parts.emplace_back();
    parts[place->second].push_back(i);
  }
  return parts;
}

struct grouped_runs {
  std::vector<std::size_t> members;  ///< indices of described runs
  std::string suffix;                ///< what distinguishes it from another of the same settings
};

bool has_repeated_seed(std::span<const run_record> runs, const std::vector<std::size_t>& members) {
  std::set<std::string> seeds;
  return std::ranges::any_of(members,
                             [&](std::size_t i) { return counts(runs[i]) && !seeds.insert(runs[i].seed).second; });
}

// By parent folder, then in the order given: no seed of a finished run twice in a group.
std::vector<grouped_runs> without_repeated_seeds(std::span<const run_record> runs, std::vector<std::size_t> members) {
  if (!has_repeated_seed(runs, members)) return {{std::move(members), {}}};
  const auto parent = [&](std::size_t i) { return runs[i].directory.parent_path(); };
  const auto folders = parted_by(members, parent);
  std::vector<grouped_runs> groups;
  for (const auto& inside : folders) {
    const auto suffix = folders.size() > 1 ? parent(inside.front()).filename().string() : std::string();
    if (!has_repeated_seed(runs, inside)) {
      groups.push_back({inside, suffix});
      continue;
    }
    for (const auto i : inside) groups.push_back({{i}, runs[i].directory.filename().string()});
  }
  return groups;
}

// Ascending numbers; seeds are whole and have no leading zeros.
bool seed_before(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// The values of a key in configurations; those without it have none.
std::vector<const std::string*> values_of(const std::string& key, const std::vector<configuration>& configurations,
                                          const std::vector<std::size_t>& members) {
  std::vector<const std::string*> values;
  for (const auto i : members) values.push_back(find_setting(configurations[i].settings, key));
  return values;
}

bool same_value(const std::string* a, const std::string* b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool all_same(const std::vector<const std::string*>& values) {
  return std::ranges::all_of(values, [&](const auto* value) { return same_value(value, values.front()); });
}

// Whether two keys divide the configurations in the same way, as tied keys do and a key that has the value of another.
bool same_parts(const std::vector<const std::string*>& a, const std::vector<const std::string*>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (same_value(a[i], a[j]) != same_value(b[i], b[j])) return false;
  return true;
}

std::vector<std::string> keys_in(const std::vector<configuration>& configurations,
                                 const std::vector<std::size_t>& members) {
  std::vector<std::string> keys;
  std::set<std::string> known;
  for (const auto i : members)
    for (const auto& setting : configurations[i].settings)
      if (known.insert(setting.first).second) keys.push_back(setting.first);
  return keys;
}

// The keys that distinguish these configurations: those of the algorithm first, of tied ones the first.
std::vector<std::string> telling_keys(const std::vector<configuration>& configurations,
                                      const std::vector<std::size_t>& members) {
  auto keys = keys_in(configurations, members);
  std::stable_partition(keys.begin(), keys.end(), [](const auto& key) { return key.starts_with("algorithm."); });
  std::vector<std::string> chosen;
  std::vector<std::vector<const std::string*>> parts;
  for (const auto& key : keys) {
    auto values = values_of(key, configurations, members);
    const bool tells =
        !all_same(values) && std::ranges::none_of(parts, [&](const auto& known) { return same_parts(known, values); });
    if (!tells) continue;
    chosen.push_back(key);
    parts.push_back(std::move(values));
  }
  return chosen;
}

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string shortened(const std::string& text) {
  constexpr std::size_t most = 32;
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

// How many characters of a path are folders that all paths of a key share. Not of a single one: its name remains.
std::size_t shared_folders(const std::vector<const std::string*>& values) {
  std::optional<std::string> shared;
  for (const auto* value : values) {
    if (value == nullptr || !value->starts_with('/')) continue;
    const auto folders = value->substr(0, value->rfind('/') + 1);
    if (!shared) shared = folders;
    while (!folders.starts_with(*shared)) shared->resize(shared->rfind('/', shared->size() - 2) + 1);
  }
  return shared.value_or("").size();
}

void add_settings(std::vector<configuration>& configurations, const std::vector<std::size_t>& members) {
  const auto keys = telling_keys(configurations, members);
  for (const auto& key : keys) {
    const auto leaf = last_part(key);
    const auto folders = shared_folders(values_of(key, configurations, members));
    const bool clear =
        std::ranges::count_if(keys, [&](const auto& candidate) { return last_part(candidate) == leaf; }) == 1;
    for (const auto i : members) {
      const auto* value = find_setting(configurations[i].settings, key);
      if (value == nullptr) continue;
      const auto text = value->starts_with('/') ? value->substr(folders) : *value;
      configurations[i].label +=
          (configurations[i].label.empty() ? "" : ", ") + (clear ? leaf : key) + "=" + shortened(text);
    }
  }
}

void add_text(std::vector<configuration>& configurations, const std::vector<std::size_t>& members,
              const std::string configuration::*text) {
  for (const auto i : members)
    if (const auto& more = configurations[i].*text; !more.empty())
      configurations[i].label += (configurations[i].label.empty() ? "" : ", ") + more;
}

void add_labels(std::vector<configuration>& configurations) {
  const auto every = positions(configurations.size());
  const auto names = parted_by(every, [&](std::size_t i) { return configurations[i].name; });
  for (const auto& named : names) {
    if (names.size() > 1 || configurations.size() == 1) add_text(configurations, named, &configuration::name);
    const auto algorithms = parted_by(named, [&](std::size_t i) { return configurations[i].algorithm; });
    if (algorithms.size() > 1) add_text(configurations, named, &configuration::algorithm);
    for (const auto& alike : algorithms)
      if (alike.size() > 1) add_settings(configurations, alike);
  }
  for (const auto i : every)
    if (configurations[i].label.empty()) add_text(configurations, {i}, &configuration::name);
}

void make_unique(std::vector<configuration>& configurations) {
  std::map<std::string, std::size_t> count;
  for (const auto& setup : configurations) ++count[setup.label];
  std::map<std::string, std::size_t> number;
  for (auto& setup : configurations)
    if (count[setup.label] > 1) setup.label.append(" #").append(std::to_string(++number[setup.label]));
}

// Leaves the settings in which configurations differ.
void keep_differences(std::vector<configuration>& configurations) {
  const auto every = positions(configurations.size());
  std::set<std::string> differing;
  for (const auto& key : keys_in(configurations, every))
    if (!all_same(values_of(key, configurations, every))) differing.insert(key);
  for (auto& setup : configurations)
    std::erase_if(setup.settings, [&](const auto& setting) { return !differing.contains(setting.first); });
}

configuration make_configuration(std::span<const run_record> runs, const std::vector<described_run>& described,
                                 const grouped_runs& group) {
  configuration made;
  const auto& first = runs[group.members.front()];
  made.name = first.name;
  made.algorithm = first.algorithm;
  made.settings = described[group.members.front()].settings;
  for (const auto i : group.members) {
    if (counts(runs[i]) && made.runs.empty()) made.algorithm = runs[i].algorithm;  // a summary has the alias
    (counts(runs[i]) ? made.runs : made.failed).push_back(i);
  }
  for (auto* list : {&made.runs, &made.failed})
    std::ranges::stable_sort(*list,
                             [&](std::size_t a, std::size_t b) { return seed_before(runs[a].seed, runs[b].seed); });
  return made;
}

// Any of its runs.
std::size_t of_configuration(const configuration& setup) {
  return setup.runs.empty() ? setup.failed.front() : setup.runs.front();
}

}  // namespace

std::vector<configuration> configurations_of(std::span<const run_record> runs) {
  std::vector<described_run> described;
  for (std::size_t i = 0; i < runs.size(); ++i) described.push_back(describe(runs[i], i));
  settle_seeds(runs, described);
  const auto groups =
      parted_by(positions(runs.size()), [&](std::size_t i) { return identity_text(runs[i], described[i].settings); });
  std::vector<configuration> configurations;
  std::vector<std::string> suffixes;
  for (const auto& members : groups)
    for (const auto& group : without_repeated_seeds(runs, members)) {
      configurations.push_back(make_configuration(runs, described, group));
      suffixes.push_back(group.suffix);
    }
  add_labels(configurations);
  const bool all_alike = std::ranges::all_of(runs, is_no_language_model);
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    auto& setup = configurations[i];
    const auto& run = runs[of_configuration(setup)];
    if (is_impersonal(run)) setup.label += " (not personalized)";
    if (!all_alike && is_no_language_model(run)) setup.label.append(" (").append(run.protocol).append(")");
    if (!suffixes[i].empty()) setup.label.append(" (").append(suffixes[i]).append(")");
  }
  make_unique(configurations);
  keep_differences(configurations);
  return configurations;
}

std::string_view state_word(const run_record& run) {
  if (counts(run)) return "done";
  return run.summary ? failure_word(failure_of(run)) : "not ended";
}

}  // namespace furlong::tools
