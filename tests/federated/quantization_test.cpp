#include "federated/experiment/quantization.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "models/half.hpp"

BOOST_AUTO_TEST_SUITE(compression)

using namespace furlong;
using namespace furlong::federated;

namespace {

models::layout_ptr layout_of(std::vector<models::tensor_spec> specs) {
  return std::make_shared<models::layout>(std::move(specs));
}

// One dense vector.
models::delta dense(const std::vector<float>& values) {
  return {layout_of({{"w", 1, static_cast<std::uint32_t>(values.size())}}), {{false, 0, 0, 0}}, {}, values};
}

// Rows of one table of 10 x 2.
models::delta by_rows(const std::vector<std::uint32_t>& rows, const std::vector<float>& values) {
  static const auto shape = layout_of({{"w", 10, 2}});
  return {shape, {{true, 0, static_cast<std::uint32_t>(rows.size()), 0}}, rows, values};
}

std::vector<float> normal_values(std::size_t count, random_stream& random) {
  std::vector<float> values(count);
  for (float& value : values) value = random.normal();
  return values;
}

models::delta rounded(models::delta change, number_format numbers, random_stream& random) {
  models::delta carried;
  BOOST_REQUIRE(round_change(change, carried, numbers, random).has_value());
  return change;
}

float largest_of(std::span<const float> values) {
  float largest = 0.0F;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// A hundredth of a percent above largest / 127, since scales are rounded up.
float scale_bound(std::span<const float> values) { return largest_of(values) / 127.0F * 1.0001F; }

std::vector<float> there_and_back(std::span<const float> values, number_format numbers) {
  std::vector<std::byte> packed(packed_size(numbers, values.size()));
  BOOST_REQUIRE(pack(values, numbers, packed));
  std::vector<float> found(values.size(), -7.0F);
  BOOST_REQUIRE(unpack(packed, numbers, found));
  return found;
}

bool packs(const std::vector<float>& values, number_format numbers) {
  std::vector<std::byte> packed(packed_size(numbers, values.size()));
  return pack(values, numbers, packed);
}

}  // namespace

// Over 4,000 roundings of one value the mean is the value: each has a variance of at most scale^2 / 4, so 5 standard
// errors are 5 scale / (2 sqrt 4000). The first value sets the scale.
BOOST_AUTO_TEST_CASE(stochastic_rounding_is_unbiased) {
  constexpr int times = 4000;
  random_stream random(1, purpose::test);
  auto values = normal_values(60, random);
  values[0] = 4.0F;
  std::vector<double> sums(values.size(), 0.0);
  for (int i = 0; i < times; ++i) {
    const auto change = rounded(dense(values), number_format::int8, random);
    for (std::size_t v = 0; v < values.size(); ++v) sums[v] += static_cast<double>(change.values[v]);
  }
  const double scale = static_cast<double>(scale_bound(values));
  for (std::size_t v = 1; v < values.size(); ++v)
    BOOST_TEST(std::abs(sums[v] / times - static_cast<double>(values[v])) <= 5.0 * scale / (2.0 * std::sqrt(times)));
  // Both neighbours are drawn: rounding to nearest would fail here though a mean of means might not.
  const double step = std::abs(sums[1] / times - static_cast<double>(values[1]));
  BOOST_TEST(step > 0.0);
  BOOST_TEST(std::abs(sums[0] / times - 4.0) <= 4.0 * 0x1p-15);
}

BOOST_AUTO_TEST_CASE(errors_stay_below_one_scale_of_their_group) {
  random_stream random(2, purpose::test);
  for (const std::size_t count : {1U, 2U, 255U, 256U, 257U, 1000U}) {
    auto values = normal_values(count, random);
    if (count > 300) values[300] = 1000.0F;  // the other groups do not suffer
    const auto change = rounded(dense(values), number_format::int8, random);
    for (std::size_t at = 0; at < count; at += values_per_scale) {
      const auto group = std::span(values).subspan(at, std::min(values_per_scale, count - at));
      for (std::size_t i = 0; i < group.size(); ++i)
        BOOST_TEST(std::abs(change.values[at + i] - group[i]) <= scale_bound(group));
    }
  }
}

BOOST_AUTO_TEST_CASE(rounded_numbers_pack_exactly_at_any_magnitude) {
  random_stream random(3, purpose::test);
  for (int exponent = -130; exponent <= 119; ++exponent)
    for (const std::size_t count : {1U, 7U, 300U}) {
      auto values = normal_values(count, random);
      for (float& value : values) value = std::ldexp(std::clamp(value, -1.9F, 1.9F), exponent);
      const auto change = rounded(dense(values), number_format::int8, random);
      BOOST_TEST((there_and_back(change.values, number_format::int8) == change.values));
      // What is rounded already stays.
      BOOST_TEST((rounded(change, number_format::int8, random).values == change.values));
    }
}

BOOST_AUTO_TEST_CASE(models_in_float16_are_rounded_to_nearest_and_saturate) {
  random_stream random(4, purpose::test);
  const std::vector<float> values{0.1F, 65504.0F, 65519.0F, 1e30F, -1e30F, 0x1p-24F, 0x1p-26F, -0.0F, 1.0F};
  const std::vector<float> expected{0.0999755859375F, 65504.0F, 65504.0F, 65504.0F, -65504.0F,
                                    0x1p-24F,         0.0F,     -0.0F,    1.0F};
  models::shared_parameters model(layout_of({{"w", 1, static_cast<std::uint32_t>(values.size())}}));
  std::ranges::copy(values, model.values().begin());
  BOOST_REQUIRE(round_model(model, number_format::float16, random).has_value());
  const std::vector<float> found(model.values().begin(), model.values().end());
  BOOST_TEST(found == expected, boost::test_tools::per_element());
  BOOST_TEST((there_and_back(found, number_format::float16) == expected));
}

// A change goes to one of the two halves next to it, as often as makes the mean right: 5 standard errors.
BOOST_AUTO_TEST_CASE(changes_in_float16_are_rounded_without_bias_and_saturate) {
  constexpr int times = 4000;
  random_stream random(4, purpose::test);
  const std::vector<float> values{0.1F, -0.1F, 0x1p-26F, 1.0003F, 6e-6F, 65504.0F, 1e30F, -1e30F, -0.0F, 1.0F, 1e-30F};
  std::vector<double> sums(values.size(), 0.0);
  for (int i = 0; i < times; ++i) {
    const auto change = rounded(dense(values), number_format::float16, random);
    BOOST_REQUIRE(packs(change.values, number_format::float16));
    for (std::size_t v = 0; v < values.size(); ++v) sums[v] += static_cast<double>(change.values[v]);
  }
  for (std::size_t v = 0; v < values.size(); ++v) {
    const auto exact = static_cast<double>(std::clamp(values[v], -65504.0F, 65504.0F));
    const double step = std::max(std::abs(exact) * 0x1p-10, 0x1p-24);
    BOOST_TEST(std::abs(sums[v] / times - exact) <= 5.0 * step / (2.0 * std::sqrt(times)), values[v]);
  }
  for (const std::size_t v : {0U, 2U, 3U}) BOOST_TEST(sums[v] != times * models::from_half(models::to_half(values[v])));
}

BOOST_AUTO_TEST_CASE(float32_changes_nothing) {
  random_stream random(5, purpose::test);
  const auto values = normal_values(100, random);
  BOOST_TEST((rounded(dense(values), number_format::float32, random).values == values));
  BOOST_TEST((there_and_back(values, number_format::float32) == values));
}

BOOST_AUTO_TEST_CASE(the_stream_decides) {
  random_stream random(6, purpose::test);
  const auto values = normal_values(1000, random);
  const auto of = [&](std::uint32_t client) {
    random_stream rounding(1, purpose::round_change, 7, client);
    return rounded(dense(values), number_format::int8, rounding).values;
  };
  BOOST_TEST((of(3) == of(3)));
  BOOST_TEST((of(3) != of(4)));
}

// Error feedback: what was sent in all is what should have been sent, but for what is carried now.
BOOST_AUTO_TEST_CASE(what_is_sent_adds_up_to_what_was_meant) {
  random_stream random(7, purpose::test);
  for (const auto numbers : {number_format::float16, number_format::int8}) {
    constexpr std::size_t count = 300;
    std::vector<double> meant(count, 0.0);
    std::vector<double> sent(count, 0.0);
    models::delta carried;
    float bound = 0.0F;
    for (int round = 0; round < 400; ++round) {
      auto change = dense(normal_values(count, random));
      change.values[7] = 1e-4F;  // far below one scale: without feedback it would come through by luck only
      for (std::size_t i = 0; i < count; ++i) meant[i] += static_cast<double>(change.values[i]);
      BOOST_REQUIRE(round_change(change, carried, numbers, random).has_value());
      for (std::size_t i = 0; i < count; ++i) sent[i] += static_cast<double>(change.values[i]);
      bound = std::max(bound, 2.0F * scale_bound(change.values));
    }
    for (std::size_t i = 0; i < count; ++i) {
      BOOST_TEST(std::abs(static_cast<double>(carried.values[i])) <= static_cast<double>(bound));
      BOOST_TEST(std::abs(sent[i] + static_cast<double>(carried.values[i]) - meant[i]) <= 2e-5 * 400);
      BOOST_TEST(std::abs(sent[i] - meant[i]) <= static_cast<double>(bound) + 2e-5 * 400);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_carried_rows_join_those_of_the_change) {
  random_stream random(8, purpose::test);
  auto carried = by_rows({9, 1}, {0.5F, 0.25F, 8.0F, -8.0F});
  auto change = by_rows({4, 1}, {1.0F, 2.0F, 3.0F, 4.0F});
  BOOST_REQUIRE(round_change(change, carried, number_format::float32, random).has_value());
  BOOST_TEST(change.rows == (std::vector<std::uint32_t>{1, 4, 9}), boost::test_tools::per_element());
  BOOST_TEST(change.values == (std::vector<float>{11.0F, -4.0F, 1.0F, 2.0F, 0.5F, 0.25F}),
             boost::test_tools::per_element());
  BOOST_TEST(change.pieces.at(0).row_count == 3U);
  BOOST_TEST(carried.rows == change.rows, boost::test_tools::per_element());
  BOOST_TEST(std::ranges::all_of(carried.values, [](float value) { return value == 0.0F; }));
}

BOOST_AUTO_TEST_CASE(dense_in_one_is_dense_in_the_sum) {
  random_stream random(9, purpose::test);
  auto carried = models::to_dense(by_rows({2}, {1.0F, 2.0F}));
  auto change = by_rows({3, 2}, {3.0F, 4.0F, 5.0F, 6.0F});
  BOOST_REQUIRE(round_change(change, carried, number_format::float32, random).has_value());
  BOOST_TEST(!change.pieces.at(0).by_rows);
  BOOST_TEST(change.values == models::to_dense(by_rows({2, 3}, {6.0F, 8.0F, 3.0F, 4.0F})).values,
             boost::test_tools::per_element());
  carried = by_rows({0}, {1.0F, 1.0F});
  BOOST_REQUIRE(round_change(change, carried, number_format::float32, random).has_value());
  BOOST_TEST(change.values.at(0) == 1.0F);
  BOOST_TEST(change.values.at(7) == 4.0F);
}

// Several tensors, whose pieces lie in any order in the buffers and share rows.
BOOST_AUTO_TEST_CASE(every_tensor_is_rounded_for_itself) {
  random_stream random(10, purpose::test);
  const auto shape = layout_of({{"u", 9, 2}, {"b", 9, 1}, {"none", 0, 3}, {"c", 1, 2}});
  models::delta change{shape, {{true, 0, 3, 5}, {true, 0, 3, 2}, {false, 0, 0, 0}, {false, 0, 0, 0}}, {8, 0, 4}, {}};
  change.values = {1e6F, 1e5F, 0.1F, 0.2F, 0.3F, 80, 0.5F, 40, 81, 82, 1};
  const auto before = models::to_dense(change);
  const auto after = models::to_dense(rounded(change, number_format::int8, random));
  for (std::size_t t = 0; t < shape->count(); ++t) {
    const auto a = before.values_of(t);
    const auto b = after.values_of(t);
    for (std::size_t i = 0; i < a.size(); ++i) BOOST_TEST(std::abs(a[i] - b[i]) <= scale_bound(a));
  }
}

BOOST_AUTO_TEST_CASE(models_are_rounded_tensor_by_tensor) {
  random_stream random(11, purpose::test);
  models::shared_parameters model(layout_of({{"u", 30, 20}, {"b", 1, 3}}));
  for (float& value : model.values()) value = random.normal();
  for (float& value : model.tensor(1)) value *= 1e4F;
  const auto before = model;
  BOOST_REQUIRE(round_model(model, number_format::int8, random).has_value());
  for (std::size_t t = 0; t < 2; ++t) {
    for (std::size_t i = 0; i < model.tensor(t).size(); ++i)
      BOOST_TEST(std::abs(model.tensor(t)[i] - before.tensor(t)[i]) <= scale_bound(before.tensor(t)));
    const auto found = there_and_back(model.tensor(t), number_format::int8);
    BOOST_TEST(std::ranges::equal(found, model.tensor(t)));
  }
}

BOOST_AUTO_TEST_CASE(numbers_that_cannot_be_rounded) {
  random_stream random(12, purpose::test);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float unfit : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 0x1p121F}) {
    auto change = dense({1.0F, unfit, 2.0F});
    auto carried = dense({0.5F, 0.5F, 0.5F});
    const auto kept = carried.values;
    const auto outcome = round_change(change, carried, number_format::int8, random);
    BOOST_REQUIRE(!outcome.has_value());
    BOOST_TEST(outcome.error().text().find("which cannot be rounded to int8") != std::string::npos);
    BOOST_TEST(outcome.error().place == "w");
    BOOST_TEST((carried.values == kept));
    models::shared_parameters model(layout_of({{"w", 1, 2}}));
    model.values()[0] = 0.3F;
    model.values()[1] = unfit;
    BOOST_TEST(!round_model(model, number_format::int8, random).has_value());
    BOOST_TEST(model.values()[0] == 0.3F);
  }
  auto large = dense({0x1p121F});
  models::delta carried;
  BOOST_TEST(round_change(large, carried, number_format::float16, random).has_value());
  BOOST_TEST(large.values.at(0) == 65504.0F);
  large = dense({infinity});
  carried = {};
  BOOST_TEST(!round_change(large, carried, number_format::float16, random).has_value());
}

BOOST_AUTO_TEST_CASE(packing_refuses_what_it_would_change) {
  BOOST_TEST(packs({0.5F, 65504.0F, 0x1p-24F}, number_format::float16));
  for (const float odd :
       {0.1F, 65505.0F, 0x1p-25F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    BOOST_TEST(!packs({1.0F, odd}, number_format::float16), odd);
  BOOST_TEST(packs({127.0F, -127.0F, 1.0F, 0.0F, -0.0F}, number_format::int8));
  BOOST_TEST(packs({}, number_format::int8));
  BOOST_TEST(packs({0.0F, 0.0F}, number_format::int8));
  for (const float odd :
       {0.5F, 126.5F, 1e-40F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    BOOST_TEST(!packs({127.0F, odd}, number_format::int8), odd);
  BOOST_TEST(!packs({1e-40F}, number_format::int8));
}

BOOST_AUTO_TEST_CASE(scales_from_strangers_are_checked) {
  std::vector<std::byte> packed(packed_size(number_format::int8, 2), std::byte{0x80});  // codes -128
  std::vector<float> found(2);
  const auto reads = [&](float scale) {
    std::memcpy(packed.data(), &scale, sizeof scale);
    return unpack(packed, number_format::int8, found);
  };
  BOOST_TEST(reads(2.0F));
  BOOST_TEST(found.at(1) == -256.0F);
  BOOST_TEST(reads(0.0F));
  BOOST_TEST(!reads(-1.0F));
  BOOST_TEST(!reads(std::numeric_limits<float>::infinity()));
  BOOST_TEST(!reads(std::numeric_limits<float>::quiet_NaN()));
  BOOST_TEST(!reads(0x1p121F));
}

BOOST_AUTO_TEST_CASE(packed_sizes) {
  BOOST_TEST(packed_size(number_format::float32, 1000) == 4000U);
  BOOST_TEST(packed_size(number_format::float16, 1000) == 2000U);
  BOOST_TEST(packed_size(number_format::int8, 1000) == 1000U + 4U * 4U);
  BOOST_TEST(packed_size(number_format::int8, 256) == 256U + 4U);
  BOOST_TEST(packed_size(number_format::int8, 257) == 257U + 8U);
  BOOST_TEST(packed_size(number_format::int8, 0) == 0U);
  BOOST_TEST(to_string(number_format::int8) == "int8");
}

BOOST_AUTO_TEST_SUITE_END()
