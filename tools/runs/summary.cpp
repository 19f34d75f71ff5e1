// summary.json
#include <algorithm>
#include <numeric>
#include <sys/resource.h>

#include "base/digest.hpp"
#include "base/exact_math.hpp"
#include "federated/client/personalization.hpp"
#include "federated/evaluation/fairness.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/world/attackers.hpp"
#include "models/digest.hpp"
#include "models/kernels/kernels.hpp"
#include "scenarios/data/text_population.hpp"
#include "scenarios/schema/parts.hpp"
#include "scenarios/traces/device_file.hpp"
#include "tools/runs/algorithm_name.hpp"
#include "tools/runs/group_json.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/privacy_json.hpp"
#include "tools/runs/scenario_settings.hpp"
#include "tools/runs/scored_on.hpp"
#include "tools/runs/version.hpp"

namespace furlong::tools {

namespace {

using federated::accounting;

template <class Number>
json spread_json(std::vector<Number> values) {
  if (values.empty()) return {{"mean", 0}, {"p50", 0}, {"p90", 0}, {"max", 0}};
  std::ranges::sort(values);
  const auto quantile = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  const double total = std::accumulate(values.begin(), values.end(), 0.0);
  return {{"mean", total / static_cast<double>(values.size())},
          {"p50", quantile(0.5)},
          {"p90", quantile(0.9)},
          {"max", values.back()}};
}

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

template <std::size_t Count>
std::uint64_t total(const std::array<std::uint64_t, Count>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// An alias if all its values hold; else the algorithm itself, with its class where it has one.
std::string algorithm_word(const scenarios::scenario& scenario) {
  const auto& kind = scenario.settings.algorithm->kind;
  for (const auto& entry : federated::registered_algorithms())
    if (entry.alias_of == kind && !entry.fixed.empty() && std::ranges::all_of(entry.fixed, [&](const auto& setting) {
          return scenario.values.has(setting.key) && scenario.values.text(setting.key) == setting.value;
        }))
      return entry.kind;
  return algorithm_name(kind, scenario.values.has("python.algorithm") ? scenario.values.text("python.algorithm") : "");
}

/// Outcomes of the tasks.
void add_outcomes(const federated::server_state& state, json& out) {
  const auto& counts = state.counts;
  out["selected"] = counts.selected;
  out["folded"] = counts.folded;
  out["rejected"] = counts_json<federated::rejection>(counts.rejected);
  out["late"] = counts.late;
  out["surplus"] = counts.surplus;
  out["dropped"] = counts_json<federated::drop_stage>(counts.dropped);
  out["abandoned"] = counts.abandoned;
  out["in_flight"] = state.open.size();
  out["rounds_abandoned"] = counts.rounds_abandoned;
  out["staleness"] = {{"mean", share_of(counts.staleness_sum, counts.folded)}, {"max", counts.staleness_max}};
}

/// Tasks whose work was discarded.
json wasted_json(const accounting& counts) {
  const auto tasks = counts.settled() - counts.folded;
  return {{"tasks", tasks},
          {"share", share_of(tasks, counts.selected)},
          {"rejected", total(counts.rejected)},
          {"late", counts.late},
          {"surplus", counts.surplus},
          {"abandoned", counts.abandoned},
          {"dropped", counts_json<federated::drop_stage>(counts.dropped)}};
}

/// Over the selectable clients; and the totals of all client records, which must agree with the accounting.
json participation_json(const federated::participation_ledger& ledger, std::span<const std::uint32_t> clients) {
  const auto participation = federated::summarize_participation(ledger, clients);
  std::uint64_t tasks = 0;
  std::uint64_t updates = 0;
  std::uint64_t overcounted = 0;
  for (const auto& record : ledger.records()) {
    tasks += record.selected;
    updates += record.folded;
    if (record.folded > record.selected) ++overcounted;
  }
  return {{"mean", participation.mean},
          {"gini", participation.gini},
          {"p10", participation.p10},
          {"p50", participation.p50},
          {"p90", participation.p90},
          {"max", participation.max},
          {"never_selected", participation.never_selected},
          {"never_folded", participation.never_folded},
          {"clients", participation.clients},
          {"tasks", tasks},
          {"updates", updates},
          {"overcounted", overcounted}};
}

/// Of honest clients: what became of the tasks of those with few examples and of those with many.
json acceptance_json(const federated::experiment& run, const federated::participation_ledger& ledger) {
  const auto honest = federated::honest_among(run, run.participants->training());
  json out = json::object();
  for (const auto& quintile : federated::acceptance_by_activity(ledger, *run.participants, honest))
    out["q" + std::to_string(out.size() + 1)] = {{"least", quintile.least},
                                                 {"most", quintile.most},
                                                 {"clients", quintile.clients},
                                                 {"tasks", quintile.selected},
                                                 {"updates", quintile.folded}};
  return out;
}

/// Age of the stored private values, in rounds since the version from which each was trained and in virtual time since
/// training. Under the real clock the server has no record of that: rounds count from the commit.
void add_private_staleness(const federated::server_state& state, const private_facts& own, json& out) {
  std::vector<std::uint64_t> rounds;
  std::vector<double> seconds;
  for (const auto& holder : own.holders) {
    const bool known = state.ledger && holder.client < state.ledger->size();
    const auto record = known ? (*state.ledger)[holder.client] : federated::client_record{};
    rounds.push_back(record.trained_version > 0 ? state.version - record.trained_version : holder.rounds);
    if (record.trained_version > 0) seconds.push_back(federated::to_seconds(state.now - record.trained_at));
  }
  out["private_staleness"] = spread_json(std::move(rounds));
  if (state.now > 0) out["private_staleness_seconds"] = spread_json(std::move(seconds));
}

void add_target(const federated::target_settings& target, const federated::server_state& state, json& out) {
  if (target.metric.empty()) return;
  json reached = {{"metric", target.metric}, {"value", target.value}, {"reached", state.target_reached.has_value()}};
  if (state.target_reached) {
    reached["version"] = state.target_version;
    if (state.now > 0) reached["virtual_seconds"] = federated::to_seconds(*state.target_reached);
  }
  out["time_to_target"] = std::move(reached);
}

/// Whether a model that was trained in one place has values of single clients: a private tensor or one with a row per
/// client, or values that are found from the client's examples.
bool is_personalized(const federated::experiment& experiment) {
  for (std::size_t tensor = 0; tensor < experiment.parts.model->count(); ++tensor)
    if (federated::is_personal(experiment, tensor)) return true;
  return experiment.settings.algorithm->does->personalizes_from_examples(experiment, {.trains = true});
}

/// The model with which the run ends.
void add_best(const federated::server_state& state, json& out) {
  if (state.best)
    out["best"] = {{"metric", state.best->metric}, {"value", state.best->figure}, {"version", state.best->version}};
}

/// Of the metrics that the model defines, which value is the better one.
void add_directions(const federated::evaluation_report& report, json& out) {
  for (const auto* group : {&report.validation, &report.seen, &report.unseen, &report.train})
    if (*group)
      for (const auto& metric : (*group)->custom) out["smaller_is_better"][metric.name] = metric.smaller_is_better;
}

void add_standard_errors(const federated::group_metrics& metrics, json& group) {
  for (const auto& figure : metrics.custom)
    if (figure.standard_error) group["standard_errors"][figure.name] = *figure.standard_error;
}

void add_bins(const std::vector<federated::client_bin>& bins, const char* name, json& group) {
  for (const auto& bin : bins) {
    json line = {{"least", bin.least}, {"most", bin.most}};
    line.update(tools::to_json(bin.metrics));
    group[name].push_back(std::move(line));
  }
}

json final_evaluation(const federated::evaluation_report& report) {
  json out = tools::to_json(report);
  const std::array groups = {&report.validation, &report.seen, &report.unseen, &report.train};
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (*groups[i]) add_standard_errors(**groups[i], out[std::string(federated::group_names[i])]);
  if (!report.seen) return out;
  add_bins(report.by_participation, "by_participation", out["seen"]);
  add_bins(report.by_activity, "by_activity", out["seen"]);
  return out;
}

json identity_json(const prepared_run& run, const federated::server_state& state, const private_facts& own) {
  auto levels = state.kernel_levels;
  levels.insert(models::kernels().level);
  json out = {{"furlong", version},
              {"scenario", run.scenario.name},
              {"seed", run.experiment.settings.seed},
              {"algorithm", algorithm_word(run.scenario)},
              {"model", run.experiment.model->kind()},
              {"kernel_level", models::kernels().level},
              {"kernel_levels", levels},
              {"rounds", state.version},
              {"model_sha256", hex(models::model_sha256(state.chosen().model))},
              {"private_sha256", own.sha256}};
  if (const auto& added = state.chosen().added; added->shape()) out["added_sha256"] = hex(models::model_sha256(*added));
  if (!state.data_sha256.empty()) out["data_sha256"] = state.data_sha256;
  for (const auto& [name, version] : scenarios::code_from(state.code))
    out[scenarios::is_part(name) ? "parts" : "code"][name] = version;
  if (state.code_changed) out["code_changed"] = true;
  if (!state.arithmetic.empty()) out["arithmetic"] = state.arithmetic;
  return out;
}

std::string_view problem_word(models::objective labels) {
  switch (labels) {
    case models::objective::squared_error: return "ratings";
    case models::objective::logistic: return "two-classes";
    case models::objective::categorical: return "classes";
    case models::objective::next_token: return "next-token";
    case models::objective::ranking: return "ranking";
    case models::objective::custom: break;
  }
  return "custom";
}

/// The digest of the data's files alone: what a run starts from and when devices are on changes no example.
std::string scored_files(const prepared_run& opened, const std::string& data_sha256) {
  auto settings = opened.experiment.settings;
  auto data = opened.data;
  const bool starts = opened.scenario.values.has("model.start_from");
  if (starts) std::erase(data.files, std::filesystem::path(opened.scenario.values.text("model.start_from")));
  if (data_sha256.empty() || (!starts && scenarios::device_files(*settings.devices).empty())) return data_sha256;
  *settings.devices = {};
  const auto digest = digest_of(data, settings);
  return digest ? digest->sha256 : "";
}

/// What `furlong compare` may rank and pair: figures of the same data, problem and tokens
/// (tools/runs/scored_on.hpp).
json scored_on_json(const prepared_run& opened, const std::string& data_sha256) {
  const auto facts = opened.data.clients->facts();
  const auto labels = opened.experiment.model->objective();
  json out = {{"problem", problem_word(labels)}};
  if (labels == models::objective::categorical) out["classes"] = facts.classes;
  if (labels == models::objective::ranking)
    out["candidates"] = opened.experiment.settings.evaluation->ranking.candidates;
  if (labels == models::objective::next_token) {
    if (opened.scenario.data.has("tokens")) out["tokens"] = opened.scenario.data.text("tokens");
    if (facts.words > 0) out["vocabulary"] = facts.words;
  }
  if (const auto& groups = opened.experiment.settings.evaluation->groups_of_clients)
    out["client_groups"] = groups_sha256(*groups);
  sha256_stream digest;
  for (const auto& [key, value] : scenario_settings(scenarios::resolved_toml(opened.scenario)))
    if (chooses_scored(key)) digest.add(key + "=" + value.substr(value.rfind('/') + 1) + "\n");
  out["data"] = hex(digest.add(scored_files(opened, data_sha256)).finish());
  return out;
}

/// Adds the figures per character of a group whose scored predictions are all those of some parts of its clients.
void add_characters(const scenarios::sized_texts& texts, std::span<const std::uint32_t> clients,
                    const std::vector<std::vector<federated::part>>& choices, json& group) {
  if (!group.is_object() || !group["loss"].is_number()) return;
  const auto predictions = group["examples"].get<std::uint64_t>();
  for (const auto& parts : choices) {
    scenarios::text_size total;
    for (const auto client : clients)
      for (const auto part : parts) {
        const auto size = texts.size_of(client, part);
        total.predictions += size.predictions;
        total.characters += size.characters;
        total.unknown += size.unknown;
      }
    if (predictions == 0 || total.predictions != predictions) continue;
    const double nats = group["loss"].get<double>() * static_cast<double>(predictions);
    group["bits_per_character"] = nats / exact::log(2.0) / static_cast<double>(total.characters);
    group["characters"] = total.characters;
    group["unknown_tokens"] = total.unknown;
    return;
  }
}

/// Texts that somebody wrote have characters, by which models of words and of characters can be compared.
void add_characters(const prepared_run& opened, json& eval) {
  using federated::part;
  const auto* texts = dynamic_cast<const scenarios::sized_texts*>(opened.data.clients.get());
  if (texts == nullptr || !opened.data.whole) return;
  const auto& clients = *opened.data.clients;
  const std::vector<std::vector<part>> seen_test = {{part::test}};
  const std::vector<std::vector<part>> held_out = {
      {part::test}, {part::validation}, {part::train}, {part::train, part::validation, part::test}};
  if (eval.contains("seen")) add_characters(*texts, clients.training(), seen_test, eval["seen"]);
  if (eval.contains("unseen")) add_characters(*texts, clients.unseen_test(), held_out, eval["unseen"]);
  if (!eval.contains("validation")) return;
  const auto apart = clients.unseen_validation();
  if (apart.empty())
    add_characters(*texts, clients.training(), {{part::validation}}, eval["validation"]);
  else
    add_characters(*texts, apart, held_out, eval["validation"]);
}

/// Settings that make figures incomparable with other runs.
void add_protocol(const scenarios::scenario& scenario, json& out) {
  const char* name = "protocol";
  if (scenario.model.has(name) && scenario.model.text(name) != "language-model") out[name] = scenario.model.text(name);
}

}  // namespace

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

json summary_json(const prepared_run& run, const federated::run_outcome& outcome, const private_facts& own) {
  const auto& state = outcome.state;
  const auto& counts = state.counts;
  json out = identity_json(run, state, own);
  add_protocol(run.scenario, out);
  out["scored_on"] = scored_on_json(run, state.data_sha256);
  out.update({{"wall_seconds", state.wall_seconds},
              {"cpu_seconds", state.cpu_seconds},
              {"train_seconds", state.train_seconds},
              {"train_cpu_seconds", state.train_cpu_seconds},
              {"clock", run.experiment.settings.clock == federated::clock_kind::real ? "real" : "virtual"},
              {"virtual_seconds", federated::to_seconds(state.now)},
              {"clients_trained", counts.clients_trained},
              {"clients_per_second", per_second(counts.clients_trained, state.train_seconds)},
              {"examples_per_second", per_second(counts.examples, state.train_seconds)},
              {"bytes_up", counts.bytes_up},
              {"bytes_down", counts.bytes_down}});
  add_outcomes(state, out);
  out["wasted"] = wasted_json(counts);
  out["peak_rss_bytes"] = peak_rss_bytes();
  out["private_state"] = run.experiment.settings.algorithm->traits.keeps_state;
  out["private_clients"] = own.clients;
  out["state_lost"] = state.stores.lost();
  add_private_staleness(state, own, out);
  const auto& settings = run.experiment.settings;
  if (state.ledger && settings.algorithm->traits.sends)
    out["participation"] = participation_json(*state.ledger, run.experiment.participants->training());
  if (settings.attack->entry != nullptr || settings.aggregation->rule.traits.robust)
    if (auto accepted = acceptance_json(run.experiment, *state.ledger); !accepted.empty())
      out["participation"]["by_activity"] = std::move(accepted);
  if (!settings.algorithm->traits.sends) out["personalized"] = is_personalized(run.experiment);
  add_target(settings.evaluation->target, state, out);
  add_best(state, out);
  add_directions(outcome.evaluation, out);
  if (settings.privacy->noise > 0) out["privacy"] = privacy_json(run.experiment, state);
  out["eval"] = final_evaluation(outcome.evaluation);
  add_characters(run, out["eval"]);
  return out;
}

}  // namespace furlong::tools
