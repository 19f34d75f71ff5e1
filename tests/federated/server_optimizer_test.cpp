// Each optimizer against its defining equation, written down element by element in double precision.
#include "federated/rounds/server_optimizer.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/updates.hpp"

BOOST_AUTO_TEST_SUITE(server_optimizers)

using namespace furlong;
using federated::optimizer_kind;
using federated::server_optimizer;

namespace {

const models::layout_ptr shape = tests::mixed_layout();

models::shared_parameters drawn(std::uint32_t part) {
  models::shared_parameters values(shape);
  random_stream stream(3, purpose::test, 0, 0, part);
  for (auto& value : values.values()) value = stream.below(4) == 0 ? 0.0F : stream.uniform(-1.0F, 1.0F);
  return values;
}

/// One element, with g = -change; "Adaptive federated optimization", algorithm 2, and Adam's algorithm 1.
struct element {
  double w, m = 0.0, v = 0.0;

  void step(const federated::server_settings& s, double g, int t) {
    switch (s.optimizer) {
      case optimizer_kind::sgd:
        m = s.momentum * m + g;
        w -= s.lr * m;
        return;
      case optimizer_kind::adagrad:
        v += g * g;
        if (g != 0) w -= s.lr * g / (std::sqrt(v) + s.eps);
        return;
      case optimizer_kind::adam: v = s.beta2 * v + (1 - s.beta2) * g * g; break;
      case optimizer_kind::yogi: v += (1 - s.beta2) * (g * g > v ? 1.0 : g * g < v ? -1.0 : 0.0) * g * g; break;
    }
    m = s.beta1 * m + (1 - s.beta1) * g;
    const double m_hat = s.bias_correction ? m / (1 - std::pow(s.beta1, t)) : m;
    const double v_hat = s.bias_correction ? v / (1 - std::pow(s.beta2, t)) : v;
    if (m != 0) w -= s.lr * m_hat / (std::sqrt(v_hat) + s.eps);
  }
};

std::vector<federated::server_settings> variants() {
  std::vector<federated::server_settings> all;
  for (const auto kind : {optimizer_kind::sgd, optimizer_kind::adagrad, optimizer_kind::adam, optimizer_kind::yogi})
    for (const bool other : {false, true}) {
      federated::server_settings s;
      s.optimizer = kind;
      s.lr = 0.3;
      s.momentum = other ? 0.9 : 0.0;
      s.initial_accumulator = other ? 0.25 : 0.0;
      s.bias_correction = other;
      s.eps = other ? 0.1 : 1e-3;  // where eps is beside the root makes a difference
      all.push_back(s);
    }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_step_is_the_defining_equation) {
  for (const auto& settings : variants()) {
    BOOST_TEST_CONTEXT("optimizer " << static_cast<int>(settings.optimizer) << " lr " << settings.lr << " momentum "
                                    << settings.momentum) {
      server_optimizer optimizer(settings, shape);
      auto model = drawn(0);
      std::vector<element> expected;
      for (const auto w : model.values()) {
        expected.push_back({w});
        if (settings.optimizer != optimizer_kind::sgd) expected.back().v = settings.initial_accumulator;
      }
      for (int t = 1; t <= 8; ++t) {
        const auto change = drawn(static_cast<std::uint32_t>(t));
        optimizer.apply(change, model);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          expected[i].step(settings, -static_cast<double>(change.values()[i]), t);
          BOOST_TEST(std::abs(model.values()[i] - expected[i].w) < 2e-5 * (1 + std::abs(expected[i].w)));
        }
      }
      BOOST_TEST(optimizer.state().steps == 8U);
    }
  }
}

BOOST_AUTO_TEST_CASE(plain_sgd_at_rate_one_adds_the_change) {
  server_optimizer optimizer({}, shape);
  auto model = drawn(0);
  const auto before = model;
  const auto change = drawn(1);
  optimizer.apply(change, model);
  for (std::size_t i = 0; i < shape->size(); ++i)
    BOOST_TEST(model.values()[i] == before.values()[i] + change.values()[i]);
}

BOOST_AUTO_TEST_CASE(buffers_get_the_change_as_it_is) {
  const auto with_buffers = std::make_shared<const models::layout>(
      std::vector<models::tensor_spec>{{.name = "a", .cols = 3},
                                       {.name = "m", .cols = 2, .buffer = true},
                                       {.name = "b", .cols = 4},
                                       {.name = "n", .cols = 5, .buffer = true}});
  const auto trained = std::make_shared<const models::layout>(
      std::vector<models::tensor_spec>{{.name = "a", .cols = 3}, {.name = "b", .cols = 4}});
  for (const auto& settings : variants()) {
    server_optimizer all(settings, with_buffers);
    server_optimizer alone(settings, trained);
    models::shared_parameters model(with_buffers);
    models::shared_parameters expected(trained);
    random_stream stream(4, purpose::test);
    for (int t = 0; t < 4; ++t) {
      models::shared_parameters change(with_buffers);
      models::shared_parameters of_trained(trained);
      for (auto& value : change.values()) value = stream.uniform(-1.0F, 1.0F);
      std::ranges::copy(change.tensor(0), of_trained.tensor(0).begin());
      std::ranges::copy(change.tensor(2), of_trained.tensor(1).begin());
      const auto before = model;
      all.apply(change, model);
      alone.apply(of_trained, expected);
      BOOST_TEST(tests::same_bits(model.tensor(0), expected.tensor(0)));
      BOOST_TEST(tests::same_bits(model.tensor(2), expected.tensor(1)));
      for (const std::size_t buffer : {1U, 3U})
        for (std::size_t i = 0; i < model.tensor(buffer).size(); ++i)
          BOOST_TEST(model.tensor(buffer)[i] == before.tensor(buffer)[i] + change.tensor(buffer)[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_restored_optimizer_goes_on_as_if_it_had_never_stopped) {
  for (const auto& settings : variants()) {
    server_optimizer through(settings, shape);
    auto expected = drawn(0);
    for (std::uint32_t t = 1; t <= 6; ++t) through.apply(drawn(t), expected);

    auto model = drawn(0);
    federated::optimizer_state state = server_optimizer(settings, shape).state();
    for (std::uint32_t t = 1; t <= 6; ++t) {
      server_optimizer life(settings, shape);
      life.restore(state);
      life.apply(drawn(t), model);
      state = life.state();
    }
    BOOST_TEST(tests::same_bits(model.values(), expected.values()));
    BOOST_TEST((state == through.state()));
  }
}

// Adagrad's and Adam's quotients are 0 / 0 where nothing ever moved and eps is 0.
BOOST_AUTO_TEST_CASE(what_never_changed_stays_even_without_eps) {
  for (auto settings : variants()) {
    settings.eps = 0.0;
    settings.initial_accumulator = 0.0;
    server_optimizer optimizer(settings, shape);
    auto model = drawn(0);
    const auto before = model;
    optimizer.apply(models::shared_parameters(shape), model);
    BOOST_TEST(tests::same_bits(model.values(), before.values()));
  }
}

BOOST_AUTO_TEST_SUITE_END()
