// Furlong's models against PyTorch's autograd and optimizer: golden/parity.json, written by golden/make_golden.py.
#include "tests/models/golden.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(parity_with_pytorch)

using namespace furlong;
using nlohmann::json;
using tests::trainee;

namespace {

models::data_facts facts_of(const json& file, const json& one) {
  const bool ratings = one.at("kind") == "matrix-factorization";
  return {file.at("features"), file.at("clients"),
          ratings ? models::objective::squared_error : models::objective::logistic};
}

}  // namespace

BOOST_AUTO_TEST_CASE(loss_and_gradients_agree) {
  const auto file = tests::golden("parity.json");
  BOOST_TEST(file.at("cases").size() == 16U);
  for (const auto& one : file.at("cases")) BOOST_TEST_CONTEXT(one.at("kind") << one.at("options")) {
      trainee(one, facts_of(file, one)).check_gradient(one, 4.0F);
    }
}

BOOST_AUTO_TEST_CASE(twenty_steps_of_sgd_agree) {
  const auto file = tests::golden("parity.json");
  for (const auto& one : file.at("cases"))
    BOOST_TEST_CONTEXT(one.at("kind") << one.at("options") << " momentum " << one.at("momentum")) {
      trainee(one, facts_of(file, one)).check_steps(one);
    }
}

BOOST_AUTO_TEST_SUITE_END()
