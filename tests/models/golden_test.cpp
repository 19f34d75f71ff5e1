// Furlong's models against PyTorch's autograd and optimizer: golden/parity.json, written by golden/make_golden.py.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/working_set.hpp"

using namespace furlong;
using nlohmann::json;

namespace {

json golden() {
  std::ifstream file("tests/models/golden/parity.json");
  BOOST_REQUIRE_MESSAGE(file, "tests run in the source folder, where tests/models/golden/parity.json is");
  return json::parse(file);
}

models::option_values options_of(const models::model_entry& entry, const json& given) {
  auto options = models::defaults(entry.options);
  for (const auto& [name, value] : given.items()) {
    if (value.is_boolean())
      options.set(name, value.get<bool>());
    else if (value.is_number_integer())
      options.set(name, value.get<std::int64_t>());
    else
      options.set(name, value.get<double>());
  }
  return options;
}

models::examples examples_of(const json& table) {
  models::examples data;
  table.at("features").get_to(data.features);
  table.at("values").get_to(data.values);
  table.at("offsets").get_to(data.offsets);
  table.at("labels").get_to(data.labels);
  table.at("owners").get_to(data.owners);
  return data;
}

/// One case, ready to train: all tensors shared.
struct trainee {
  std::shared_ptr<const models::model> model;
  models::partition parts;
  models::shared_parameters start;
  models::private_parameters own;
  models::examples data;
  models::working_set weights;

  trainee(const json& file, const json& one) {
    const auto* entry = models::find_model(one.at("kind").get<std::string>());
    const auto labels =
        entry->kind == "matrix-factorization" ? models::objective::squared_error : models::objective::logistic;
    model =
        entry->build(options_of(*entry, one.at("options")), {file.at("features"), file.at("clients"), labels}).value();
    parts = models::split(model->tensors(), {}).value();
    start = models::shared_parameters(parts.shared);
    own = models::private_parameters(parts.private_);
    for (std::size_t t = 0; t < parts.shared->count(); ++t) {
      const auto values = one.at("start").at((*parts.shared)[t].name).get<std::vector<float>>();
      BOOST_REQUIRE(values.size() == (*parts.shared)[t].size());
      std::ranges::copy(values, start.tensor(t).begin());
    }
    data = examples_of(one.at("examples"));
    weights.gather(*model, parts, start, own, data.view(), 0);
    weights.train_only(parts.all_tensors);
  }

  /// start + change, compared with what PyTorch says, to 1e-5 of the tensor's largest element.
  void check(const json& expected, double factor) const {
    models::delta change;
    weights.difference(start, change);
    const auto dense = models::to_dense(change);
    for (std::size_t t = 0; t < parts.shared->count(); ++t) {
      const auto values = expected.at((*parts.shared)[t].name).get<std::vector<double>>();
      double largest = 0.0;
      for (const double value : values) largest = std::max(largest, std::abs(value));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double moved = dense.values_of(t)[i];
        const double ours = factor == 0.0 ? static_cast<double>(start.tensor(t)[i]) + moved : factor * moved;
        BOOST_TEST(std::abs(ours - values[i]) <= 1e-5 * largest,
                   (*parts.shared)[t].name << "[" << i << "] is " << ours << ", PyTorch says " << values[i]);
      }
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(parity_with_pytorch)

BOOST_AUTO_TEST_CASE(loss_and_gradients_agree) {
  const auto file = golden();
  BOOST_TEST(file.at("cases").size() == 16U);
  for (const auto& one : file.at("cases")) {
    BOOST_TEST_CONTEXT(one.at("kind") << one.at("options")) {
      trainee ours(file, one);
      // A rate of a power of two: what the weights move by is the gradient but for rounding.
      const double loss = ours.weights.step(ours.weights.data(), {.rate = 4.0F});
      BOOST_TEST(std::abs(loss / one.at("loss").get<double>() - 1) <= 1e-5);
      ours.check(one.at("gradients"), -0.25);
    }
  }
}

BOOST_AUTO_TEST_CASE(twenty_steps_of_sgd_agree) {
  const auto file = golden();
  for (const auto& one : file.at("cases")) {
    BOOST_TEST_CONTEXT(one.at("kind") << one.at("options") << " momentum " << one.at("momentum")) {
      trainee ours(file, one);
      for (std::size_t step = 0; step < one.at("batches").size(); ++step) {
        const auto batch = ours.weights.data().slice(one["batches"][step][0], one["batches"][step][1]);
        const double loss = ours.weights.step(batch, {.rate = one.at("rate"), .momentum = one.at("momentum")});
        const double expected = one["losses"][step];
        BOOST_TEST(std::abs(loss / expected - 1) <= 1e-5, "step " << step << ": " << loss << ", not " << expected);
      }
      ours.check(one.at("end"), 0.0);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
