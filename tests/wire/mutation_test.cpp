// Frames of every kind, damaged in several places at once.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/wire/control_samples.hpp"
#include "tests/wire/forge.hpp"

BOOST_AUTO_TEST_SUITE(mutations)

using namespace furlong;
using namespace furlong::wire;
using samples::bytes;

namespace {

std::vector<bytes> sound_frames() {
  std::vector<bytes> all;
  for (auto& [name, frame] : samples::corpus())
    if (!name.starts_with("damaged") && !frame.empty()) all.push_back(std::move(frame));
  for (const auto& [name, message] : samples::small_controls())
    all.push_back(samples::copy_of(encoder::encode(message).value()));
  return all;
}

/// Bytes or whole words changed, a part cut off or repeated, words moved; half of the time the header agrees with the
/// length then, so that the decoder gets to the damage.
bytes damaged(bytes frame, random_stream& random) {
  const auto any = [&](std::size_t end) { return random.below(static_cast<std::uint32_t>(end)); };
  for (auto left = 1 + any(6); left > 0; --left) {
    const auto at = any(frame.size());
    if (random() % 2 == 0)
      frame[at] = static_cast<std::byte>(random());
    else
      frame = samples::with(std::move(frame), at / 4 * 4, random() % 3 == 0 ? UINT32_MAX : random() % 64);
  }
  const auto cut = static_cast<std::ptrdiff_t>(any(frame.size() / 8 + 1) * 8);
  if (random() % 6 == 0) frame.resize(static_cast<std::size_t>(cut));
  if (random() % 6 == 0) frame.insert(frame.end(), frame.begin(), frame.begin() + std::min<std::ptrdiff_t>(cut, 64));
  if (frame.size() < 8 || random() % 2 == 0) return frame;
  const auto words = static_cast<std::uint32_t>(frame.size() / 8 - 1);
  return samples::with(samples::with(std::move(frame), 0, std::uint32_t{0}), 4, words);
}

}  // namespace

// The fuzz target's checks hold for all of them; with the sanitizers nothing is read beside them either.
BOOST_AUTO_TEST_CASE(a_hundred_thousand_damaged_frames) {
  const auto sound = sound_frames();
  BOOST_REQUIRE(sound.size() > 20);
  random_stream random(9, purpose::test);
  for (std::size_t i = 0; i < 100'000; ++i)
    BOOST_REQUIRE(samples::replay(damaged(sound[i % sound.size()], random)) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
