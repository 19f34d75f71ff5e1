#include <algorithm>
#include <set>

#include "federated/aggregation/rule.hpp"
#include "federated/algorithm.hpp"
#include "federated/evaluation.hpp"
#include "models/entries.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/scored_groups.hpp"

namespace furlong::scenarios {

namespace {

/// Plausible facts of the data: enough to build a model and inspect its tensors.
models::data_facts plausible_facts(const draft& of) {
  auto facts = of.source->facts ? of.source->facts(source_options(of)) : models::data_facts{};
  for (auto* count : {&facts.features, &facts.clients})
    if (*count == 0) *count = 100;
  return facts;
}

void check_name(draft& of) {
  if (!of.good({"scenario.name"})) return;
  const auto& name = of.values.text("scenario.name");
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty() || !std::ranges::all_of(name, fits))
    of.report("scenario.name", "is " + toml_string(name) + ", must be letters, digits, _ and -",
              "it is the name of the run directory");
}

void check_attention(draft& of) {
  if (!of.is_on("evaluation.attention") || of.rule == nullptr || of.rule->traits.measures_distance) return;
  of.report("evaluation.attention", "needs a rule that weighs updates by distance",
            "remove it, or set algorithm.aggregation.rule = " +
                toml_string(rule_with(&federated::rule_traits::measures_distance)));
}

/// Momentum is that of SGD.
void check_momentum(draft& of, const std::string& table, const std::string& others) {
  if (of.exceeds(table + ".momentum") && of.good({table + ".optimizer"}) && !of.is(table + ".optimizer", "sgd"))
    of.report(table + ".momentum", "belongs to optimizer = \"sgd\"", "remove it; " + others + " have beta1");
}

void check_compression(draft& of) {
  const std::string key = "network.compression";
  if (!of.good({key, "privacy.clip"}) || of.values.text(key) == "none") return;
  if (of.values.text(key) != "zstd" && of.values.number("privacy.clip") > 0.0)
    of.report(key, "rounds updates, which makes some of them longer than privacy.clip allows",
              "set it to \"zstd\", or remove privacy.clip");
}

/// Batches that training splits into support and query must be at least two.
void check_batches(draft& of) {
  const std::string size = "algorithm.client.batch_size";
  if (!of.good({size, "algorithm.reconstruction.split"}) || of.values.integer(size) != 0) return;
  if (of.algorithm != nullptr && of.algorithm->traits.splits_support &&
      of.values.flag("algorithm.reconstruction.split"))
    of.report(size, "puts all examples into one batch, which leaves no query batch to learn from",
              "set a size, or reconstruction.split = false");
}

void check_source(draft& of) {
  if (of.source == nullptr || !of.source->check) return;
  const auto good = source_options(of);
  auto problems = of.source->check(good);
  for (auto& [name, why, fix] : problems) {
    const auto key = source_key(*of.source, name);
    if (of.is_set(key) && !of.good({key})) continue;  // it has a problem of its own
    of.report(key, std::move(why), std::move(fix));
  }
  if (!problems.empty() || !of.source->settle) return;
  const auto settled = of.source->settle(good);
  for (const auto& [name, value] : settled.all()) of.values.set(source_key(*of.source, name), value);
}

/// Writes the description of a model that comes with the data into the scenario. A scenario that has one must agree.
void check_described(draft& of, const std::string& key, const std::vector<std::string>& found) {
  if (of.is_set(key) && of.values.list(key) != found)
    of.report(key, "is not what " + quoted(of, "python.problem") + " has: " + listed(found),
              "use the class that the scenario is about, or remove the key");
  of.values.set(key, found);
}

std::shared_ptr<const models::model> build_probe(draft& of) {
  if (of.source == nullptr || of.kind == nullptr || !options_are_good(of, "model.", of.kind->options) ||
      !options_are_good(of, of.source->table + ".", of.source->options))
    return nullptr;
  if (of.source->model) {
    const std::string kind = "model.kind";
    if (of.kind->kind != of.source->kind)
      of.report(kind, "is " + quoted(of, kind) + ", and the model comes with the data",
                "set it to " + toml_string(of.source->kind));
    if (auto own = of.source->model(source_options(of))) {
      check_described(of, "model.parameters", models::described_parameters(*own));
      check_described(of, "model.metrics", models::described_metrics(*own));
      return own;
    }
    if (!of.good({"model.parameters"}) || of.values.list("model.parameters").empty())
      return nullptr;  // a node is to name the class
  }
  auto built = of.kind->build(options_of(of, "model."), plausible_facts(of));
  if (built) return *built;
  const auto& why = built.error();
  of.report(why.place.starts_with("model.") ? why.place : "model.kind", why.reason, why.fix);
  return nullptr;
}

/// Without a split all examples are scored: none are left for reconstruction.
void check_split(draft& of) {
  const std::string key = "evaluation.split";
  if (!of.is_set(key) || !of.good({key, "evaluation.reconstruct", "private.cold_start"}) || of.values.flag(key)) return;
  const bool cold = of.values.text("private.cold_start") == "reconstruct";
  const auto rebuilt = of.values.list("evaluation.reconstruct");
  if (!rebuilt.empty() && (!keeps_private(of) || cold))
    of.report(key,
              "leaves no support examples, but " + listed(rebuilt) + " of unseen clients is reconstructed from them",
              "remove it, or set evaluation.reconstruct = []");
}

/// Privacy implications of a table over clients.
void note_tables(draft& of, const models::model& probe) {
  for (const auto& spec : probe.tensors()->tensors())
    if (spec.index == models::row_index::by_client)
      of.notes.push_back("tensor \"" + spec.name +
                         "\" is one table over all clients: the server has the rows of all clients");
}

/// Implications of sparse uploads.
void note_sparse(draft& of, const models::model& probe) {
  const std::string sparse = "network.upload = \"sparse\"";
  const std::string noise = "algorithm.aggregation.noise";
  if (!of.good({"network.upload", "model.private"}) || of.values.text("network.upload") != "sparse") return;
  const auto own = private_tensors(of);
  const auto by_rows = [&](const models::tensor_spec& spec) {
    return spec.index != models::row_index::none && std::ranges::find(own, spec.name) == own.end();
  };
  if (std::ranges::none_of(probe.tensors()->tensors(), by_rows)) {
    of.notes.push_back(sparse + " has no effect: no shared tensor of " + std::string(probe.kind()) + " is by rows");
    return;
  }
  if (of.exceeds("privacy.noise"))
    of.notes.push_back(sparse + " shows the server which rows a client changed; privacy.noise does not hide that");
  if (of.good({noise, noise + "_at"}) && of.values.number(noise) > 0.0 && of.values.text(noise + "_at") == "client")
    of.notes.push_back(sparse + " saves nothing: with " + noise + " at the client, every row of an update is changed");
}

void check_least_squares(draft& of, const models::model& probe) {
  const std::string solver = "algorithm.reconstruction.solver";
  if (!of.good({solver, "evaluation.reconstruct", "algorithm.kind"}) || of.values.text(solver) != "least-squares")
    return;
  const auto check = [&](const std::string& key) {
    const auto tensors = find_tensors(of, key, probe);
    if (tensors.empty() || !of.good({solver, key}) || probe.affine_in(tensors)) return;
    of.report(solver,
              "least-squares needs a model that offers predictions linear in what is rebuilt, and " +
                  std::string(probe.kind()) + " does not for " + listed(of.values.list(key)),
              "set it to \"sgd\"");
  };
  if (has_private(of) && of.good({"model.private"})) check("model.private");
  check("evaluation.reconstruct");
}

/// An algorithm that solves for the rows of an item.
void check_rows(draft& of, const models::model& probe) {
  if (!of.algorithm->traits.affine_rows || !of.good({"model.private"})) return;
  const auto own = private_tensors(of);
  const auto& tensors = *probe.tensors();
  std::vector<std::size_t> rows;
  for (std::size_t t = 0; t < tensors.count(); ++t)
    if (tensors[t].index == models::row_index::by_feature && std::ranges::find(own, tensors[t].name) == own.end())
      rows.push_back(t);
  if (!rows.empty() && probe.affine_in_rows(rows)) return;
  of.report("algorithm.kind",
            "is " + toml_string(algorithm_word(of)) +
                ", which needs predictions that are linear in the shared rows of an item, and " +
                std::string(probe.kind()) + " does not offer that",
            "choose another algorithm, or model.kind = \"matrix-factorization\" with shared items");
}

/// A target with a figure that the model does not have is never reached, and none is the best in it.
void check_figures(draft& of, const models::model& probe) {
  for (const auto& [key, group] :
       {std::pair("evaluation.target.metric", ""), std::pair("evaluation.metric", "validation.")}) {
    if (!of.is_set(key) || !of.good({key}) || of.values.text(key).empty()) continue;
    const auto& name = of.values.text(key);
    if (!federated::valid_metric(group + name, &probe))
      of.report(key,
                "is " + toml_string(name) + ", and " + std::string(probe.kind()) + " has no such figure on this data",
                "choose " + federated::figure_names(&probe));
  }
}

void check_model(draft& of) {
  const auto probe = build_probe(of);
  if (probe == nullptr || of.algorithm == nullptr) return;
  check_figures(of, *probe);
  check_own_loop(of, *probe);
  check_private(of, *probe);
  check_buffers(of, *probe);
  check_tensor_options(of, *probe);
  if (!of.is_set("evaluation.reconstruct") && !of.good({"model.private"})) return;
  settle_reconstruct(of, *probe);
  note_tables(of, *probe);
  note_sparse(of, *probe);
  check_split(of);
  if (of.good({"evaluation.reconstruct"})) find_tensors(of, "evaluation.reconstruct", *probe);
  check_rows(of, *probe);
  check_least_squares(of, *probe);
  if (of.is_on("evaluation.clip") && probe->objective() != models::objective::squared_error)
    of.report("evaluation.clip", "clips ratings, and the model predicts classes", "remove it");
  if (of.is("private.cold_start", "reconstruct") && of.good({"model.private"}) && !keeps_private(of))
    of.notes.push_back("private.cold_start has no effect: " +
                       (of.algorithm->traits.keeps_state ? "no tensor of the model is private"
                                                         : algorithm_word(of) + " keeps nothing from round to round"));
}

/// A file that is set must have a name.
void check_file(draft& of, const std::string& key, const std::string& example) {
  if (of.is_set(key) && of.good({key}) && of.values.text(key).empty())
    of.report(key, "is empty", "write " + example + ", or remove it");
}

}  // namespace

void check_scenario(draft& of) {
  check_name(of);
  check_algorithm_class(of);
  settle_algorithm(of);
  check_participation(of);
  check_simulation(of);
  check_file(of, "devices.table", "table = \"phones.csv\"");
  check_file(of, "evaluation.client_groups", "client_groups = \"regions.csv\"");
  check_algorithm(of);
  check_attention(of);
  check_momentum(of, "algorithm.client", "adam and adamw");
  check_momentum(of, "algorithm.server", "adam and yogi");
  check_privacy(of);
  check_compression(of);
  check_secure_aggregation(of);
  check_source(of);
  check_batches(of);
  check_model(of);
  check_unused(of);
}

}  // namespace furlong::scenarios
