// Frames are cut into pieces and put together again; a piece that lies about itself is noticed before memory is taken.
#include <boost/test/unit_test.hpp>
#include <caf/all.hpp>

#include "actors/aggregator_transport/link_messages.hpp"
#include "actors/aggregator_transport/outbox.hpp"
#include "actors/interfaces.hpp"
#include "tests/aggregator_transport/raw_frames.hpp"

BOOST_AUTO_TEST_SUITE(pieces)

using namespace furlong;
using namespace furlong::actors::aggregator_transport;
using tests::raw_frame;

// Both headers can be part of one program.
static_assert(caf::id_block::furlong::end <= caf::id_block::furlong_links::begin);

namespace {

constexpr std::size_t words_per_piece = piece_bytes / 8;

std::vector<piece> cut_all(outbox& from) {
  std::vector<piece> all;
  while (auto next = from.cut()) all.push_back(std::move(*next));
  return all;
}

struct system_of_messages {
  caf::actor_system_config config;
  caf::actor_system system{config};
};

std::vector<char> written(caf::actor_system& system, piece& x) {
  std::vector<char> bytes;
  caf::binary_serializer sink(system, bytes);
  BOOST_REQUIRE(!inspect(static_cast<caf::serializer&>(sink), x));
  return bytes;
}

piece read(caf::actor_system& system, const std::vector<char>& bytes) {
  piece x;
  caf::binary_deserializer source(system, bytes);
  (void)inspect(static_cast<caf::deserializer&>(source), x);
  return x;
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) { return std::ranges::equal(a, b); }

}  // namespace

BOOST_AUTO_TEST_CASE(frames_of_all_sizes_survive_cutting_and_serialisation) {
  system_of_messages with;
  const std::vector<std::size_t> words{0,
                                       1,
                                       0,
                                       words_per_piece - 1,
                                       1,
                                       words_per_piece,
                                       words_per_piece + 1,
                                       50,
                                       3 * words_per_piece,
                                       2,
                                       0,
                                       2 * words_per_piece + 7};
  outbox out(std::size_t{1} << 30);
  for (std::size_t i = 0; i < words.size(); ++i) BOOST_TEST(out.push(raw_frame(words[i], i)) == (i == 0));
  assembler in(std::size_t{1} << 30);
  std::vector<actors::net::received> got;
  for (auto& next : cut_all(out)) {
    BOOST_TEST(next.size() <= piece_bytes);
    const auto arrived = read(with.system, written(with.system, next));
    BOOST_TEST(arrived.flaw == "");
    BOOST_TEST((in.add(arrived, [&](auto frame) { got.push_back(std::move(frame)); }) == std::nullopt));
  }
  BOOST_REQUIRE(got.size() == words.size());
  for (std::size_t i = 0; i < words.size(); ++i) BOOST_TEST(same(got[i].bytes(), raw_frame(words[i], i).bytes()));
}

BOOST_AUTO_TEST_CASE(small_frames_share_a_piece_but_not_without_bound) {
  outbox out(std::size_t{1} << 30);
  for (std::size_t i = 0; i < piece_slices + 10; ++i) (void)out.push(raw_frame(2));
  const auto all = cut_all(out);
  BOOST_REQUIRE(all.size() == 2U);
  BOOST_TEST(all[0].slices.size() == piece_slices);
  BOOST_TEST(all[1].slices.size() == 10U);
}

BOOST_AUTO_TEST_CASE(the_outbox_counts_what_is_not_acknowledged) {
  outbox out(1000);
  BOOST_TEST(out.push(raw_frame(100)));
  BOOST_TEST(!out.push(raw_frame(10)));  // the link was told
  BOOST_TEST(out.queued() == 880U);
  BOOST_TEST(out.cut()->size() == 880U);
  BOOST_TEST(out.queued() == 880U);
  BOOST_TEST(!out.drained());
  BOOST_TEST(out.in_flight() == 1U);
  BOOST_TEST(out.acknowledge());
  BOOST_TEST(!out.acknowledge());
  BOOST_TEST(out.queued() == 0U);
  BOOST_TEST(out.drained());
  BOOST_TEST(out.push(raw_frame(1)));  // it has to be told again
}

BOOST_AUTO_TEST_CASE(the_outbox_takes_no_more_than_its_limit) {
  outbox out(1000);
  (void)out.push(raw_frame(125));
  BOOST_TEST(!out.overflowed());
  (void)out.cut();
  BOOST_TEST(out.push(raw_frame(100)));
  (void)out.push(raw_frame(26));
  BOOST_TEST(out.overflowed());
  BOOST_TEST(!out.push(raw_frame(1)));
  BOOST_TEST(out.queued() == 1800U);
  out.abandon();
  BOOST_TEST(out.queued() == 0U);
  BOOST_TEST(!out.cut().has_value());
}

BOOST_AUTO_TEST_CASE(a_shut_outbox_still_gives_what_waits) {
  outbox out(1000);
  (void)out.push(raw_frame(5));
  out.shut();
  BOOST_TEST(!out.push(raw_frame(5)));
  BOOST_TEST(out.cut()->size() == 40U);
  BOOST_TEST(!out.cut().has_value());
}

BOOST_AUTO_TEST_CASE(broken_framing_is_named) {
  const std::vector<std::byte> bytes(16);
  const auto attempt = [&](std::vector<slice> slices, std::uint64_t sequence = 0) {
    assembler in(100);
    piece next;
    next.sequence = sequence;
    next.slices = std::move(slices);
    return in.add(next, [](auto) {}).value_or("");
  };
  const std::span all(bytes);
  BOOST_TEST(attempt({{16, 0, all}, {24, 0, all}, {24, 16, all.first(8)}}) == "");
  BOOST_TEST(attempt({{16, 0, all}}, 1) == "a piece of a frame is missing");
  BOOST_TEST(attempt({{32, 8, all}}) == "a frame began in its middle");
  BOOST_TEST(attempt({{8, 0, all}}) == "the parts of a frame do not follow each other");
  BOOST_TEST(attempt({{32, 0, all}, {32, 8, all}}) == "the parts of a frame do not follow each other");
  BOOST_TEST(attempt({{32, 0, all}, {40, 16, all}}) == "the parts of a frame do not follow each other");
  BOOST_TEST(attempt({{32, 0, all}, {32, 16, {}}}) == "the parts of a frame do not follow each other");
  // Not allocated: there is no machine with so much memory.
  BOOST_TEST(attempt({{std::uint64_t{1} << 62, 0, all}}) ==
             "a frame of 4611686018427387904 bytes was announced; network.max_message is 100");
}

BOOST_AUTO_TEST_CASE(a_damaged_piece_is_refused_or_has_a_flaw) {
  system_of_messages with;
  outbox out(std::size_t{1} << 30);
  for (std::size_t i = 0; i < 5; ++i) (void)out.push(raw_frame(i * 3, i));
  auto sent = *out.cut();
  const auto bytes = written(with.system, sent);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    BOOST_TEST(read(with.system, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}).flaw != "");
  // Every bit of the lengths: what is read is never more than what is there.
  for (std::size_t bit = 0; bit < 8 * (12 + 5 * 20); ++bit) {
    auto damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto x = read(with.system, damaged);
    BOOST_TEST(x.size() <= bytes.size());
    assembler in(1 << 20);
    (void)in.add(x, [](auto) {});
  }
}

BOOST_AUTO_TEST_CASE(a_piece_that_claims_too_much_is_not_allocated) {
  system_of_messages with;
  piece many;
  many.slices.resize(piece_slices + 1);
  BOOST_TEST(read(with.system, written(with.system, many)).flaw == "a piece has 4097 slices");
  outbox out(std::size_t{1} << 30);
  (void)out.push(raw_frame(words_per_piece));
  auto full = *out.cut();
  const auto one_more = raw_frame(1);
  full.slices.push_back({8, 0, one_more.bytes()});
  BOOST_TEST(read(with.system, written(with.system, full)).flaw == "a piece has 1048584 bytes");
}

BOOST_AUTO_TEST_SUITE_END()
