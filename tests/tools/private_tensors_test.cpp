// Any tensor of a model can be private, as in FedPer (Arivazhagan et al. 2019), whose last layers stay on the client:
// nothing of it is sent, both engines compute the same, and it is learned.
#include <boost/test/unit_test.hpp>

#include "tests/actors/runs.hpp"
#include "tests/tools/command.hpp"
#include "tools/runs/prepared_run.hpp"

BOOST_AUTO_TEST_SUITE(private_tensors)

using namespace furlong;
using names = std::vector<std::string>;

namespace {

federated::experiment experiment_of(const std::string& algorithm, const std::string& private_list) {
  const auto scenario = scenarios::parse_scenario_text(
      "[scenario]\nname = \"t\"\nrounds = 40\n[data]\nsource = \"synthetic-texts\"\ntask = \"next-word\"\nusers = 24\n"
      "texts_per_user = 20\nclasses = 2\nwords = 12\nlength = 6\nown_words = 0\nclarity = 0.9\nsplit = [0.8, 0.1, "
      "0.1]\n"
      "unseen_users = {test = 0.25}\n[model]\nkind = \"gru-lm\"\nembedding = 6\nhidden = 6\nprivate = " +
          private_list + "\n[algorithm]\nkind = \"" + algorithm +
          "\"\nclient = {lr = 4.0, batch_size = 4}\nreconstruction = {lr = 0.5, epochs = 2}\n"
          "[private]\ncold_start = \"reconstruct\"\n[participation]\nper_round = 6\n",
      "t.toml");
  BOOST_REQUIRE(scenario.has_value());
  auto ready = tools::open_prepared_run(*scenario);
  BOOST_REQUIRE(ready.has_value());
  return ready->experiment;
}

/// Runs on both engines, which must agree, and looks at every update.
void check(const std::string& algorithm, const names& own, const names& shared) {
  std::string list;
  for (const auto& name : own) list += (list.empty() ? "[\"" : ", \"") + name + "\"";
  auto e = experiment_of(algorithm, list + "]");
  names sent;
  for (const auto& spec : e.parts.shared->tensors()) sent.push_back(spec.name);
  BOOST_TEST(sent == shared, boost::test_tools::per_element());

  std::size_t updates = 0;
  e.upload_bytes = [&](const federated::client_update& update) {
    ++updates;
    BOOST_TEST(update.change.shape == e.parts.shared);
    BOOST_TEST(update.change.pieces.size() == shared.size());
    BOOST_TEST(models::to_dense(update.change).values.size() == e.parts.shared->size());
    return std::uint64_t{0};
  };
  storage::memory_store store(e.parts.private_);
  const auto before = federated::initial_state(e);
  federated::evaluation start(e, {0, before.model}, &store);
  federated::workspace use;
  for (std::size_t i = 0; i < start.size(); ++i) BOOST_REQUIRE(start.score(i, use));
  const auto plain = federated::run_reference(e, store, tests::quiet());
  BOOST_REQUIRE(plain.has_value());
  BOOST_TEST(updates == 40U * 6U);

  storage::memory_store other(e.parts.private_);
  e.upload_bytes = [](const federated::client_update&) { return std::uint64_t{0}; };
  const std::atomic<bool> stop = false;
  const auto acted = actors::run_actors(e, federated::initial_state(e), other, tests::quiet(), stop, {2});
  BOOST_REQUIRE(acted.has_value());
  tests::check_same(*plain, *acted);
  BOOST_TEST(tests::private_values(store) == tests::private_values(other));

  const auto untrained = start.report();
  for (auto group : {&federated::evaluation_report::seen, &federated::evaluation_report::unseen}) {
    const auto& now = plain->evaluation.*group;
    BOOST_REQUIRE(now.has_value());
    BOOST_TEST(now->loss < 0.95 * (untrained.*group)->loss);
    BOOST_TEST(now->accuracy.value() > (untrained.*group)->accuracy.value());
  }
}

const names layers = {"embedding", "gru0_input", "gru0_recurrent", "gru0_bias_input", "gru0_bias_recurrent"};

}  // namespace

BOOST_AUTO_TEST_CASE(the_last_layer_of_a_language_model_stays_on_the_client) {
  check("furl", {"output", "output_bias"}, layers);
}

BOOST_AUTO_TEST_CASE(its_bias_alone_is_rebuilt) {
  auto shared = layers;
  shared.emplace_back("output");
  check("fedrecon", {"output_bias"}, shared);
}

BOOST_AUTO_TEST_SUITE_END()
