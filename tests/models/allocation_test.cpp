// Steps of the sequence models take nothing from the heap, once batches as large have been seen.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "models/working_set.hpp"
#include "tests/support/count_allocations.hpp"

BOOST_AUTO_TEST_SUITE(allocations_of_steps_on_ragged_batches)

using namespace furlong;

namespace {

constexpr std::uint32_t words = 900;
constexpr std::size_t batch_size = 12;
constexpr std::size_t warm_up = 3;
constexpr std::size_t counted = 10;
constexpr std::uint32_t longest = 20;

/// Token sequences for all steps; those of the first batch are the longest, all others ragged.
models::examples ragged_texts() {
  random_stream stream(1, purpose::test);
  models::examples data;
  data.offsets.push_back(0);
  for (std::size_t i = 0; i < (warm_up + counted) * batch_size; ++i) {
    const auto length = i < batch_size ? longest : 2 + stream.below(longest - 1);
    for (std::uint32_t t = 0; t < length; ++t) data.features.push_back(stream.below(words));
    data.offsets.push_back(static_cast<std::uint32_t>(data.features.size()));
    data.labels.push_back(static_cast<float>(stream.below(3)));
  }
  return data;
}

/// What steps take from the heap after the first few. Widths are such that operands of products are packed.
std::size_t allocations_of_steps(const char* kind, models::objective labels, double dropout) {
  const auto* entry = models::find_model(kind);
  auto options = defaults(entry->options);
  options.set("embedding", std::int64_t{160});
  options.set("hidden", std::int64_t{200});
  if (dropout > 0.0) options.set("dropout", dropout);
  const auto model = entry->build(options, {words, 1, labels, 3, words}).value();
  const auto parts = models::split(model->tensors(), {}).value();
  models::shared_parameters start(parts.shared);
  for (std::size_t t = 0; t < parts.shared->count(); ++t)
    model->initialize(t, random_stream(1, purpose::test, 0, 0, static_cast<std::uint32_t>(t)), start.tensor(t));
  const models::private_parameters own(parts.private_);
  const auto data = ragged_texts();
  models::working_set weights;
  weights.gather(*model, parts, start, own, data.view(), 0);
  weights.train_only(parts.all_tensors);
  weights.drop_by(random_stream(1, purpose::dropout));
  double loss = 0.0;
  std::size_t before = 0;
  for (std::size_t step = 0; step < warm_up + counted; ++step) {
    if (step == warm_up) before = allocations;
    loss += weights.step(weights.data().slice(step * batch_size, (step + 1) * batch_size),
                         {.rate = 0.01F, .momentum = 0.9F});
  }
  const std::size_t taken = allocations - before;
  BOOST_TEST(std::isfinite(loss));
  return taken;
}

}  // namespace

BOOST_AUTO_TEST_CASE(allocations_are_counted) {
  const std::size_t before = allocations;
  void* plain = ::operator new(16);
  const std::size_t after_one = allocations;
  void* aligned = ::operator new (128, std::align_val_t{64});
  const std::size_t after_both = allocations;
  ::operator delete(plain);
  ::operator delete (aligned, std::align_val_t{64});
  BOOST_TEST(after_one == before + 1);
  BOOST_TEST(after_both == before + 2);
}

BOOST_AUTO_TEST_CASE(gru_lm_takes_nothing) {
  BOOST_TEST(allocations_of_steps("gru-lm", models::objective::next_token, 0.2) == 0U);
}

BOOST_AUTO_TEST_CASE(lstm_nwp_takes_nothing) {
  BOOST_TEST(allocations_of_steps("lstm-nwp", models::objective::next_token, 0.0) == 0U);
}

BOOST_AUTO_TEST_CASE(doc_classifier_takes_nothing) {
  BOOST_TEST(allocations_of_steps("doc-classifier", models::objective::categorical, 0.2) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
