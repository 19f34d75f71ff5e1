// Models against what PyTorch computed (golden/*.json): what the tests of both files share.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "models/working_set.hpp"

namespace furlong::tests {

inline nlohmann::json golden(const std::string& name) {
  const auto path = "tests/models/golden/" + name;
  std::ifstream file(path);
  BOOST_REQUIRE_MESSAGE(file, "tests run in the source folder, where " << path << " is");
  return nlohmann::json::parse(file);
}

inline option_values options_of(const models::model_entry& entry, const nlohmann::json& given) {
  auto options = defaults(entry.options);
  for (const auto& [name, value] : given.items()) {
    if (value.is_boolean())
      options.set(name, value.get<bool>());
    else if (value.is_number_integer())
      options.set(name, value.get<std::int64_t>());
    else if (value.is_string())
      options.set(name, value.get<std::string>());
    else
      options.set(name, value.get<double>());
  }
  return options;
}

inline models::examples examples_of(const nlohmann::json& table) {
  models::examples data;
  table.at("features").get_to(data.features);
  table.at("values").get_to(data.values);
  table.at("offsets").get_to(data.offsets);
  table.at("labels").get_to(data.labels);
  table.at("owners").get_to(data.owners);
  return data;
}

/// First values of wide cases: thousandths below 0.16, as golden/make_sequence_golden.py draws them (redraw()).
inline void draw_start(std::uint32_t state, std::span<float> values) {
  for (auto& value : values) {
    state = (state * 1103515245U + 12345U) % (1U << 31);
    value = static_cast<float>((static_cast<int>((state >> 16) % 321U) - 160) / 1000.0);
  }
}

/// One case, ready to train: all tensors shared.
struct trainee {
  std::shared_ptr<const models::model> model;
  models::partition parts;
  models::shared_parameters start;
  models::private_parameters own;
  models::examples data;
  models::working_set weights;
  std::size_t every;  ///< which elements of each tensor the file has

  trainee(const nlohmann::json& one, const models::data_facts& facts) : every(one.value("every", std::size_t{1})) {
    const auto* entry = models::find_model(one.at("kind").get<std::string>());
    model = entry->build(options_of(*entry, one.at("options")), facts).value();
    parts = models::split(model->tensors(), {}).value();
    start = models::shared_parameters(parts.shared);
    own = models::private_parameters(parts.private_);
    begin_at(one.at("start"));
    data = examples_of(one.at("examples"));
    weights.gather(*model, parts, start, own, data.view(), 0);
    weights.train_only(parts.all_tensors);
  }

  /// Takes over the first values, or draws them from a seed.
  void begin_at(const nlohmann::json& given) {
    if (given.is_number()) return draw_start(given.get<std::uint32_t>(), start.values());
    for (std::size_t t = 0; t < parts.shared->count(); ++t) {
      const auto values = given.at((*parts.shared)[t].name).get<std::vector<float>>();
      BOOST_REQUIRE(values.size() == (*parts.shared)[t].size());
      std::ranges::copy(values, start.tensor(t).begin());
    }
  }

  /// start + change, or `factor` times the change unless that is 0, compared with what PyTorch says, to 1e-5 of the
  /// tensor's largest element (of those compared).
  void check(const nlohmann::json& expected, double factor) const {
    models::delta change;
    weights.difference(start, change);
    const auto dense = models::to_dense(change);
    BOOST_REQUIRE(expected.size() == parts.shared->count());
    for (std::size_t t = 0; t < parts.shared->count(); ++t) {
      const auto values = expected.at((*parts.shared)[t].name).get<std::vector<double>>();
      BOOST_REQUIRE(values.size() == ((*parts.shared)[t].size() + every - 1) / every);
      double largest = 0.0;
      for (const double value : values) largest = std::max(largest, std::abs(value));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double moved = dense.values_of(t)[i * every];
        const double ours = factor == 0.0 ? static_cast<double>(start.tensor(t)[i * every]) + moved : factor * moved;
        BOOST_TEST(std::abs(ours - values[i]) <= 1e-5 * largest,
                   (*parts.shared)[t].name << "[" << i * every << "] is " << ours << ", PyTorch says " << values[i]);
      }
    }
  }

  /// The loss and the gradient of one step on all examples. The rate is a power of two: what the weights move by is the
  /// gradient but for rounding.
  void check_gradient(const nlohmann::json& one, float rate) {
    const double loss = weights.step(weights.data(), {.rate = rate});
    BOOST_TEST(std::abs(loss / one.at("loss").get<double>() - 1) <= 1e-5);
    check(one.at("gradients"), -1.0 / static_cast<double>(rate));
  }

  /// The losses of all steps, and where they end.
  void check_steps(const nlohmann::json& one) {
    for (std::size_t step = 0; step < one.at("batches").size(); ++step) {
      const auto batch = weights.data().slice(one["batches"][step][0], one["batches"][step][1]);
      const double loss = weights.step(batch, {.rate = one.at("rate"), .momentum = one.at("momentum")});
      const double expected = one["losses"][step];
      BOOST_TEST(std::abs(loss / expected - 1) <= 1e-5, "step " << step << ": " << loss << ", not " << expected);
    }
    check(one.at("end"), 0.0);
  }
};

}  // namespace furlong::tests
