#include "scenarios/schema/node_scenario.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/training.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

/// Keys with files or devices of the machine of the scenario, in addition to all that are beside its file.
constexpr std::array<std::string_view, 11> paths = {"data.path",
                                                    "model.start_from",
                                                    "python.problem",
                                                    "python.algorithm",
                                                    "python.interpreter",
                                                    "private.key_file",
                                                    "devices.availability.trace",
                                                    "devices.table",
                                                    "evaluation.client_groups",
                                                    "python.profile",
                                                    "python.devices"};
/// Keys that only a simulation, or only the server, uses.
constexpr std::array<std::string_view, 11> elsewhere = {"scenario.diverged_at",
                                                        "devices.",
                                                        "dropout.",
                                                        "scenario.until.",
                                                        "scenario.epochs",
                                                        "participation.fraction",
                                                        "participation.policy",
                                                        "participation.candidates",
                                                        "evaluation.target.",
                                                        "evaluation.select",
                                                        "evaluation.metric"};

constexpr const char* sent = servers_scenario;

tl::unexpected<error> refuse(std::string why, std::string fix) {
  return fail(error::kind::usage, sent, std::move(why), std::move(fix));
}

/// What a scenario uses.
struct used_parts {
  const dataset_entry* source = nullptr;
  const models::model_entry* kind = nullptr;
  const federated::algorithm_entry* algorithm = nullptr;
  const federated::rule_entry* rule = nullptr;
};

used_parts parts_in(const scenario& run) {
  return {find_dataset(run.data_source), models::find_model(run.model_kind),
          federated::find_algorithm(run.settings.algorithm->kind),
          federated::find_rule(run.settings.aggregation->rule.kind)};
}

/// By what is written; other problems are not looked at.
used_parts parts_in(const toml_document& document) {
  const auto word = [&](std::string_view key) {
    const auto found = std::ranges::find(document.values, key, &toml_entry::key);
    const auto* text = found == document.values.end() ? nullptr : std::get_if<std::string>(&found->value.data);
    return text == nullptr ? std::string() : *text;
  };
  return {find_dataset(word("data.source")), models::find_model(word("model.kind")),
          federated::find_algorithm(word("algorithm.kind")), federated::find_rule(word("algorithm.aggregation.rule"))};
}

/// Keys with files of the machine of the scenario.
std::set<std::string> file_keys(const used_parts& parts) {
  std::set<std::string> found(paths.begin(), paths.end());
  for (const auto& spec : schema_keys(parts.source, parts.kind, parts.algorithm, parts.rule))
    if (spec.option.beside_file) found.insert(spec.option.name);
  return found;
}

/// Of these, keys of the data, the model, the algorithm and the rule: a node has its own files. True: required.
std::map<std::string, bool> own_files(const used_parts& parts) {
  std::map<std::string, bool> found;
  std::set<std::string> common;
  for (const auto& spec : schema_keys(nullptr, nullptr)) common.insert(spec.option.name);
  for (const auto& spec : schema_keys(parts.source, parts.kind, parts.algorithm, parts.rule))
    if (const auto& option = spec.option;
        (option.beside_file && !common.contains(option.name) && !option.name.starts_with("python.")) ||
        (option.name == "data.path" && option.required))
      found.emplace(option.name, option.required);
  return found;
}

used_parts without_data(const scenario& described) {
  auto parts = parts_in(described);
  parts.source = nullptr;
  return parts;
}

/// Those of own_files() where the server has a file: another would give other results, and a fallback says nothing
/// about the server.
std::map<std::string, bool> files_of_run(const scenario& run, const used_parts& parts) {
  auto found = own_files(parts);
  std::erase_if(found, [&](const auto& key) { return !key.second && !run.places.contains(key.first); });
  return found;
}

/// Moves the keys of these files from those that are wanted to the settings.
result<void> take_files(const std::vector<setting_override>& files, std::map<std::string, bool>& wanted,
                        std::vector<setting_override>& own) {
  for (const auto& [key, file, option] : files) {
    if (wanted.erase(key) == 0)
      return fail(error::kind::usage, option, "names " + key + ", and the run has no file there",
                  wanted.empty() ? "leave it out" : "it can name " + wanted.begin()->first);
    own.push_back({key, std::filesystem::absolute(file).string(), option});
  }
  return {};
}

/// "1.5 GiB".
std::string size_text(double bytes) {
  constexpr std::array<const char*, 6> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024.0 && unit + 1 < units.size(); ++unit) bytes /= 1024.0;
  const auto tenths = std::llround(bytes * 10.0);
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " " + units[unit];
}

result<void> check_limit(const char* subject, double bytes, double most) {
  if (bytes <= most) return {};
  return refuse(std::string(subject) + " would take " + size_text(bytes) + ", and a node gives " + size_text(most),
                "take part in a smaller run, or trust another server");
}

/// Number of values in the tensors of a list; tables over clients count one row.
double values_of(const models::layout& tensors, const std::vector<std::string>& names) {
  double sum = 0.0;
  for (const auto& name : names) {
    const auto position = tensors.find(name);
    if (!position) continue;
    const auto& spec = tensors[*position];
    sum += spec.index == models::row_index::by_client ? spec.cols : static_cast<double>(spec.size());
  }
  return sum;
}

}  // namespace

bool is_told_to_nodes(std::string_view key) {
  return std::ranges::find(paths, key) == paths.end() &&
         std::ranges::none_of(elsewhere, [&](std::string_view prefix) { return key.starts_with(prefix); });
}

std::string node_toml(const scenario& run) {
  auto copy = run;
  copy.records.clear();
  copy.expectations.clear();
  option_values values;
  auto untold = file_keys(parts_in(run));
  if (const auto* policy = federated::find_policy(run.settings.participation->policy.kind); policy != nullptr)
    for (const auto& option : policy_keys(*policy)) untold.insert(option.name);
  for (const auto& [name, value] : run.values.all())
    if (is_told_to_nodes(name) && !untold.contains(name)) values.set(name, value);
  for (const auto& [name, needed] : own_files(parts_in(run)))
    if (needed || (run.values.has(name) && !run.values.text(name).empty())) values.set(name, std::string());
  values.set("algorithm.aggregation.max_weight", std::int64_t{run.settings.aggregation->max_weight});
  values.set("scenario.rounds", static_cast<std::int64_t>(run.settings.rounds));
  if (const auto& participation = *run.settings.participation;
      participation.mode == federated::participation_mode::sync) {
    values.set("participation.per_round", std::int64_t{participation.per_round});
    values.set("participation.min_reports", std::int64_t{participation.min_reports});
  }
  copy.values = std::move(values);
  return resolved_toml(copy);
}

result<scenario> parse_node_scenario(const std::string& text, const std::vector<setting_override>& own) {
  const auto first_of = [](const std::vector<problem>& problems) {
    const auto& first = problems.front();
    const auto place = place_text(first.origin, {first.line, first.column});
    return fail(error::kind::usage, first.key.empty() ? place : place + ": " + first.key, first.why,
                "trust another server, or one of this version of furlong");
  };
  const auto names_file = [](std::string_view key) {
    return refuse((key == "python.devices" ? "names devices of this machine in " : "names a file of this machine in ") +
                      std::string(key),
                  "trust another server");
  };
  // Both can name files; a server does not send them.
  const auto has_tables = [] {
    return refuse("has a table [smoke] or [expect], which are not for nodes", "trust another server");
  };
  if (const auto document = parse_toml(text))  // first: the checks of a scenario open a Python class
    for (const auto files = file_keys(parts_in(*document)); const auto& entry : document->values) {
      const auto* word = std::get_if<std::string>(&entry.value.data);
      if (entry.key.starts_with("smoke.")) return has_tables();
      if (files.contains(entry.key) && (word == nullptr || !word->empty())) return names_file(entry.key);
    }
  auto read = parse_scenario_text(text, sent);
  if (!read) return first_of(read.error());
  for (const auto& path : file_keys(parts_in(*read)))  // by other names too
    if (const auto told = read->values.all().find(path);
        read->places.contains(path) && told != read->values.all().end())
      if (const auto* word = std::get_if<std::string>(&told->second); word == nullptr || !word->empty())
        return names_file(path);
  if (read->has_smoke || !read->expectations.empty()) return has_tables();
  if (own.empty()) return std::move(*read);
  auto again = parse_scenario_text(text, sent, own);
  if (!again) {
    const auto& first = again.error().front();
    return fail(error::kind::usage, first.key.empty() ? sent : first.key, first.why, first.fix);
  }
  return std::move(*again);
}

result<void> check_size(const scenario& run, const models::data_facts& facts, const node_limits& limits) {
  if (const auto& source = *find_dataset(run.data_source); source.memory)
    if (auto fits = check_limit("its data", source.memory(run.data), limits.data); !fits) return fits;
  auto model = build_model(run, facts);
  if (!model) return tl::unexpected(model.error());
  const auto& tensors = *(*model)->tensors();
  if (auto fits = check_limit("its model", 4.0 * static_cast<double>(tensors.size()), limits.model); !fits) return fits;
  federated::experiment experiment;
  experiment.settings = run.settings;
  experiment.model = std::move(*model);
  if (auto done = federated::lay_out(experiment, run.private_tensors); !done) return done;
  std::size_t added =
      experiment.parts.down->size() - experiment.parts.shared->size() + experiment.parts.reported->size();
  for (const auto& group : experiment.groups)
    if (group.in_private != federated::placed_group::nowhere)
      for (std::size_t i = 0; i < group.count(); ++i)
        added += (*experiment.parts.private_)[group.in_private + i].size();
  if (auto fits = check_limit("its model with the algorithm's tensors",
                              4.0 * static_cast<double>(tensors.size() + added), limits.model);
      !fits)
    return fits;
  if (run.settings.reconstruction->solver != federated::solver_kind::least_squares) return {};
  const double unknowns =
      std::max(values_of(tensors, run.private_tensors), values_of(tensors, run.settings.evaluation->reconstruct));
  return check_limit("least squares", 4.0 * unknowns * unknowns, limits.data);
}

result<std::vector<setting_override>> own_settings(const scenario& run, const std::filesystem::path& data,
                                                   const node_classes& python, const std::filesystem::path& key_file,
                                                   const std::vector<setting_override>& files) {
  std::vector<setting_override> own;
  const auto& options = find_dataset(run.data_source)->options;
  const bool reads_files = std::ranges::find(options, "path", &option_spec::name) != options.end();
  const auto source = "the run's data are source = \"" + run.data_source + "\", ";
  if (reads_files && data.empty())
    return fail(error::kind::usage, "--data", "is missing: " + source + "which reads files",
                "name the folder with the data of this node's clients");
  if (!reads_files && !data.empty())
    return fail(error::kind::usage, "--data", source + "which reads no files: " + data.string() + " would not be used",
                "leave it out if that is what this node is to train on");
  const bool is_python = std::ranges::find(options, "problem", &option_spec::name) != options.end();
  if (is_python && python.problem.empty())
    return fail(error::kind::usage, "--python", "is missing: " + source + "a class that each node has its own file of",
                "name it: --python FILE.py:CLASS");
  if (!is_python && !python.problem.empty())
    return fail(error::kind::usage, "--python",
                source + "which needs no class: " + python.problem + " would not be used",
                "leave it out if that is what this node is to train on");
  const auto& kind = run.settings.algorithm->kind;
  const bool has_class = find_dataset(run.data_source)->algorithm == kind;
  const auto algorithm = "the run's algorithm is kind = \"" + kind + "\", ";
  if (has_class && python.algorithm.empty())
    return fail(error::kind::usage, "--algorithm",
                "is missing: " + algorithm + "a class that each node has its own file of",
                "name it: --algorithm FILE.py:CLASS");
  if (!has_class && !python.algorithm.empty())
    return fail(error::kind::usage, "--algorithm",
                algorithm + "which needs no class: " + python.algorithm + " would not be used",
                "leave it out if that is the run that this node is to take part in");
  if (!is_python && !python.devices.empty())
    return fail(error::kind::usage, "--devices", source + "which needs no device", "leave it out");
  if (!python.devices.empty()) own.push_back({"python.devices", value_text(python.devices), "--devices"});
  if (is_python) own.push_back({"python.problem", std::filesystem::absolute(python.problem).string()});
  if (has_class) own.push_back({"python.algorithm", std::filesystem::absolute(python.algorithm).string()});
  if (!data.empty()) own.push_back({"data.path", std::filesystem::absolute(data).string()});
  if (!key_file.empty()) own.push_back({"private.key_file", key_file.string()});
  auto wanted = files_of_run(run, parts_in(run));
  wanted.erase("data.path");
  if (auto taken = take_files(files, wanted, own); !taken) return tl::unexpected(taken.error());
  if (wanted.empty()) return own;
  const auto& missing = wanted.begin()->first;
  return fail(error::kind::usage, "--own", missing + " is missing: the run has a file there, and each node its own",
              "name it: --own " + missing + "=FILE");
}

result<std::vector<setting_override>> aggregator_settings(const scenario& described,
                                                          const std::vector<setting_override>& files) {
  std::vector<setting_override> own;
  auto wanted = files_of_run(described, without_data(described));
  if (auto taken = take_files(files, wanted, own); !taken) return tl::unexpected(taken.error());
  return own;
}

std::string missing_file(const scenario& described) {
  for (const auto& [key, needed] : own_files(without_data(described)))
    if (described.values.has(key) ? described.values.text(key).empty() : needed) return key;
  return {};
}

result<std::vector<setting_override>> read_own_files(const std::vector<std::string>& texts) {
  std::vector<setting_override> own;
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return fail(error::kind::usage, "--own", "\"" + text + "\" is not KEY=FILE",
                  "write --own data.table=mine.csv, for example");
    own.push_back({text.substr(0, equals), text.substr(equals + 1), "--own"});
  }
  return own;
}

}  // namespace furlong::scenarios
