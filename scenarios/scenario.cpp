#include "scenarios/scenario.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "scenarios/draft.hpp"
#include "scenarios/mapped_file.hpp"

namespace furlong::scenarios {

namespace {

/// Keys of which only one can stand: an override of one replaces the other.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> exclusive = {{
    {"scenario.rounds", "scenario.epochs"},
    {"participation.per_round", "participation.fraction"},
}};

bool replaces(std::string_view later, std::string_view earlier) {
  return later == earlier || std::ranges::any_of(exclusive, [&](const auto& pair) {
           return (pair.first == later && pair.second == earlier) || (pair.first == earlier && pair.second == later);
         });
}

source_text merge(const toml_document& document, const std::string& file,
                  const std::vector<setting_override>& overrides) {
  source_text text;
  for (const auto& entry : document.values) text.values.push_back({file, entry});
  for (const auto& table : document.tables) text.tables.push_back({file, {table.key, table.at, {}}});
  for (const auto& [key, value] : overrides) {
    const auto origin = "--set " + key;
    const auto setting = parse_setting(key, value);
    for (const auto& entry : setting.values) {
      std::erase_if(text.values, [&](const source_entry& earlier) { return replaces(entry.key, earlier.entry.key); });
      text.values.push_back({origin, entry});
    }
    for (const auto& table : setting.tables)
      if (std::ranges::find(text.tables, table.key, [](const auto& t) { return t.entry.key; }) == text.tables.end())
        text.tables.push_back({origin, {table.key, table.at, {}}});
  }
  return text;
}

models::option_values under(const models::option_values& values, const std::string& prefix,
                            const std::vector<models::option_spec>& options) {
  models::option_values own;
  for (const auto& option : options)
    if (values.has(prefix + option.name)) own.set(option.name, values.all().find(prefix + option.name)->second);
  return own;
}

federated::algorithm_kind algorithm_of(std::string_view word) {
  using federated::algorithm_kind;
  if (word == "fedsgd") return algorithm_kind::fedsgd;
  if (word == "furl") return algorithm_kind::furl;
  if (word == "fedrecon") return algorithm_kind::fedrecon;
  if (word == "centralized") return algorithm_kind::centralized;
  return algorithm_kind::fedavg;
}

/// "file:line:column: key", as in problems.
std::string place_of(const scenario& of, const std::string& key) {
  const auto at = of.places.find(key);
  return (at == of.places.end() ? of.file : at->second) + ": " + key;
}

scenario finish(draft&& from, const std::string& file) {
  const auto& values = from.values;
  scenario made;
  made.file = file;
  made.name = values.text("scenario.name");
  made.data_source = values.text("data.source");
  made.data = under(values, "data.", from.source->options);
  made.model_kind = values.text("model.kind");
  made.model = under(values, "model.", from.kind->options);
  for (const auto& spec : schema_keys(from.source, from.kind))
    if (spec.apply && values.has(spec.option.name))
      spec.apply(made.settings, values.all().find(spec.option.name)->second);
  const auto& algorithm = values.text("algorithm.kind");
  made.settings.algorithm = algorithm_of(algorithm);
  if (keeps_private(algorithm)) made.private_tensors = values.list("model.private");
  made.settings.evaluation.reconstruct = values.list("evaluation.reconstruct");
  made.places = from.places();
  made.notes = std::move(from.notes);
  made.values = std::move(from.values);
  return made;
}

}  // namespace

result<setting_override> parse_override(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail(error::kind::usage, "--set " + text, "is not KEY=VALUE",
                "write --set algorithm.kind=furl, for example");
  const auto trim = [](std::string part) {
    const auto begin = part.find_first_not_of(" \t");
    return begin == std::string::npos ? std::string{} : part.substr(begin, part.find_last_not_of(" \t") - begin + 1);
  };
  return setting_override{trim(text.substr(0, equals)), trim(text.substr(equals + 1))};
}

tl::expected<scenario, std::vector<problem>> parse_scenario_text(const std::string& text, const std::string& name,
                                                                 const std::vector<setting_override>& overrides) {
  const auto document = parse_toml(text);
  if (!document) {
    const auto& [at, what] = document.error();
    return tl::unexpected(std::vector<problem>{{name, at.line, at.column, "", "not TOML: " + what, ""}});
  }
  draft read(name);
  read_values(merge(*document, name, overrides), read);
  check_scenario(read);
  if (auto problems = read.problems(); !problems.empty()) return tl::unexpected(std::move(problems));
  return finish(std::move(read), name);
}

tl::expected<scenario, std::vector<problem>> parse_scenario(const std::filesystem::path& file,
                                                            const std::vector<setting_override>& overrides) {
  const auto mapped = mapped_file::open(file);
  if (!mapped)
    return tl::unexpected(std::vector<problem>{{file.string(), 0, 0, "", mapped.error().reason, mapped.error().mend}});
  return parse_scenario_text(std::string(mapped->bytes()), file.string(), overrides);
}

result<dataset> load_data(const scenario& of, const std::filesystem::path& root) {
  return find_dataset(of.data_source)->build(of.data, root);
}

result<void> fit(scenario& to, const dataset& data) {
  const auto clients = data.clients->training().size();
  const auto count = std::to_string(clients);
  if (clients == 0)
    return fail(error::kind::usage, place_of(to, "data.unseen_users.test"), "no client is left to train",
                "hold out fewer users");
  auto& settings = to.settings;
  const bool centralized = settings.algorithm == federated::algorithm_kind::centralized;
  if (centralized) {
    settings.per_round = 1;  // all clients pooled into one
  } else if (to.values.has("participation.fraction")) {
    const double share = to.values.number("participation.fraction") * static_cast<double>(clients);
    settings.per_round = std::max(1U, static_cast<std::uint32_t>(std::lround(share)));
  } else {
    const auto wanted = to.values.integer("participation.per_round");
    if (static_cast<std::size_t>(wanted) > clients)
      return fail(error::kind::usage, place_of(to, "participation.per_round"),
                  "is " + std::to_string(wanted) + ", and " + count + " clients can train", "lower it to " + count);
    settings.per_round = static_cast<std::uint32_t>(wanted);
  }
  const bool attends = settings.aggregation.rule == federated::rule_kind::fedatt;
  const std::uint32_t most = attends ? 4096U : 1U << 20;
  if (settings.per_round > most)
    return fail(error::kind::usage, place_of(to, "participation.per_round"),
                "asks " + std::to_string(settings.per_round) + " clients a round, more than the exact sums of " +
                    (attends ? "fedatt" : "the mean") + " hold",
                "ask at most " + std::to_string(most));
  if (to.values.has("scenario.rounds")) {
    settings.rounds = static_cast<std::uint64_t>(to.values.integer("scenario.rounds"));
  } else {
    const auto epochs = static_cast<std::uint64_t>(to.values.integer("scenario.epochs"));
    settings.rounds = centralized ? epochs : (epochs * clients + settings.per_round - 1) / settings.per_round;
  }
  settings.evaluation.clip_low = data.label_low;
  settings.evaluation.clip_high = data.label_high;
  return {};
}

result<std::shared_ptr<const models::model>> build_model(const scenario& of, const models::data_facts& facts) {
  return models::find_model(of.model_kind)->build(of.model, facts);
}

}  // namespace furlong::scenarios
