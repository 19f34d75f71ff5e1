// Sequence models against PyTorch's layers, autograd and optimizer: golden/sequence_parity.json, written by
// golden/make_sequence_golden.py. Agreement is to 1e-5: of the loss itself, and for gradients and weights of the
// largest element of the tensor, not of each element. Furlong computes in float32, PyTorch in float64.
#include <boost/test/unit_test.hpp>
#include <map>

#include "tests/models/golden.hpp"

BOOST_AUTO_TEST_SUITE(parity_of_sequence_models_with_pytorch)

using namespace furlong;
using nlohmann::json;
using tests::trainee;

namespace {

models::data_facts facts_of(const json& one) {
  static const std::map<std::string, models::objective> objectives = {{"logistic", models::objective::logistic},
                                                                      {"categorical", models::objective::categorical},
                                                                      {"next_token", models::objective::next_token}};
  const auto& facts = one.at("facts");
  return {facts.at("features"), facts.at("clients"), objectives.at(facts.at("labels")), facts.at("classes"),
          facts.at("words")};
}

}  // namespace

BOOST_AUTO_TEST_CASE(loss_and_gradients_agree) {
  const auto file = tests::golden("sequence_parity.json");
  BOOST_TEST(file.at("cases").size() == 26U);
  for (const auto& one : file.at("cases")) BOOST_TEST_CONTEXT(one.at("kind") << one.at("facts") << one.at("options")) {
      trainee(one, facts_of(one)).check_gradient(one, 1024.0F);
    }
}

BOOST_AUTO_TEST_CASE(twenty_steps_of_sgd_agree) {
  const auto file = tests::golden("sequence_parity.json");
  for (const auto& one : file.at("cases"))
    BOOST_TEST_CONTEXT(one.at("kind") << one.at("facts") << one.at("options") << " momentum " << one.at("momentum")) {
      trainee(one, facts_of(one)).check_steps(one);
    }
}

BOOST_AUTO_TEST_SUITE_END()
