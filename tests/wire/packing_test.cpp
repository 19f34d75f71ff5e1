// Broadcasts and updates in fewer bytes: rounded to 16 or 8 bits, compressed, or both.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/support/decode.hpp"
#include "tests/wire/compare.hpp"
#include "tests/wire/samples.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

BOOST_AUTO_TEST_SUITE(packed_frames)

using namespace furlong;
using namespace furlong::wire;
using federated::number_format;
using samples::same;
using samples::same_bits;

namespace {

constexpr number_format all_formats[] = {number_format::float32, number_format::float16, number_format::int8};

template <class T>
T value_of(result<T> outcome) {
  BOOST_REQUIRE_MESSAGE(outcome.has_value(), samples::complaint(outcome));
  return *outcome;
}

void require(const result<void>& outcome) { BOOST_REQUIRE_MESSAGE(outcome.has_value(), samples::complaint(outcome)); }

// Numbers that any format can round.
void make_finite(std::span<float> values, random_stream& random) {
  for (float& value : values) value = random.below(4) == 0 ? 0.0F : random.normal();
}

models::delta rounded(models::delta change, number_format numbers, random_stream& random) {
  models::delta carried;
  require(federated::round_change(change, carried, numbers, random));
  return change;
}

models::layout_ptr layout_of(std::vector<models::tensor_spec> specs) {
  return std::make_shared<models::layout>(std::move(specs));
}

// All tensors dense and all values drawn.
federated::client_update dense_update(const models::layout_ptr& shape, random_stream& random) {
  federated::client_update update{{1, 2, 3, 4}, 5, 6, 7.0, {shape, {}, {}, {}}};
  for (std::size_t t = 0; t < shape->count(); ++t) update.change.pieces.push_back({false, 0, 0, shape->offset(t)});
  update.change.values.resize(shape->size());
  make_finite(update.change.values, random);
  return update;
}

void check_not_rounded(const result<encoded>& outcome, const std::string& text) {
  BOOST_REQUIRE(!outcome.has_value());
  BOOST_TEST(outcome.error().text() == text);
}

}  // namespace

BOOST_AUTO_TEST_CASE(rounded_updates_arrive_as_they_were_rounded) {
  random_stream random(21, purpose::test);
  for (int i = 0; i < 200; ++i) {
    const auto shape = samples::random_layout(random);
    const encoder make(shape);
    decoder read(shape);
    auto sent = samples::random_update(shape, random);
    make_finite(sent.change.values, random);
    const auto original = sent.change;
    for (const auto numbers : all_formats)
      for (const auto format : {update_format::dense, update_format::sparse})
        for (const bool zstd : {false, true}) {
          sent.change =
              rounded(format == update_format::dense ? models::to_dense(original) : original, numbers, random);
          const auto frame = value_of(make.encode(sent, format, {numbers, zstd}));
          if (!zstd) BOOST_TEST(frame.size() == encoded_size(sent, format, numbers));
          BOOST_TEST(frame.size() <= encoded_size(sent, format, numbers));
          BOOST_TEST(frame.size() <= largest_update(*shape));
          federated::client_update received;
          require(tests::decode_into(read, frame.bytes(), received));
          BOOST_TEST(same(sent, received));
          for (std::size_t t = 0; t < shape->count(); ++t)
            BOOST_TEST(received.change.pieces[t].by_rows == sent.change.pieces[t].by_rows);
        }
  }
}

BOOST_AUTO_TEST_CASE(rounded_broadcasts_arrive_as_they_were_rounded) {
  random_stream random(22, purpose::test);
  for (int i = 0; i < 200; ++i) {
    const auto shape = samples::random_layout(random);
    const encoder make(shape);
    decoder read(shape);
    auto sent = samples::random_broadcast(shape, random);
    for (const auto numbers : all_formats)
      for (const bool zstd : {false, true}) {
        make_finite(sent.model.values(), random);
        require(federated::round_model(sent.model, numbers, random));
        const auto frame = value_of(make.encode(sent, {numbers, zstd}));
        if (!zstd) BOOST_TEST(frame.size() == encoded_size(sent, numbers));
        BOOST_TEST(frame.size() <= encoded_size(sent, numbers));
        BOOST_TEST(frame.size() <= largest_broadcast(*shape, sent.reference.size()));
        federated::broadcast received;
        require(tests::decode_into(read, frame.bytes(), received));
        BOOST_TEST(received.version == sent.version);
        BOOST_TEST(same_bits(received.model.values(), sent.model.values()));
        BOOST_TEST(same_bits(received.reference, sent.reference));
      }
  }
}

BOOST_AUTO_TEST_CASE(any_bits_survive_zstd) {
  random_stream random(23, purpose::test);
  for (int i = 0; i < 100; ++i) {
    const auto shape = samples::random_layout(random);
    const auto sent = samples::random_update(shape, random);
    const auto frame = value_of(encoder(shape).encode(sent, update_format::dense, {number_format::float32, true}));
    federated::client_update received;
    require(tests::decode_into(decoder(shape), frame.bytes(), received));
    BOOST_TEST(same(sent, received));
  }
}

// Two hundred rows of a table that changed, among three thousand that did not: what zstd is for.
BOOST_AUTO_TEST_CASE(sizes_shrink_as_promised) {
  random_stream random(24, purpose::test);
  const auto shape = layout_of({{"items", 3706, 16}, {"bias", 3706, 1}});
  const encoder make(shape);
  auto update = dense_update(shape, random);
  const double raw = 4.0 * static_cast<double>(shape->size());
  const auto size = [&](number_format numbers, bool zstd) {
    auto one = update;
    one.change = rounded(update.change, numbers, random);
    return static_cast<double>(value_of(make.encode(one, update_format::dense, {numbers, zstd})).size());
  };
  BOOST_TEST(size(number_format::float32, false) <= 1.01 * raw);
  BOOST_TEST(size(number_format::float16, false) <= 0.51 * raw);
  BOOST_TEST(size(number_format::int8, false) <= 0.26 * raw);
  std::fill(update.change.values.begin() + 200 * 16, update.change.values.end(), 0.0F);
  BOOST_TEST(size(number_format::float32, true) <= 0.06 * raw);
  BOOST_TEST(size(number_format::int8, true) <= 0.02 * raw);
}

// What is around the values is 144 bytes and 24 for each tensor, whatever they hold: 1 % of 4,200 floats.
BOOST_AUTO_TEST_CASE(dense_updates_are_hardly_longer_than_their_floats) {
  random_stream random(25, purpose::test);
  for (const std::uint32_t tensors : {1U, 2U, 7U})
    for (const std::uint32_t values : {1000U, 1001U, 4200U, 4301U, 100000U}) {
      const auto shape = layout_of(std::vector<models::tensor_spec>(tensors, {"w", values, 1}));
      const auto update = dense_update(shape, random);
      const auto size = value_of(encoder(shape).encode(update, update_format::dense)).size();
      const std::size_t raw = shape->size() * sizeof(float);
      BOOST_TEST(size <= raw + 144 + 28 * tensors);
      BOOST_TEST(size >= raw + 144 + 24 * tensors);
      if (values >= 4200) BOOST_TEST(static_cast<double>(size) <= 1.01 * static_cast<double>(raw));
    }
}

BOOST_AUTO_TEST_CASE(what_was_not_rounded_is_refused) {
  const encoder make(samples::small_layout());
  auto message = samples::small_broadcast();
  message.model.values()[9] = 0.1F;
  check_not_rounded(make.encode(message, {number_format::float16, false}),
                    "broadcast.values of bias: holds numbers that were not rounded to float16");
  check_not_rounded(make.encode(message, {number_format::int8, true}),
                    "broadcast.values of items: holds numbers that were not rounded to int8");
  auto update = samples::small_update();
  update.change.values[0] = 0.1F;
  check_not_rounded(make.encode(update, update_format::sparse, {number_format::float16, true}),
                    "update.tensors[0].values: holds numbers that were not rounded to float16");
  check_not_rounded(make.encode(update, update_format::dense, {number_format::int8, false}),
                    "update.tensors[0].values: holds numbers that were not rounded to int8");
}

// Other numbers stand under one scale then, so packing would have to round again.
BOOST_AUTO_TEST_CASE(rounded_by_rows_and_sent_dense_is_refused_where_it_would_change_values) {
  const auto shape = layout_of({{"w", 600, 1}});
  random_stream random(26, purpose::test);
  federated::client_update update{{}, 1, 1, 0.0, {shape, {{true, 0, 300, 0}}, {}, {}}};
  for (std::uint32_t row = 0; row < 300; ++row) update.change.rows.push_back(2 * row);
  update.change.values.resize(300);
  for (float& value : update.change.values) value = random.normal();
  update.change.values[299] = 1000.0F;
  update.change = rounded(update.change, number_format::int8, random);
  const packing how{number_format::int8, false};
  BOOST_TEST(encoder(shape).encode(update, update_format::sparse, how).has_value());
  check_not_rounded(encoder(shape).encode(update, update_format::dense, how),
                    "update.tensors[0].values: holds numbers that were not rounded to int8");
}

BOOST_AUTO_TEST_CASE(a_rule_has_as_many_constants_as_it_says) {
  const auto shape = samples::small_layout();
  auto message = samples::small_broadcast();
  message.reference.resize(1000);
  const encoder make(shape, shape, federated::rule_sizes{.reference = 1000});
  BOOST_TEST(value_of(make.encode(message)).size() <= largest_broadcast(*shape, 1000));
  message.reference.push_back(0.0);
  const auto outcome = make.encode(message);
  BOOST_REQUIRE(!outcome.has_value());
  BOOST_TEST(outcome.error().text() ==
             "broadcast.reference: has 1001 numbers, and the aggregation rule's constants are 1000");
  message.reference.clear();  // of an earlier version
  BOOST_TEST(make.encode(message).has_value());
}

BOOST_AUTO_TEST_CASE(masked_updates_are_as_long_as_the_words_of_their_rule) {
  const auto shape = samples::small_layout();
  const federated::rule_sizes rule{.words = 3 + 2 * shape->size()};
  federated::client_update masked;
  masked.words.resize(rule.words, 7);
  const auto frame = value_of(encoder(shape).encode(masked, update_format::dense));
  BOOST_TEST(frame.size() <= largest_masked_update(rule.words));
  federated::client_update found;
  require(tests::decode_into(decoder(shape, shape, rule), frame.bytes(), found));
  BOOST_TEST(found.words == masked.words, boost::test_tools::per_element());
  masked.words.resize(rule.words + 1024);
  const auto longer = value_of(encoder(shape).encode(masked, update_format::dense));
  BOOST_TEST(!tests::decode_into(decoder(shape, shape, rule), longer.bytes(), found).has_value());
}

BOOST_AUTO_TEST_CASE(what_no_message_holds_is_known_before_a_run) {
  const auto why = [](std::uint32_t rows, const federated::rule_sizes& rule) {
    const models::layout shape({{"table", rows, 1}});
    const auto fits = check_lengths(shape, shape, rule);
    return fits ? std::string() : fits.error().text();
  };
  constexpr std::uint32_t most = (1U << 27U) - 1;
  BOOST_TEST(why(most, {.reference = 1000, .words = (1U << 26U) - 1}) == "");
  BOOST_TEST(why(most + 1, {}).starts_with("the model: takes 536870912 bytes in a message, which holds 536870911"));
  BOOST_TEST(why(10, {.words = 1U << 26U}).starts_with("the sum of the updates: takes 536870912 bytes"));
  BOOST_TEST(why(10, {.reference = 1U << 28U}).starts_with("the model with the constants of the rule: takes "));
}

BOOST_AUTO_TEST_CASE(partial_aggregates_keep_below_their_limit) {
  const auto shape = samples::small_layout();
  federated::partial_aggregate partial;
  for (std::uint32_t client = 0; client < 50; ++client) {
    partial.folded.push_back({client, 0});
    partial.refused.push_back({{client, 1}, federated::rejection::norm_bound});
  }
  partial.sums.words.resize(3 + 3 * shape->count() + 2 * shape->size());  // FedAtt keeps the most
  BOOST_TEST(value_of(encoder(shape).encode(partial)).size() <= largest_partial(partial.sums.words.size(), 50));
}

BOOST_AUTO_TEST_CASE(a_target_used_again_for_packed_frames_has_only_the_new_values) {
  const encoder make(samples::small_layout());
  decoder read(samples::small_layout());
  const packing zstd{number_format::float32, true};
  const auto even = value_of(make.encode(samples::even_update(), update_format::dense, zstd));
  const auto small =
      value_of(make.encode(samples::small_update(), update_format::sparse, {number_format::float16, false}));
  federated::client_update target;
  for (int i = 0; i < 2; ++i) {
    require(tests::decode_into(read, even.bytes(), target));
    BOOST_TEST(same(samples::even_update(), target));
    require(tests::decode_into(read, small.bytes(), target));
    BOOST_TEST(same(samples::small_update(), target));
  }
}

BOOST_AUTO_TEST_SUITE_END()
