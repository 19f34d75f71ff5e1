#include <algorithm>
#include <set>

#include "federated/aggregation/rule.hpp"
#include "federated/evaluation/evaluation.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/ranking/figures.hpp"
#include "models/entries.hpp"
#include "models/feature_model.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/node_scenario.hpp"
#include "scenarios/schema/ranking_keys.hpp"
#include "scenarios/schema/scored_groups.hpp"

namespace furlong::scenarios {

namespace {

/// Plausible facts of the data: enough to build a model and inspect its tensors.
models::data_facts plausible_facts(const draft& document) {
  auto facts = document.source->facts ? document.source->facts(source_options(document)) : models::data_facts{};
  for (auto* count : {&facts.features, &facts.clients})
    if (*count == 0) *count = 100;
  return facts;
}

void check_name(draft& document) {
  if (!document.good({"scenario.name"})) return;
  const auto& name = document.values.text("scenario.name");
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty() || !std::ranges::all_of(name, fits))
    document.report("scenario.name", "is " + toml_string(name) + ", must be letters, digits, _ and -",
                    "it is the name of the run directory");
}

void check_attention(draft& document) {
  if (!document.is_on("evaluation.attention") || document.rule == nullptr || document.rule->traits.measures_distance)
    return;
  document.report("evaluation.attention", "needs a rule that weighs updates by distance",
                  "remove it, or set algorithm.aggregation.rule = " +
                      toml_string(rule_with(&federated::rule_traits::measures_distance)));
}

/// Momentum is that of SGD.
void check_momentum(draft& document, const std::string& table, const std::string& alternatives) {
  if (document.exceeds(table + ".momentum") && document.good({table + ".optimizer"}) &&
      !document.is(table + ".optimizer", "sgd"))
    document.report(table + ".momentum", "belongs to optimizer = \"sgd\"",
                    "remove it; " + alternatives + " have beta1");
}

void check_compression(draft& document) {
  const std::string key = "network.compression";
  if (!document.good({key, "privacy.clip"}) || document.values.text(key) == "none") return;
  if (document.values.text(key) != "zstd" && document.values.number("privacy.clip") > 0.0)
    document.report(key, "rounds updates, which makes some of them longer than privacy.clip allows",
                    "set it to \"zstd\", or remove privacy.clip");
}

/// Batches that training splits into support and query must be at least two.
void check_batches(draft& document) {
  const std::string size = "algorithm.client.batch_size";
  if (!document.good({size, "algorithm.reconstruction.split"}) || document.values.integer(size) != 0) return;
  if (document.algorithm != nullptr && document.algorithm->traits.splits_support &&
      document.values.flag("algorithm.reconstruction.split"))
    document.report(size, "puts all examples into one batch, which leaves no query batch to learn from",
                    "set a size, or reconstruction.split = false");
}

/// A server does not tell where its files are: other processes check the options with their own.
bool lacks_files(const draft& document, const std::vector<option_spec>& specs, const option_values& options) {
  return document.file() == servers_scenario && std::ranges::any_of(specs, [&](const option_spec& option) {
           return (option.beside_file || option.name == "path") && options.has(option.name) &&
                  options.text(option.name).empty();
         });
}

void check_source(draft& document) {
  if (document.source == nullptr || !document.source->check) return;
  const auto good = source_options(document);
  if (lacks_files(document, document.source->options, good)) return;
  auto problems = document.source->check(good);
  for (auto& [name, why, fix] : problems) {
    const auto key = source_key(*document.source, name);
    if (document.is_set(key) && !document.good({key})) continue;  // it has a problem of its own
    document.report(key, std::move(why), std::move(fix));
  }
  if (!problems.empty() || !document.source->settle) return;
  const auto settled = document.source->settle(good);
  for (const auto& [name, value] : settled.all()) document.values.set(source_key(*document.source, name), value);
}

/// Writes the description of a model that comes with the data into the scenario. A scenario that has one must agree.
void check_described(draft& document, const std::string& key, const std::vector<std::string>& found) {
  if (document.is_set(key) && document.values.list(key) != found)
    document.report(key, "is not what " + quoted(document, "python.problem") + " has: " + listed(found),
                    "use the class that the scenario is about, or remove the key");
  document.values.set(key, found);
}

std::shared_ptr<const models::model> build_probe(draft& document) {
  if (document.source == nullptr || document.kind == nullptr ||
      !options_are_good(document, "model.", document.kind->options) ||
      !options_are_good(document, document.source->table + ".", document.source->options))
    return nullptr;
  if (document.source->model) {
    const std::string kind = "model.kind";
    if (document.kind->kind != document.source->kind)
      document.report(kind, "is " + quoted(document, kind) + ", and the model comes with the data",
                      "set it to " + toml_string(document.source->kind));
    if (auto own = document.source->model(source_options(document))) {
      check_described(document, "model.parameters", models::described_parameters(*own));
      check_described(document, "model.metrics", models::described_metrics(*own));
      return own;
    }
    if (!document.good({"model.parameters"}) || document.values.list("model.parameters").empty())
      return nullptr;  // a node is to name the class
  }
  const auto options = options_of(document, "model.");
  auto built = document.kind->build(options, plausible_facts(document));
  if (built && ranks_items(document) && ranking_is_good(document))
    return federated::ranking::rank_by(*built, read_ranking(document.values));
  if (built) return *built;
  if (lacks_files(document, document.kind->options, options)) return nullptr;
  const auto& why = built.error();
  document.report(why.place.starts_with("model.") ? why.place : "model.kind", why.reason, why.fix);
  return nullptr;
}

/// Without a split all examples are scored: none are left for reconstruction.
void check_split(draft& document) {
  const std::string key = "evaluation.split";
  if (!document.is_set(key) || !document.good({key, "evaluation.reconstruct", "private.cold_start"}) ||
      document.values.flag(key))
    return;
  const bool cold = document.values.text("private.cold_start") == "reconstruct";
  const auto rebuilt = document.values.list("evaluation.reconstruct");
  if (!rebuilt.empty() && (!keeps_private(document) || cold))
    document.report(
        key, "leaves no support examples, but " + listed(rebuilt) + " of unseen clients is reconstructed from them",
        "remove it, or set evaluation.reconstruct = []");
}

/// Privacy implications of a table over clients.
void note_tables(draft& document, const models::model& probe) {
  for (const auto& spec : probe.tensors()->tensors())
    if (spec.index == models::row_index::by_client)
      document.notes.push_back("tensor \"" + spec.name +
                               "\" is one table over all clients: the server has the rows of all clients");
}

/// Implications of sparse uploads.
void note_sparse(draft& document, const models::model& probe) {
  const std::string sparse = "network.upload = \"sparse\"";
  const std::string noise = "algorithm.aggregation.noise";
  if (!document.good({"network.upload", "model.private"}) || document.values.text("network.upload") != "sparse") return;
  const auto own = private_tensors(document);
  const auto by_rows = [&](const models::tensor_spec& spec) {
    return spec.index != models::row_index::none && std::ranges::find(own, spec.name) == own.end();
  };
  if (std::ranges::none_of(probe.tensors()->tensors(), by_rows)) {
    document.notes.push_back(sparse + " has no effect: no shared tensor of " + std::string(probe.kind()) +
                             " is by rows");
    return;
  }
  if (document.exceeds("privacy.noise"))
    document.notes.push_back(sparse +
                             " shows the server which rows a client changed; privacy.noise does not hide that");
  if (document.good({noise, noise + "_at"}) && document.values.number(noise) > 0.0 &&
      document.values.text(noise + "_at") == "client")
    document.notes.push_back(sparse + " saves nothing: with " + noise +
                             " at the client, every row of an update is changed");
}

void check_least_squares(draft& document, const models::model& probe) {
  const std::string solver = "algorithm.reconstruction.solver";
  if (!document.good({solver, "evaluation.reconstruct", "algorithm.kind"}) ||
      document.values.text(solver) != "least-squares")
    return;
  const auto check = [&](const std::string& key) {
    const auto tensors = find_tensors(document, key, probe);
    if (tensors.empty() || !document.good({solver, key}) || probe.affine_in(tensors)) return;
    document.report(solver,
                    "least-squares needs a model that offers predictions linear in what is rebuilt, and " +
                        std::string(probe.kind()) + " does not for " + listed(document.values.list(key)),
                    "set it to \"sgd\"");
  };
  if (has_private(document) && document.good({"model.private"})) check("model.private");
  check("evaluation.reconstruct");
}

/// An algorithm that solves for the rows of an item.
void check_rows(draft& document, const models::model& probe) {
  if (!document.algorithm->traits.affine_rows || !document.good({"model.private"})) return;
  const auto own = private_tensors(document);
  const auto& tensors = *probe.tensors();
  std::vector<std::size_t> rows;
  for (std::size_t t = 0; t < tensors.count(); ++t)
    if (tensors[t].index == models::row_index::by_feature && std::ranges::find(own, tensors[t].name) == own.end())
      rows.push_back(t);
  if (!rows.empty() && probe.affine_in_rows(rows)) return;
  document.report("algorithm.kind",
                  "is " + toml_string(algorithm_word(document)) +
                      ", which needs predictions that are linear in the shared rows of an item, and " +
                      std::string(probe.kind()) + " does not offer that",
                  "choose another algorithm, or model.kind = \"matrix-factorization\" with shared items");
}

/// An algorithm that computes with what the model predicts from.
void check_features(draft& document, const models::model& probe) {
  if (!document.algorithm->traits.needs_features || dynamic_cast<const models::feature_model*>(&probe) != nullptr)
    return;
  document.report("algorithm.kind",
                  "is " + toml_string(algorithm_word(document)) +
                      ", which needs the features that a linear head predicts from, and " + std::string(probe.kind()) +
                      " does not offer them",
                  "choose another algorithm, or model.kind = \"doc-classifier\" or another model that offers them");
}

/// Algorithms of implicit feedback need interactions; negatives are drawn of nothing else.
void check_feedback(draft& document, const models::model& probe) {
  if (probe.objective() == models::objective::ranking) return;
  if (document.algorithm->traits.implicit)
    return document.report(
        "algorithm.kind",
        "is " + toml_string(algorithm_word(document)) + ", which learns from interactions, and the data has none",
        "take ratings as interactions (feedback = \"implicit\"), or choose another algorithm");
  if (document.algorithm->traits.negatives)
    note_unused(document, "algorithm.client", {"negatives", "exclude"}, "the data are no interactions");
}

/// A target with a figure that the model does not have is never reached, and none is the best in it.
void check_figures(draft& document, const models::model& probe) {
  for (const auto& [key, group] :
       {std::pair("evaluation.target.metric", ""), std::pair("evaluation.metric", "validation.")}) {
    if (!document.is_set(key) || !document.good({key}) || document.values.text(key).empty()) continue;
    const auto& name = document.values.text(key);
    if (!federated::valid_metric(group + name, &probe))
      document.report(
          key, "is " + toml_string(name) + ", and " + std::string(probe.kind()) + " has no such figure on this data",
          "choose " + federated::figure_names(&probe));
  }
}

void check_model(draft& document) {
  const auto probe = build_probe(document);
  if (probe == nullptr || document.algorithm == nullptr) return;
  check_figures(document, *probe);
  check_feedback(document, *probe);
  check_own_loop(document, *probe);
  check_private(document, *probe);
  check_buffers(document, *probe);
  check_tensor_options(document, *probe);
  if (!document.is_set("evaluation.reconstruct") && !document.good({"model.private"})) return;
  settle_reconstruct(document, *probe);
  note_tables(document, *probe);
  note_sparse(document, *probe);
  check_split(document);
  if (document.good({"evaluation.reconstruct"})) find_tensors(document, "evaluation.reconstruct", *probe);
  check_rows(document, *probe);
  check_features(document, *probe);
  check_least_squares(document, *probe);
  if (document.is_on("evaluation.clip") && probe->objective() != models::objective::squared_error)
    document.report("evaluation.clip", "clips ratings, and the model predicts classes", "remove it");
  if (document.is("private.cold_start", "reconstruct") && document.good({"model.private"}) && !keeps_private(document))
    document.notes.push_back("private.cold_start has no effect: " +
                             (document.algorithm->traits.keeps_state
                                  ? "no tensor of the model is private"
                                  : algorithm_word(document) + " keeps nothing from round to round"));
}

/// A file that is set must have a name.
void check_file(draft& document, const std::string& key, const std::string& example) {
  if (document.is_set(key) && document.good({key}) && document.values.text(key).empty())
    document.report(key, "is empty", "write " + example + ", or remove it");
}

}  // namespace

void check_scenario(draft& document) {
  check_name(document);
  check_algorithm_class(document);
  settle_algorithm(document);
  check_participation(document);
  check_simulation(document);
  check_events(document);
  check_file(document, "devices.table", "table = \"phones.csv\"");
  check_file(document, "evaluation.client_groups", "client_groups = \"regions.csv\"");
  check_algorithm(document);
  check_attention(document);
  check_ranking(document);
  check_momentum(document, "algorithm.client", "adam and adamw");
  check_momentum(document, "algorithm.server", "adam and yogi");
  check_privacy(document);
  check_compression(document);
  check_secure_aggregation(document);
  check_attack(document);
  check_source(document);
  check_batches(document);
  check_model(document);
  check_unused(document);
}

}  // namespace furlong::scenarios
