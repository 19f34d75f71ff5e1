// Runs to compare: what both engines are given, and everything that must not differ between them.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "actors/actor_engine.hpp"
#include "base/digest.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "models/digest.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

namespace furlong::tests {

struct scenario {
  std::string name;
  federated::run_settings settings;
  option_list options;
  std::vector<std::string> private_names;
  bool ratings = true;
  std::string ranks_by = {};  ///< the model of interactions; empty: the data are not interactions

  [[nodiscard]] federated::experiment assemble(std::uint32_t aggregators) const {
    auto with = settings;
    with.topology->aggregators = aggregators;
    if (!ranks_by.empty()) return make_experiment(with, make_interactions(41), options, private_names, ranks_by);
    return make_experiment(with, ratings ? make_ratings(41) : make_classes(41), options, private_names);
  }
};

/// One scenario per algorithm and rule.
[[nodiscard]] inline std::vector<scenario> scenarios() {
  const auto base = [](std::string_view kind) {
    federated::run_settings settings;
    settings.seed = 6;
    settings.rounds = 6;
    settings.participation->per_round = 7;
    *settings.algorithm = federated::chosen_algorithm(kind);
    *settings.client = {.lr = 0.1F, .momentum = 0.5F, .epochs = 2, .batch_size = 3, .shuffle = true};
    *settings.reconstruction = {.lr = 0.2F, .epochs = 2, .max_steps = 5};
    *settings.evaluation = {.every = 2, .reconstruct = {"user"}};
    return settings;
  };
  std::vector<scenario> all = {
      {"fedsgd", base("fedsgd"), {}, {}, false},
      {"fedavg", base("fedavg"), {{"user_table", true}, {"user_bias", true}}, {}},
      {"furl", base("furl"), {{"item_bias", true}}, {"user"}},
      {"furl, cold start", base("furl"), {{"mean", true}}, {"user"}},
      {"fedrecon", base("fedrecon"), {}, {"user"}},
      {"fedrecon, least squares", base("fedrecon"), {{"user_bias", true}}, {"user", "user_bias"}},
      {"als", base("als"), {{"item_bias", true}, {"mean", true}}, {"user"}},
      {"fedatt", base("fedavg"), {}, {}},
      {"fedatt, spectral", base("fedavg"), {}, {}},
      {"best", base("fedavg"), {}, {}},
      {"fedrep", base("fedrep"), {}, {"user"}},
      {"fedalt", base("fedalt"), {{"user_bias", true}}, {"user", "user_bias"}},
      {"fedbabu", base("fedbabu"), {{"user_bias", true}}, {"user", "user_bias"}},
      {"centralized", base("centralized"), {{"user_table", true}}, {}},
      {"ditto", base("ditto"), {{"item_bias", true}}, {}},
      {"pfedme", base("pfedme"), {}, {}},
      {"apfl", base("apfl"), {{"user_bias", true}}, {}},
      {"pfedrec", base("pfedrec"), {}, {"score", "score_bias"}, true, "score-function"},
      {"fedrap", base("fedrap"), {{"own_items", true}}, {"score", "score_bias", "own_item"}, true, "score-function"},
      {"ials", base("ials"), {}, {"user"}, true, "matrix-factorization"},
      {"ials-differences", base("ials-differences"), {}, {"user"}, true, "matrix-factorization"},
      {"popularity", base("popularity"), {{"item_bias", true}}, {}, true, "matrix-factorization"},
      {"fedrecon, pairs", base("fedrecon"), {{"loss", std::string("bpr")}}, {"user"}, true, "matrix-factorization"},
      {"fedncf", base("furl"), {}, {"user"}, true, "neural-cf"},
  };
  const auto of = [&](const std::string& name) -> federated::run_settings& {
    return std::ranges::find(all, name, &scenario::name)->settings;
  };
  of("fedsgd").evaluation->reconstruct.clear();
  of("fedavg").server->optimizer = federated::optimizer_kind::adam;
  of("fedavg").server->lr = 0.05;
  *of("fedavg").privacy = {.clip = 0.5, .noise = 0.1};
  of("furl, cold start").own->cold_start = federated::cold_start_kind::reconstruct;
  of("fedrecon").server->momentum = 0.9;
  for (const auto* name : {"fedrecon, least squares", "als"})
    of(name).reconstruction->solver = federated::solver_kind::least_squares;
  for (const auto* name : {"fedatt", "fedatt, spectral"}) of(name).aggregation->rule = federated::chosen_rule("fedatt");
  of("fedatt").aggregation->noise = 0.001;
  of("fedatt, spectral").aggregation->rule.options.set("norm", std::string("spectral"));
  of("fedatt, spectral").evaluation->attention = true;
  of("best").client->lr = 0.6F;  // too long steps: the last model is not the best
  of("best").evaluation->keep_best = true;
  of("fedbabu").evaluation->reconstruct = {"user", "item"};
  of("centralized").participation->per_round = 1;
  of("ials-differences").own->commit = federated::commit_kind::after_ack;
  for (auto& ranked : all)
    if (!ranked.ranks_by.empty()) ranked.settings.evaluation->ranking.candidates = 5;
  return all;
}

[[nodiscard]] inline federated::run_observer quiet() {
  return {[](const auto&) { return result<void>{}; }, [](const auto&) { return result<void>{}; },
          [](auto&) { return result<void>{}; }};
}

/// All private values with the versions they were trained at, as text.
[[nodiscard]] inline std::string private_values(federated::private_store& store) {
  sha256_stream digest;
  std::string who;
  BOOST_REQUIRE(store.visit([&](std::uint32_t client, std::uint64_t version, const models::private_parameters& value) {
    who += std::to_string(client) + "@" + std::to_string(version) + " ";
    digest.add(std::uint64_t{client}).add(version).add(value.values());
  }));
  return who + hex(digest.finish());
}

inline void check_same(const std::optional<federated::group_metrics>& a,
                       const std::optional<federated::group_metrics>& b) {
  BOOST_REQUIRE(a.has_value() == b.has_value());
  if (!a) return;
  BOOST_TEST(a->loss == b->loss);
  BOOST_REQUIRE(a->custom.size() == b->custom.size());
  for (std::size_t i = 0; i < a->custom.size(); ++i) {
    BOOST_TEST(a->custom[i].name == b->custom[i].name);
    BOOST_TEST(a->custom[i].value == b->custom[i].value);
  }
  BOOST_TEST((a->accuracy == b->accuracy));
  BOOST_TEST(a->examples == b->examples);
  BOOST_TEST(a->clients == b->clients);
  BOOST_TEST(a->rmse.value_or(-1) == b->rmse.value_or(-1));
  BOOST_TEST(a->auc.value_or(-1) == b->auc.value_or(-1));
}

/// Model, optimizer, constants, accounts and evaluation: all that a run computes.
inline void check_same(const federated::run_outcome& a, const federated::run_outcome& b) {
  BOOST_TEST(hex(models::model_sha256(a.state.chosen().model)) == hex(models::model_sha256(b.state.chosen().model)));
  BOOST_TEST(a.state.version == b.state.version);
  BOOST_TEST((a.state.optimizer == b.state.optimizer));
  BOOST_TEST(a.state.reference == b.state.reference);
  BOOST_TEST((a.state.counts == b.state.counts));
  BOOST_TEST(a.interrupted == b.interrupted);
  BOOST_TEST(a.state.chosen().version == b.state.chosen().version);
  BOOST_TEST(a.evaluation.version == b.evaluation.version);
  check_same(a.evaluation.validation, b.evaluation.validation);
  check_same(a.evaluation.seen, b.evaluation.seen);
  check_same(a.evaluation.unseen, b.evaluation.unseen);
}

}  // namespace furlong::tests
