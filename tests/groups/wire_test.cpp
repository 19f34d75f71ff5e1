// Added tensors over the wire: what is decoded is what was encoded, and a run over frames is the run without.
#include <boost/test/unit_test.hpp>

#include "federated/aggregation/accumulator.hpp"
#include "federated/client/client_work.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"
#include "federated/state/broadcasts.hpp"
#include "models/digest.hpp"
#include "tests/groups/every_place.hpp"
#include "tests/support/decode.hpp"
#include "tests/support/updates.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

BOOST_AUTO_TEST_SUITE(groups_over_the_wire)

using namespace furlong;
using federated::number_format;
using tests::every_place_experiment;
using tests::every_place_settings;

namespace {

federated::experiment made(const federated::compression_settings& how, bool sparse) {
  auto settings = every_place_settings();
  settings.network->compression = how;
  settings.network->sparse_upload = sparse;
  return every_place_experiment(settings);
}

/// One round of all clients. `through`: what becomes of broadcast and updates on their way.
template <class Broadcast, class Update>
federated::aggregate round_of(const federated::experiment& e, const Broadcast& down, const Update& up) {
  const auto state = federated::initial_state(e);
  const auto from = down(federated::make_broadcast(e, state));
  const auto sum = federated::make_accumulator(e, {});
  federated::workspace use;
  for (const auto client : e.participants->training()) {
    federated::client_update update;
    static_cast<void>(federated::client_work(e, from, {e.run, 0, client, 0}, false, use, update));
    const auto arrived = up(update);
    BOOST_REQUIRE(!federated::validate(arrived, *e.parts.up, *e.settings.aggregation,
                                       federated::bounds_of(e, 1e30, {}, std::nullopt)));
    BOOST_REQUIRE(!sum->fold(arrived));
  }
  return sum->report();
}

std::string refusal_of(const federated::experiment& from, const federated::experiment& to,
                       const federated::client_update& update) {
  const auto frame = wire::encoder(from.parts.down, from.parts.up).encode(update, wire::update_format::dense).value();
  federated::client_update into;
  const auto done = tests::decode_into(wire::decoder(to.parts.down, to.parts.up), frame.bytes(), into);
  return done ? std::string() : done.error().text();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_round_over_frames_is_the_round_without) {
  for (const auto numbers : {number_format::float32, number_format::float16, number_format::int8})
    for (const bool zstd : {false, true})
      for (const bool sparse : {false, true}) {
        const auto e = made({numbers, zstd}, sparse);
        const auto format = wire::format_of(*e.settings.network);
        const auto how = wire::packing_of(*e.settings.network);
        const wire::encoder make(e.parts.down, e.parts.up);
        wire::decoder read(e.parts.down, e.parts.up);
        const auto as_it_is = [](auto message) { return message; };
        const auto plain = round_of(e, as_it_is, as_it_is);
        const auto sent = round_of(
            e,
            [&](const federated::broadcast& message) {
              const auto frame = make.encode(message, how).value();
              if (!zstd) BOOST_TEST(frame.size() == wire::encoded_size(message, numbers));
              BOOST_TEST(frame.size() <= wire::largest_broadcast(*e.parts.down, message.reference.size()));
              federated::broadcast into;
              BOOST_REQUIRE(tests::decode_into(read, frame.bytes(), into));
              BOOST_TEST(tests::same_bits(into.model.values(), message.model.values()));
              return into;
            },
            [&](const federated::client_update& message) {
              const auto frame = make.encode(message, format, how).value();
              if (!zstd) BOOST_TEST(frame.size() == wire::encoded_size(message, format, numbers));
              BOOST_TEST(frame.size() <= wire::largest_update(*e.parts.up));
              federated::client_update into;
              BOOST_REQUIRE(tests::decode_into(read, frame.bytes(), into));
              return into;
            });
        BOOST_TEST(tests::same_bits(plain.change.values(), sent.change.values()));
        BOOST_TEST(tests::same_bits(plain.added.values(), sent.added.values()));
        // Exact groups are not rounded: the counts of features are whole numbers, and so is their sum.
        const auto counts = sent.added.tensor(e.groups[tests::every::seen].in_reported);
        BOOST_TEST(std::ranges::all_of(counts, [](float n) { return n == std::round(n); }));
        BOOST_TEST(std::ranges::any_of(counts, [](float n) { return n > 1.0F; }));
      }
}

BOOST_AUTO_TEST_CASE(partials_carry_the_words_of_groups) {
  const auto e = made({}, false);
  const auto sum = federated::make_accumulator(e, {});
  for (auto& update : tests::random_updates(5, 9, e.parts.up)) BOOST_REQUIRE(!sum->fold(update));
  federated::partial_aggregate partial;
  partial.run = e.run;
  partial.sums = sum->save();
  const auto frame = wire::encoder(e.parts.down, e.parts.up).encode(partial).value();
  BOOST_TEST(frame.size() <= wire::largest_partial(federated::accumulated_words(e), 9));
  federated::partial_aggregate into;
  BOOST_REQUIRE(tests::decode_into(wire::decoder(e.parts.down, e.parts.up), frame.bytes(), into));
  const auto other = federated::make_accumulator(e, {});
  BOOST_REQUIRE(other->merge(into.sums));
  BOOST_TEST(tests::same_bits(other->report().added.values(), sum->report().added.values()));
}

BOOST_AUTO_TEST_CASE(an_update_with_a_wrong_added_tensor_is_refused) {
  const auto e = made({}, false);
  const auto fine = tests::dense_update({e.run, 0, 1, 0}, e.parts.up);
  BOOST_TEST(refusal_of(e, e, fine) == "");
  // Of a client whose algorithm adds another tensor.
  auto other = e;
  auto specs = std::vector(e.parts.up->tensors().begin(), e.parts.up->tensors().end());
  specs.back().rows = 2;
  other.parts.up = std::make_shared<models::layout>(specs);
  const auto grown = refusal_of(other, e, tests::dense_update({e.run, 0, 1, 0}, other.parts.up));
  BOOST_TEST(grown.find("update.layout") != std::string::npos, grown);
  // Of one that says it is the run's layout, and sends another length.
  const auto longer = wire::encoder(other.parts.down, other.parts.up)
                          .encode(tests::dense_update({e.run, 0, 1, 0}, other.parts.up), wire::update_format::dense)
                          .value();
  std::vector<std::byte> bytes(longer.bytes().begin(), longer.bytes().end());
  const auto own = models::layout_digest(*e.parts.up);
  const auto theirs = models::layout_digest(*other.parts.up);
  const auto sought = std::as_bytes(std::span(theirs));
  const auto at = std::search(bytes.begin(), bytes.end(), sought.begin(), sought.end());
  BOOST_REQUIRE((at != bytes.end()));
  std::ranges::copy(std::as_bytes(std::span(own)), at);
  federated::client_update into;
  const auto done = tests::decode_into(wire::decoder(e.parts.down, e.parts.up), bytes, into);
  BOOST_REQUIRE(!done);
  const auto last = "update.tensors[" + std::to_string(e.parts.up->count() - 1) + "].values";
  BOOST_TEST(done.error().text().find(last) != std::string::npos, done.error().text());
}

BOOST_AUTO_TEST_SUITE_END()
