#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/support/decode.hpp"
#include "tests/wire/compare.hpp"
#include "tests/wire/samples.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

BOOST_AUTO_TEST_SUITE(round_trips)

using namespace furlong;
using namespace furlong::wire;
using samples::same;
using samples::same_bits;

namespace {

template <class T>
T value_of(result<T> outcome) {
  BOOST_REQUIRE_MESSAGE(outcome.has_value(), samples::complaint(outcome));
  return *outcome;
}

void require(const result<void>& outcome) { BOOST_REQUIRE_MESSAGE(outcome.has_value(), samples::complaint(outcome)); }

// Same pieces in the same formats, rows sorted.
void check_sparse_copy(const models::delta& sent, const models::delta& received) {
  BOOST_REQUIRE(sent.pieces.size() == received.pieces.size());
  for (std::size_t t = 0; t < sent.pieces.size(); ++t) {
    BOOST_TEST(sent.pieces[t].by_rows == received.pieces[t].by_rows);
    if (!sent.pieces[t].by_rows) continue;
    std::vector<std::uint32_t> rows(sent.rows_of(t).begin(), sent.rows_of(t).end());
    std::ranges::sort(rows);
    BOOST_TEST(std::ranges::equal(rows, received.rows_of(t)));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(tasks) {
  decoder read(samples::small_layout());
  for (const federated::task_id id : {federated::task_id{}, samples::small_task(),
                                      federated::task_id{UINT64_MAX, UINT64_MAX - 1, UINT32_MAX, UINT32_MAX - 1}}) {
    const auto frame = encoder::encode(id);
    BOOST_TEST(frame.size() == encoded_size(id));
    BOOST_TEST((std::get<federated::task_id>(value_of(read.decode(frame.bytes()))) == id));
  }
}

BOOST_AUTO_TEST_CASE(broadcasts_of_random_layouts) {
  random_stream random(1, purpose::test);
  for (int i = 0; i < 300; ++i) {
    const auto shape = samples::random_layout(random);
    const auto sent = samples::random_broadcast(shape, random);
    const auto frame = value_of(encoder(shape).encode(sent));
    BOOST_TEST(frame.size() == encoded_size(sent));
    decoder read(shape);
    federated::broadcast received;
    require(tests::decode_into(read, frame.bytes(), received));
    BOOST_TEST(received.run == sent.run);
    BOOST_TEST(received.version == sent.version);
    BOOST_TEST(received.model.shape() == shape);
    BOOST_TEST(same_bits(received.model.values(), sent.model.values()));
    BOOST_TEST(same_bits(received.reference, sent.reference));
  }
}

BOOST_AUTO_TEST_CASE(updates_of_random_layouts_in_both_formats) {
  random_stream random(2, purpose::test);
  for (int i = 0; i < 600; ++i) {
    const auto shape = samples::random_layout(random);
    const encoder make(shape);
    decoder read(shape);
    const auto sent = samples::random_update(shape, random);
    for (const auto format : {update_format::dense, update_format::sparse}) {
      const auto frame = value_of(make.encode(sent, format));
      BOOST_TEST(frame.size() == encoded_size(sent, format));
      BOOST_TEST(frame.size() <= largest_update(*shape));
      federated::client_update received;
      require(tests::decode_into(read, frame.bytes(), received));
      BOOST_TEST(same(sent, received));
      if (format == update_format::sparse)
        check_sparse_copy(sent.change, received.change);
      else
        BOOST_TEST(std::ranges::none_of(received.change.pieces, &models::delta::piece::by_rows));
    }
  }
}

BOOST_AUTO_TEST_CASE(partial_aggregates) {
  random_stream random(3, purpose::test);
  const auto shape = samples::small_layout();
  const encoder make(shape);
  decoder read(shape);
  federated::partial_aggregate received;
  for (int i = 0; i < 300; ++i) {
    const auto sent = samples::random_partial(random);
    const auto frame = value_of(make.encode(sent));
    BOOST_TEST(frame.size() == encoded_size(sent));
    require(tests::decode_into(read, frame.bytes(), received));
    BOOST_TEST(same(sent, received));
  }
}

BOOST_AUTO_TEST_CASE(pieces_that_share_their_rows) {
  const auto shape = std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"u", 9, 2}, {"b", 9, 1}});
  federated::client_update sent{{1, 2, 3, 4}, 5, 6, 7.0, {shape, {}, {}, {}}};
  sent.change.pieces = {{true, 0, 3, 3}, {true, 0, 3, 0}};
  sent.change.rows = {8, 0, 4};
  sent.change.values = {80, 0.5F, 40, 81, 82, 1, 2, 41, 42};
  const auto frame = value_of(encoder(shape).encode(sent, update_format::sparse));
  decoder read(shape);
  federated::client_update received;
  require(tests::decode_into(read, frame.bytes(), received));
  BOOST_TEST(same(sent, received));
  BOOST_TEST(received.change.rows == (std::vector<std::uint32_t>{0, 4, 8, 0, 4, 8}), boost::test_tools::per_element());
  BOOST_TEST(received.change.values == (std::vector<float>{1, 2, 41, 42, 81, 82, 0.5F, 40, 80}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(views_lie_in_the_frame) {
  const auto shape = samples::small_layout();
  const auto frame = value_of(encoder(shape).encode(samples::small_update(), update_format::sparse));
  decoder read(shape);
  const auto found = value_of(read.decode(frame.bytes()));
  const auto& view = std::get<update_view>(found);
  for (const auto& tensor : view.tensors) {
    const auto* const first = reinterpret_cast<const std::byte*>(tensor.values.data());
    BOOST_TEST((first > frame.bytes().data() && first < frame.bytes().data() + frame.size()));
  }
}

BOOST_AUTO_TEST_CASE(frames_at_any_address_are_read) {
  const auto shape = samples::small_layout();
  const encoder make(shape);
  decoder read(shape);
  const auto frame = value_of(make.encode(samples::small_update(), update_format::sparse));
  for (std::size_t shift = 0; shift < 8; ++shift) {
    samples::bytes moved(shift);
    moved.insert(moved.end(), frame.bytes().begin(), frame.bytes().end());
    federated::client_update received;
    require(tests::decode_into(read, std::span(moved).subspan(shift), received));
    BOOST_TEST(same(samples::small_update(), received));
  }
}

BOOST_AUTO_TEST_CASE(a_target_used_again_is_not_allocated_again) {
  const auto shape = samples::small_layout();
  const encoder make(shape);
  decoder read(shape);
  const auto large = value_of(make.encode(samples::small_update(), update_format::dense));
  const auto small = value_of(make.encode(samples::small_update(), update_format::sparse));
  federated::client_update target;
  target.change.rows.reserve(8);
  require(tests::decode_into(read, large.bytes(), target));
  const auto* const values = target.change.values.data();
  const auto* const rows = target.change.rows.data();
  const auto* const pieces = target.change.pieces.data();
  for (const auto* frame : {&small, &large, &small}) {
    require(tests::decode_into(read, frame->bytes(), target));
    BOOST_TEST(same(samples::small_update(), target));
    BOOST_TEST(target.change.values.data() == values);
    BOOST_TEST(target.change.rows.data() == rows);
    BOOST_TEST(target.change.pieces.data() == pieces);
  }
}

BOOST_AUTO_TEST_CASE(a_refused_frame_leaves_the_target_as_it_was) {
  const auto shape = samples::small_layout();
  auto frame = samples::copy_of(value_of(encoder(shape).encode(samples::small_update(), update_format::sparse)));
  decoder read(shape);
  federated::client_update target;
  require(tests::decode_into(read, frame, target));
  frame[5 * 8] = std::byte{99};  // examples
  frame[24 * 8] = std::byte{3};  // rows 3, 3
  BOOST_TEST(!tests::decode_into(read, frame, target).has_value());
  BOOST_TEST(target.examples == samples::small_update().examples);
  BOOST_TEST(same(samples::small_update(), target));
}

BOOST_AUTO_TEST_CASE(a_model_of_realistic_size_passes_the_default_traversal_limit_of_64_mib) {
  const auto shape = std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"w", 5000, 4000}});
  federated::broadcast sent{1, 2, models::shared_parameters(shape), {}};
  sent.model.values().back() = 3.0F;
  const auto frame = value_of(encoder(shape).encode(sent));
  decoder read(shape);
  federated::broadcast received;
  require(tests::decode_into(read, frame.bytes(), received));
  BOOST_TEST(received.model.values().back() == 3.0F);
}

BOOST_AUTO_TEST_SUITE_END()
