// Models of features and a linear head.
#include "models/feature_model.hpp"

#include <cstring>

#include "tests/models/model_checks.hpp"

BOOST_AUTO_TEST_SUITE(feature_models)

using namespace furlong;
using models::tensor_view;

namespace {

const models::feature_model* features_in(const tests::model_case& one) {
  return dynamic_cast<const models::feature_model*>(one.model.get());
}

/// sum_ij (z_ij - c_ij)^2 / 2, with a c that differs by example and feature.
constexpr auto distance = [](const tensor_view& features, const tensor_view& d_features) {
  double sum = 0.0;
  for (std::uint32_t i = 0; i < features.rows; ++i)
    for (std::uint32_t j = 0; j < features.cols; ++j) {
      const float difference = features.row(i)[j] - 0.1F * static_cast<float>(i) - 0.05F * static_cast<float>(j);
      d_features.row(i)[j] += difference / static_cast<float>(features.rows);
      sum += 0.5 * static_cast<double>(difference) * static_cast<double>(difference);
    }
  return sum;
};

constexpr auto nothing = [](const tensor_view&, const tensor_view&) { return 0.0; };

/// A model whose loss has the term. Only gradient() differs.
class model_with_term final : public models::model {
 public:
  model_with_term(std::shared_ptr<const models::model> inner, models::feature_loss term)
      : inner_(std::move(inner)), term_(term) {}

  std::string_view kind() const override { return inner_->kind(); }
  const models::layout_ptr& tensors() const override { return inner_->tensors(); }
  models::objective objective() const override { return inner_->objective(); }
  void initialize(std::size_t, random_stream, std::span<float>) const override {}
  double gradient(std::span<const tensor_view> weights, const models::examples_view& batch,
                  models::gradient_views& out) const override {
    return dynamic_cast<const models::feature_model&>(*inner_).gradient_with(weights, batch, term_, out);
  }
  void predict(std::span<const tensor_view>, const models::examples_view&, std::span<float>) const override {}

 private:
  std::shared_ptr<const models::model> inner_;
  models::feature_loss term_;
};

tests::model_case with_term(const tests::model_case& one, models::feature_loss term) {
  auto changed = one;
  changed.model = std::make_shared<model_with_term>(one.model, term);
  return changed;
}

std::vector<float> features_of(tests::model_case& one, const models::examples_view& data) {
  std::vector<float> values(data.size() * features_in(one)->width());
  features_in(one)->features(one.views(one.weights), data, values);
  return values;
}

/// Calls work(case) for all models that have features.
template <class Work>
void for_every_model(const Work& work) {
  std::size_t found = 0;
  for (auto& one : tests::model_cases()) {
    if (features_in(one) == nullptr) continue;
    ++found;
    BOOST_TEST_CONTEXT(one.name) { work(one); }
  }
  BOOST_TEST(found > 0U);
}

}  // namespace

BOOST_AUTO_TEST_CASE(features_times_head_are_the_logits) {
  for_every_model([](tests::model_case& one) {
    const auto& model = *features_in(one);
    const auto views = one.views(one.weights);
    const auto [weight, bias] = model.head();
    const auto count = one.data.labels.size();
    const bool binary = model.objective() == models::objective::logistic;
    BOOST_TEST_REQUIRE(views[weight].rows == (binary ? 1U : model.classes()));
    BOOST_TEST_REQUIRE(views[weight].cols == model.width());
    BOOST_TEST_REQUIRE(views[bias].size() == views[weight].rows);
    const auto features = features_of(one, one.data.view());
    std::vector<float> odds(count);
    model.predict(views, one.data.view(), odds);
    std::vector<float> chances(count * model.classes());
    model.probabilities(views, one.data.view(), chances);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<double> logits;
      double total = 0.0;
      for (std::uint32_t output = 0; output < views[weight].rows; ++output) {
        double logit = static_cast<double>(views[bias].data[output]);
        for (std::uint32_t j = 0; j < model.width(); ++j)
          logit +=
              static_cast<double>(features[i * model.width() + j]) * static_cast<double>(views[weight].row(output)[j]);
        logits.push_back(logit);
        total += std::exp(logit);
      }
      if (binary) {
        BOOST_TEST(std::abs(logits[0] - static_cast<double>(odds[i])) < 1e-5);
        continue;
      }
      for (std::size_t output = 0; output < logits.size(); ++output)
        BOOST_TEST(std::abs(std::exp(logits[output]) / total -
                            static_cast<double>(chances[i * model.classes() + output])) < 1e-5);
    }
  });
}

// Rows come in the order of the examples, not in that of the packing.
BOOST_AUTO_TEST_CASE(features_do_not_depend_on_the_batch) {
  for_every_model([](tests::model_case& one) {
    const auto together = features_of(one, one.data.view());
    const auto width = features_in(one)->width();
    for (std::size_t i = 0; i < one.data.labels.size(); ++i) {
      const auto alone = features_of(one, one.data.view().slice(i, i + 1));
      for (std::uint32_t j = 0; j < width; ++j) BOOST_TEST(std::abs(alone[j] - together[i * width + j]) < 1e-5F);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_step_sees_the_features_and_a_term_of_zero_changes_nothing) {
  for_every_model([](tests::model_case& one) {
    const auto features = features_of(one, one.data.view());
    const auto look = [&](const tensor_view& seen, const tensor_view&) {
      BOOST_TEST_REQUIRE(seen.size() == features.size());
      for (std::size_t i = 0; i < features.size(); ++i) BOOST_TEST(std::abs(seen.data[i] - features[i]) < 1e-5F);
      return 0.0;
    };
    auto looking = with_term(one, look);
    const auto plain = tests::gradient_of(one, one.weights, tests::nothing_frozen(one));
    const auto with = tests::gradient_of(looking, one.weights, tests::nothing_frozen(one));
    BOOST_TEST(with.loss == plain.loss);
    for (std::size_t t = 0; t < plain.tensors.size(); ++t)
      BOOST_TEST(
          std::memcmp(with.tensors[t].data(), plain.tensors[t].data(), plain.tensors[t].size() * sizeof(float)) == 0);
  });
}

BOOST_AUTO_TEST_CASE(the_gradient_with_a_term_is_the_central_difference_of_the_loss_with_it) {
  for_every_model([](tests::model_case& one) {
    auto changed = with_term(one, distance);
    const auto written = tests::gradient_of(changed, changed.weights, tests::nothing_frozen(one));
    BOOST_TEST(written.loss > tests::gradient_of(one, one.weights, tests::nothing_frozen(one)).loss);
    const auto& shape = *one.model->tensors();
    for (std::size_t t = 0; t < shape.count(); ++t)
      for (std::size_t i = 0; i < shape[t].size(); ++i) {
        const auto [slope, agrees] = tests::compare_slope(changed, shape.offset(t) + i, written.tensors[t][i]);
        BOOST_TEST(agrees, shape[t].name << "[" << i << "]: " << slope << " against " << written.tensors[t][i]);
      }
  });
}

// The head's gradient does not know of the term, and the loss has it even if nothing below the head is trained.
BOOST_AUTO_TEST_CASE(a_term_leaves_the_head_alone) {
  for_every_model([](tests::model_case& one) {
    const auto [weight, bias] = features_in(one)->head();
    std::vector<bool> frozen(one.model->tensors()->count(), true);
    frozen[weight] = frozen[bias] = false;
    auto changed = with_term(one, distance);
    auto plain = with_term(one, nothing);
    const auto whole = tests::gradient_of(changed, one.weights, tests::nothing_frozen(one));
    const auto head = tests::gradient_of(changed, one.weights, frozen);
    const auto without = tests::gradient_of(plain, one.weights, frozen);
    BOOST_TEST(head.loss == whole.loss);
    for (const auto t : {weight, bias}) {
      BOOST_TEST((head.tensors[t] == whole.tensors[t]));
      BOOST_TEST((head.tensors[t] == without.tensors[t]));
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
