#include "tools/cli/part_trial.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/participation/policy.hpp"
#include "federated/world/availability.hpp"
#include "models/model.hpp"
#include "scenarios/data/dataset.hpp"
#include "scenarios/schema/nearest.hpp"
#include "tools/conformance/laws.hpp"
#include "tools/runs/prepared_run.hpp"

namespace furlong::tools {

namespace {

using parsed_scenario = tl::expected<scenarios::scenario, std::vector<scenarios::problem>>;

// Small data and models.
const std::string ratings = R"(
[data]
source = "synthetic-ratings"
users = 24
items = 20
rank = 2
ratings_per_user = 14
split = [0.8, 0.1, 0.1]
unseen_users = {validation = 0.1, test = 0.1}
)";
const std::string likes = ratings + "binarize = 3.5\n";
const std::string interactions = ratings + "feedback = \"implicit\"\n";
const std::string texts_of_users = R"(
[data]
source = "synthetic-texts"
users = 24
texts_per_user = 20
classes = 3
words = 30
length = 8
)";
const std::string labelled_texts = texts_of_users + "task = \"classes\"\n";
const std::string sentences = texts_of_users + "task = \"next-word\"\n";
const std::string factors = R"(
[model]
kind = "matrix-factorization"
rank = 3
user_bias = true
item_bias = true
)";
const std::string factors_of_users = factors + "private = [\"user\", \"user_bias\"]\n";
const std::string vectors_of_users = R"(
[model]
kind = "matrix-factorization"
rank = 3
private = ["user"]
)";
const std::string counts = R"(
[model]
kind = "matrix-factorization"
rank = 1
init = 0.0
item_bias = true
)";
const std::string scores_of_users = R"(
[model]
kind = "score-function"
rank = 3
private = ["score", "score_bias"]
)";
const std::string scores_of_own_items = R"(
[model]
kind = "score-function"
rank = 3
own_items = true
private = ["score", "score_bias", "own_item"]
)";
const std::string classifier = R"(
[model]
kind = "doc-classifier"
embedding = 4
hidden = 4
mlp = 4
)";
const std::string classifier_of_users = classifier + "private = [\"user\"]\n";
const std::string word_model = R"(
[model]
kind = "lstm-nwp"
embedding = 4
hidden = 4
projection = 4
)";
const std::string regression = "\n[model]\nkind = \"logistic-regression\"\n";

std::string in_quotes(const std::string& word) { return '"' + word + '"'; }

/// Of the key that names the part.
std::string key_of_part(part_kind kind) {
  switch (kind) {
    case part_kind::algorithm: return "algorithm.kind";
    case part_kind::rule: return "algorithm.aggregation.rule";
    case part_kind::policy: return "participation.policy";
    case part_kind::availability: return "devices.availability.kind";
    case part_kind::model: return "model.kind";
    case part_kind::dataset: break;
  }
  return "data.source";
}

/// The built-in scenarios that a part may fit, the simplest first. They name it if it is a model or a dataset.
std::vector<std::string> built_in_scenarios(const part_request& request) {
  const std::pair<std::string, std::string> whole[] = {{ratings, factors},
                                                       {ratings, factors_of_users},
                                                       {likes, regression},
                                                       {labelled_texts, classifier},
                                                       {labelled_texts, classifier_of_users},
                                                       {sentences, word_model},
                                                       {interactions, vectors_of_users},
                                                       {interactions, counts},
                                                       {interactions, scores_of_users},
                                                       {interactions, scores_of_own_items}};
  const bool draws_cohort =
      request.kind == part_kind::policy && federated::find_policy(request.name)->traits.draws_cohort;
  const std::string rest =
      "\n[scenario]\nname = \"check-part\"\nseed = 1\nrounds = 2\n[algorithm]\nkind = \"fedavg\"\n"
      "client = {batch_size = 4}\n[participation]\n" +
      std::string(draws_cohort ? "rate = 0.4\n" : "per_round = 6\n");
  const std::string named = "kind = " + in_quotes(request.name) + "\n";
  std::vector<std::string> texts;
  switch (request.kind) {
    case part_kind::model:
      for (const auto& data : {ratings, likes, labelled_texts, sentences, interactions})
        texts.push_back(data + "\n[model]\n" + named + rest);
      break;
    case part_kind::dataset:
      for (const auto& model : {factors, regression, classifier, word_model})
        texts.push_back("\n[data]\nsource = " + in_quotes(request.name) + "\n" + model + rest);
      break;
    case part_kind::algorithm:
    case part_kind::rule:
    case part_kind::policy:
    case part_kind::availability:
      for (const auto& [data, model] : whole) texts.push_back(data + model + rest);
      break;
  }
  return texts;
}

result<void> check_part_name(const part_request& request) {
  const auto known = names_of_parts(request.kind);
  if (std::ranges::find(known, request.name) != known.end()) return {};
  const auto near = scenarios::nearest(request.name, known);
  const std::string kind(kind_name(request.kind));
  return fail(error::kind::usage, request.name, "is no " + kind + " that is registered",
              near.empty() ? "furlong reference prints all" : "did you mean " + near + "?");
}

/// Fails with the problems, those of a built-in scenario with a remark.
error misfit_of(const part_request& request, const std::vector<scenarios::problem>& problems) {
  std::string text;
  for (const auto& listed : problems) text += (text.empty() ? "" : "; ") + listed.text();
  if (!request.scenario.empty()) return {error::kind::usage, request.scenario.string(), text, "correct the scenario"};
  return {error::kind::usage, request.name, "fits none of the scenarios that this command has: " + text,
          "name a scenario that it fits, or set its keys with --set"};
}

/// Parses a scenario and opens it; of data alone, it stays as it is.
tl::expected<prepared_run, std::vector<scenarios::problem>> open_parsed(const part_request& request,
                                                                        parsed_scenario parsed) {
  if (!parsed) return tl::unexpected(parsed.error());
  if (request.kind == part_kind::dataset) return prepared_run{std::move(*parsed), {}, {}};
  auto made = open_prepared_run(std::move(*parsed));
  if (made) return std::move(*made);
  const auto& why = made.error();
  return tl::unexpected(std::vector<scenarios::problem>{{why.place, 0, 0, "", why.reason, why.fix}});
}

/// A part in its scenario, and that scenario once more, with a new instance of its algorithm.
struct opened_part {
  prepared_run first;
  scenarios::scenario again;
};

result<opened_part> open_part(const part_request& request) {
  auto overrides = request.overrides;
  overrides.push_back({key_of_part(request.kind), in_quotes(request.name), "check-part"});
  std::vector<std::function<parsed_scenario()>> candidates;
  if (!request.scenario.empty()) {
    candidates.emplace_back([&] { return scenarios::parse_scenario(request.scenario, overrides); });
  } else {
    for (const auto& text : built_in_scenarios(request))
      candidates.emplace_back([&, text] { return scenarios::parse_scenario_text(text, "built in", overrides); });
  }
  std::optional<std::vector<scenarios::problem>> fewest;
  for (const auto& parse : candidates) {
    auto made = open_parsed(request, parse());
    if (made) return opened_part{std::move(*made), std::move(*parse())};
    if (!fewest || made.error().size() < fewest->size()) fewest = made.error();
  }
  return tl::unexpected(misfit_of(request, *fewest));
}

}  // namespace

std::string_view kind_name(part_kind kind) {
  switch (kind) {
    case part_kind::algorithm: return "algorithm";
    case part_kind::rule: return "rule";
    case part_kind::policy: return "policy";
    case part_kind::availability: return "availability";
    case part_kind::model: return "model";
    case part_kind::dataset: break;
  }
  return "dataset";
}

std::vector<std::string> names_of_parts(part_kind kind) {
  std::vector<std::string> names;
  const auto add = [&](const auto& entries) {
    for (const auto& entry : entries) names.push_back(entry.kind);
  };
  switch (kind) {
    case part_kind::algorithm: add(federated::registered_algorithms()); break;
    case part_kind::rule: add(federated::registered_rules()); break;
    case part_kind::policy: add(federated::registered_policies()); break;
    case part_kind::availability: add(federated::registered_availabilities()); break;
    case part_kind::model: add(models::registered_models()); break;
    case part_kind::dataset: add(scenarios::registered_datasets()); break;
  }
  return names;
}

result<conformance::findings> examine_part(const part_request& request) {
  if (auto known = check_part_name(request); !known) return tl::unexpected(known.error());
  auto examined = open_part(request);
  if (!examined) return tl::unexpected(examined.error());
  const auto& setup = examined->first.experiment;
  switch (request.kind) {
    case part_kind::algorithm: return conformance::check_algorithm(setup, *examined->again.settings.algorithm);
    case part_kind::rule: return conformance::check_rule(setup);
    case part_kind::policy: return conformance::check_policy(setup);
    case part_kind::availability: {
      const auto rebuilt = open_prepared_run(std::move(examined->again));
      if (!rebuilt) return tl::unexpected(rebuilt.error());
      return conformance::check_availability(setup, rebuilt->experiment);
    }
    case part_kind::model: return conformance::check_model(setup);
    case part_kind::dataset: break;
  }
  if (const auto loaded = scenarios::load_data(examined->again); !loaded) return tl::unexpected(loaded.error());
  return conformance::check_dataset([&examined] { return scenarios::load_data(examined->again); });
}

}  // namespace furlong::tools
