// Frames to bytes and back without a socket: any division of the stream, and streams that are none.
#include <boost/test/unit_test.hpp>

#include "actors/net/detail/frame_reader.hpp"
#include "actors/net/detail/frame_writer.hpp"
#include "base/random.hpp"
#include "tests/net/ends.hpp"
#include "tests/net/raw_peer.hpp"

BOOST_AUTO_TEST_SUITE(framing)

using namespace furlong;
using namespace furlong::tests;
namespace detail = furlong::actors::net::detail;
using answer = detail::frame_reader::answer;
using detail::piece_kind;

namespace {

constexpr std::size_t mib = 1 << 20;
constexpr std::size_t never = ~std::size_t{0};

/// Everything that a reader answers to these bytes but `more`, given `most` bytes at once at most.
struct reading {
  explicit reading(std::size_t max_message = 64 * mib, std::size_t ask_above = never)
      : reader(max_message, ask_above) {}

  void feed(std::span<const std::byte> data, std::size_t most = never) {
    while (!data.empty() && (answers.empty() || !is_end(answers.back()))) {
      const auto space = reader.space();
      BOOST_REQUIRE(!space.empty());
      const auto count = std::min({space.size(), data.size(), most});
      std::copy_n(data.begin(), count, space.begin());
      data = data.subspan(count);
      const auto said = reader.filled(count);
      if (said == answer::more) continue;
      answers.push_back(said);
      if (said == answer::frame) frames.push_back(reader.take());
      if (said == answer::ask) reader.grant(nullptr);
    }
  }
  static bool is_end(answer said) { return said == answer::closed || said == answer::broken; }

  detail::frame_reader reader;
  std::vector<answer> answers;
  std::vector<actors::net::received> frames;
};

bool says(const reading& of, std::vector<answer> what) { return of.answers == what; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_header_has_these_bytes) {
  const auto head = detail::encode({0x012345, true, piece_kind::data});
  BOOST_TEST((head == std::array{std::byte{0x45}, std::byte{0x23}, std::byte{0x01}, std::byte{0xF1}}));
  BOOST_TEST((heartbeat() == bytes{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0xF3}}));
  BOOST_TEST((piece({0, true, piece_kind::busy}) == bytes{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0xF5}}));
}

BOOST_AUTO_TEST_CASE(headers_are_either_sound_or_refused) {
  std::size_t sound = 0;
  for (unsigned top = 0; top < 256; ++top)
    for (const std::uint32_t length : {0U, 1U, 255U, 256U, 1U << 20, (1U << 20) + 1, 0xFFFFFFU}) {
      const std::array<std::byte, 4> head{static_cast<std::byte>(length & 0xFF),
                                          static_cast<std::byte>(length >> 8 & 0xFF),
                                          static_cast<std::byte>(length >> 16), static_cast<std::byte>(top)};
      const auto read = detail::decode(head);
      if (!read) continue;
      ++sound;
      BOOST_TEST((detail::encode(*read) == head));
      BOOST_TEST(read->length <= mib);
    }
  // Data that ends a frame: 5 lengths; that does not: 4; heartbeat and busy: 1 each; close: 3.
  BOOST_TEST(sound == 14U);
}

BOOST_AUTO_TEST_CASE(any_division_gives_the_same_frames) {
  random_stream random(3, purpose::test);
  const std::vector<std::size_t> sizes{1, 90, 16'300, 16'384, 70'000, mib - 40, mib, mib + 8, 3 * mib + 64, 200};
  detail::frame_writer writer;
  std::vector<wire::encoded> sent;
  for (const auto size : sizes) sent.push_back(make_frame(size, static_cast<std::uint32_t>(size)));
  std::size_t total = 0;
  for (const auto& frame : sent) {
    writer.push(frame);
    total += frame.size();
  }
  reading reads;
  std::size_t done = 0;
  std::size_t beats = 0;
  for (auto chunk = writer.next(); !chunk.empty(); chunk = writer.next()) {
    const auto count = std::min<std::size_t>(chunk.size(), 1 + random.below(100'000));
    reads.feed(chunk.first(count), 1 + random.below(70'000));
    done += writer.consumed(count);
    if (random.below(20) == 0) {
      writer.push_heartbeat(piece_kind::heartbeat);
      ++beats;
    }
  }
  BOOST_TEST(done == total);
  BOOST_TEST(writer.empty());
  BOOST_TEST(beats > 0U);
  BOOST_TEST(static_cast<std::size_t>(std::count(reads.answers.begin(), reads.answers.end(), answer::heartbeat)) ==
             beats);
  BOOST_REQUIRE(reads.frames.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) BOOST_TEST(same_bytes(reads.frames[i].bytes(), sent[i].bytes()));
}

BOOST_AUTO_TEST_CASE(small_frames_go_out_together) {
  detail::frame_writer writer;
  for (int i = 0; i < 10; ++i) writer.push(make_frame(200));
  const auto chunk = writer.next();
  BOOST_TEST(chunk.size() == 10 * (make_frame(200).size() + detail::header_bytes));
  writer.consumed(chunk.size());
  BOOST_TEST(writer.next().empty());
}

BOOST_AUTO_TEST_CASE(large_frames_go_out_from_their_own_bytes) {
  const auto frame = make_frame(mib / 2);
  detail::frame_writer writer;
  writer.push(frame);
  writer.consumed(writer.next().size());
  const auto rest = writer.next();
  BOOST_TEST(rest.data() > frame.bytes().data());
  BOOST_TEST((rest.data() + rest.size() == frame.bytes().data() + frame.bytes().size()));
}

BOOST_AUTO_TEST_CASE(empty_frames_exist) {
  reading reads;
  reads.feed(frame_of_zeros(0) + frame_of_zeros(0) + frame_of_zeros(1), 1);
  BOOST_TEST(says(reads, {answer::frame, answer::frame, answer::frame}));
  BOOST_TEST(reads.frames[0].bytes().empty());
  BOOST_TEST(reads.frames[2].bytes().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_giant_length_is_refused_before_anything_is_allocated) {
  for (const std::uint64_t total : {std::uint64_t{64 * mib + 1}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    reading reads(64 * mib);
    reads.feed(announcement(total));
    BOOST_TEST(says(reads, {answer::broken}));
    BOOST_TEST(reads.reader.text().find(std::to_string(total)) != std::string::npos);
  }
  reading reads(1000);
  reads.feed(piece({1001}));
  BOOST_TEST(says(reads, {answer::broken}));
  reading exact(1000);
  exact.feed(frame_of_zeros(1000));
  BOOST_TEST(says(exact, {answer::frame}));
}

BOOST_AUTO_TEST_CASE(pieces_must_add_up) {
  const auto begun = announcement(100, 40) + bytes(40);
  const std::vector<bytes> wrong{
      announcement(40, 40),                          // no more than its first piece
      announcement(0, 40),                           //
      begun + piece({59, true, piece_kind::data}),   // ends early
      begun + piece({61, true, piece_kind::data}),   // ends late
      begun + piece({60, false, piece_kind::data}),  // complete, yet not the last
      begun + piece({61, false, piece_kind::data}),  //
      begun + piece({30, false, piece_kind::data}, 30) + piece({0, true, piece_kind::data}),  //
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    reading reads;
    reads.feed(wrong[i]);
    BOOST_TEST(says(reads, {answer::broken}), "case " << i);
  }
  reading sound;
  sound.feed(begun + heartbeat() + piece({30, false, piece_kind::data}, 30) + piece({0, true, piece_kind::busy}) +
             piece({30, true, piece_kind::data}, 30));
  BOOST_TEST(says(sound, {answer::heartbeat, answer::busy, answer::frame}));
  BOOST_TEST(sound.frames[0].bytes().size() == 100U);
}

BOOST_AUTO_TEST_CASE(large_frames_ask_and_hold_what_was_granted) {
  detail::frame_reader reader(mib, 1000);
  const auto feed = [&](const bytes& data) {
    auto said = answer::more;
    for (std::span<const std::byte> left(data); !left.empty();) {
      const auto space = reader.space();
      const auto count = std::min(space.size(), left.size());
      std::copy_n(left.begin(), count, space.begin());
      left = left.subspan(count);
      said = reader.filled(count);
    }
    return said;
  };
  BOOST_TEST((feed(piece({1001})) == answer::ask));
  BOOST_TEST(reader.wanted() == 1001U);
  auto granted = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = granted;
  reader.grant(std::move(granted));
  BOOST_TEST((feed(bytes(1001)) == answer::frame));
  auto frame = reader.take();
  auto copy = frame;
  frame = {};
  BOOST_TEST(!watch.expired());
  copy = {};
  BOOST_TEST(watch.expired());
  // A frame that is dropped half way lets go too.
  BOOST_TEST((feed(piece({2000})) == answer::ask));
  auto second = std::make_shared<int>(2);
  const std::weak_ptr<int> second_watch = second;
  reader.grant(std::move(second));
  BOOST_TEST((feed(bytes(10)) == answer::more));
  BOOST_TEST(reader.arrived() == 10U);
  reader.drop();
  BOOST_TEST(second_watch.expired());
}

BOOST_AUTO_TEST_CASE(the_last_words_are_printable_and_follow_all_frames) {
  detail::frame_writer writer;
  writer.push_close("go\naway \x1b[2J" + std::string(300, 'x'));
  writer.push(make_frame(100));
  reading reads;
  for (auto chunk = writer.next(); !chunk.empty(); chunk = writer.next()) {
    reads.feed(chunk);
    writer.consumed(chunk.size());
  }
  BOOST_TEST(says(reads, {answer::frame, answer::closed}));
  BOOST_TEST(reads.reader.text().starts_with("go?away ?[2Jxxx"));
  BOOST_TEST(reads.reader.text().size() == detail::longest_reason);
}

BOOST_AUTO_TEST_CASE(random_bytes_break_the_stream_and_nothing_else) {
  random_stream random(11, purpose::test);
  std::size_t broken = 0;
  for (int i = 0; i < 20'000; ++i) {
    reading reads(4 * mib);
    bytes noise(1 + random.below(200));
    for (auto& byte : noise) byte = static_cast<std::byte>(random());
    // Half of them begin as frames do.
    if (i % 2 == 0 && noise.size() > 3) noise[3] = static_cast<std::byte>(0xF0 | (random() & 0xF));
    reads.feed(noise, 1 + random.below(60));
    if (!reads.answers.empty() && reads.answers.back() == answer::broken) ++broken;
  }
  BOOST_TEST(broken > 10'000U);
}

BOOST_AUTO_TEST_SUITE_END()
