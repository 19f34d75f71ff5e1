#include "scenarios/schema/scenario.hpp"

#include <algorithm>
#include <tuple>

#include "base/registry.hpp"
#include "base/utf8.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/ranking/figures.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "scenarios/data/checked_dataset.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/parameters/start_values.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/ranking_keys.hpp"
#include "scenarios/schema/records.hpp"
#include "scenarios/traces/device_file.hpp"

namespace furlong::scenarios {

namespace {

option_values under(const option_values& values, const std::string& prefix, const std::vector<option_spec>& options) {
  option_values own;
  for (const auto& option : options)
    if (values.has(prefix + option.name)) own.set(option.name, values.all().find(prefix + option.name)->second);
  return own;
}

scenario finish(draft&& document, const std::string& file) {
  const auto& values = document.values;
  scenario made;
  made.file = file;
  made.name = values.text("scenario.name");
  made.data_source = values.text("data.source");
  made.data = source_options(document);
  made.model_kind = values.text("model.kind");
  made.model = under(values, "model.", document.kind->options);
  for (const auto& spec : schema_keys(document.source, document.kind, document.algorithm, nullptr))
    if (spec.apply && values.has(spec.option.name))
      spec.apply(made.settings, values.all().find(spec.option.name)->second);
  for (const auto& spec : schema_records())
    if (const auto found = document.records.find(spec.name); found != document.records.end())
      spec.apply(made.settings, found->second);
  const auto& kind = document.algorithm->kind;
  *made.settings.algorithm =
      federated::chosen_algorithm(kind, under(values, "algorithm." + kind + ".", document.algorithm->options));
  made.settings.algorithm->traits = document.algorithm->traits;  // they may follow from more than the options
  const auto* rule = federated::find_rule(values.text("algorithm.aggregation.rule"));
  made.settings.aggregation->rule =
      federated::chosen_rule(rule->kind, under(values, "algorithm.aggregation.", rule->options));
  const auto* policy = federated::find_policy(values.text("participation.policy"));
  made.settings.participation->policy =
      federated::chosen_policy(policy->kind, under(values, "participation.", policy->options));
  const auto* availability = federated::find_availability(values.text(availability_kind_key));
  made.settings.devices->availability.kind = availability->kind;
  made.settings.devices->availability.options = under(values, "devices.availability.", availability->options);
  made.private_tensors = private_tensors(document);
  made.settings.evaluation->reconstruct = values.list("evaluation.reconstruct");
  made.settings.evaluation->ranking = read_ranking(values);
  made.places = document.places();
  made.notes = std::move(document.notes);
  made.expectations = std::move(document.expectations);
  made.records = std::move(document.records);
  made.values = std::move(document.values);
  return made;
}

draft read_draft(source_text text, const std::string& file, variant which, described_entry described = nullptr) {
  draft read(file);
  read_expectations(text, which, read);
  read_records(text, read);
  read_values(text, read, std::move(described));
  return read;
}

draft examine(const source_text& text, const std::string& file, variant which) {
  auto read = read_draft(text, file, which);
  if (read.algorithm != nullptr && read.algorithm->traits_of) {
    read.algorithm = nullptr;
    if (auto described = describe_algorithm(read)) read = read_draft(text, file, which, std::move(described));
  }
  check_scenario(read);
  return read;
}

/// The problems, those with values of [smoke] marked.
std::vector<problem> name_smoke(std::vector<problem> problems, const std::vector<place>& smoke) {
  for (auto& problem : problems)
    if (std::ranges::any_of(smoke, [&](place at) { return at.line == problem.line && problem.line != 0; }) &&
        !problem.key.starts_with("smoke."))
      problem.key = "smoke." + problem.key;
  return problems;
}

/// Adds problems of [smoke] values, checked in the smoke variant.
void add_smoke_problems(const toml_document& document, const std::string& file, std::vector<problem>& problems) {
  auto sources = merge(document, file, {}, variant::smoke);
  const auto smoke = sources.smoke;
  for (auto& problem : name_smoke(examine(std::move(sources), file, variant::smoke).problems(), smoke))
    if (problem.key.starts_with("smoke.") && !problem.key.starts_with("smoke.expect."))
      problems.push_back(std::move(problem));
  std::ranges::stable_sort(problems, {},
                           [&](const problem& p) { return std::tuple(p.origin != file, p.line, p.column); });
}

constexpr const char* start_key = "model.start_from";

/// The file of initial values is one of those that a run depends on.
result<dataset> with_start(result<dataset> data, const scenario& run) {
  if (data && run.values.has(start_key)) data->files.emplace_back(run.values.text(start_key));
  return data;
}

}  // namespace

result<setting_override> parse_override(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail(error::kind::usage, "--set " + text, "is not KEY=VALUE", "write --set scenario.rounds=10, for example");
  if (!is_utf8(text)) return fail(error::kind::usage, "--set " + shown(text), "is not UTF-8", "write it in UTF-8");
  const auto trim = [](std::string part) {
    const auto begin = part.find_first_not_of(" \t");
    return begin == std::string::npos ? std::string{} : part.substr(begin, part.find_last_not_of(" \t") - begin + 1);
  };
  return setting_override{trim(text.substr(0, equals)), trim(text.substr(equals + 1))};
}

tl::expected<scenario, std::vector<problem>> parse_scenario_text(const std::string& text, const std::string& name,
                                                                 const std::vector<setting_override>& overrides,
                                                                 variant which) {
  const auto document = parse_toml(text);
  if (!document) {
    const auto& [position, reason] = document.error();
    const bool is_no_value = reason.find("parsing boolean") != std::string::npos ||
                             reason.find("could not determine value type") != std::string::npos;
    return tl::unexpected(
        std::vector<problem>{{name, position.line, position.column, "", "not TOML: " + reason,
                              is_no_value ? "write KEY = VALUE, and a text in quotes: kind = \"furl\"" : ""}});
  }
  auto sources = merge(*document, name, overrides, which);
  const bool has_smoke = sources.has_smoke;
  const auto smoke = which == variant::smoke ? sources.smoke : std::vector<place>{};
  auto read = examine(std::move(sources), name, which);
  auto problems = name_smoke(read.problems(), smoke);
  if (which == variant::full && has_smoke) add_smoke_problems(*document, name, problems);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  auto made = finish(std::move(read), name);
  made.which = which;
  made.has_smoke = has_smoke;
  return made;
}

tl::expected<scenario, std::vector<problem>> parse_scenario(const std::filesystem::path& file,
                                                            const std::vector<setting_override>& overrides,
                                                            variant which) {
  const auto mapped = mapped_file::open(file);
  if (!mapped)
    return tl::unexpected(std::vector<problem>{{file.empty() ? "\"\"" : file.string(), 0, 0, "", mapped.error().reason,
                                                "name a scenario file that can be read"}});
  return parse_scenario_text(std::string(mapped->bytes()), file.string(), overrides, which);
}

result<dataset> load_data(const scenario& run, const std::filesystem::path& root) {
  return with_start(find_dataset(run.data_source)->build(run.data, root), run);
}

bool data_absent(const scenario& run, const std::filesystem::path& root) {
  const auto is_absent = [](const std::filesystem::path& file) {
    std::error_code ignored;
    return std::filesystem::status(file, ignored).type() == std::filesystem::file_type::not_found;
  };
  const auto& groups = run.settings.evaluation->groups_file;
  return (run.data.has("path") && is_absent(root / run.data.text("path"))) ||
         std::ranges::any_of(device_files(*run.settings.devices), is_absent) ||
         (!groups.empty() && is_absent(groups)) || (run.values.has(start_key) && is_absent(run.values.text(start_key)));
}

result<dataset> load_outline(const scenario& run, const std::filesystem::path& root) {
  const auto& source = *find_dataset(run.data_source);
  if (!source.outline) return load_data(run, root);
  auto made = source.outline(run.data);
  if (is_registered(source))
    if (auto sound = check_outline(made, source.kind); !sound) return tl::unexpected(sound.error());
  return with_start(std::move(made), run);
}

result<dataset> load_part(const scenario& run, std::uint32_t first, std::uint32_t last,
                          const std::filesystem::path& root) {
  const auto& source = *find_dataset(run.data_source);
  if (!source.build_part) return source.build(run.data, root);
  if (!run.data.has("path"))
    return fail(error::kind::usage, "--data", "is missing: the scenario's data are what each node has",
                "name the folder with the data of this node's clients");
  return source.build_part(run.data, root / run.data.text("path"), first, last);
}

result<std::shared_ptr<const models::model>> build_model(const scenario& given, const models::data_facts& facts) {
  auto model = models::find_model(given.model_kind)->build(given.model, facts);
  if (!model || facts.labels != models::objective::ranking) return model;
  return federated::ranking::rank_by(std::move(*model), given.settings.evaluation->ranking);
}

result<std::shared_ptr<const models::model>> build_model(const scenario& run, const dataset& data,
                                                         std::vector<std::string>* notes) {
  auto model = data.model != nullptr ? data.model : build_model(run, data.clients->facts());
  if (!model || !run.values.has(start_key)) return model;
  return start_from(std::move(*model), run.values.text(start_key), run.private_tensors, data, notes);
}

}  // namespace furlong::scenarios
