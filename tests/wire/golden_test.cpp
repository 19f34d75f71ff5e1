// The format itself: frames written down byte by byte, with notes. `wire_samples golden` writes them again.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/decode.hpp"
#include "tests/wire/compare.hpp"
#include "tests/wire/control_samples.hpp"
#include "tests/wire/samples.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

BOOST_AUTO_TEST_SUITE(golden_frames)

using namespace furlong;
using namespace furlong::wire;

namespace {

// Hexadecimal bytes; what follows a # on a line is a note.
samples::bytes read_golden(const std::string& name) {
  const auto file = std::filesystem::path(__FILE__).parent_path() / "golden" / name;
  std::ifstream in(file);
  BOOST_REQUIRE_MESSAGE(in, "cannot read " << file);
  samples::bytes frame;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;)
      frame.push_back(std::byte{static_cast<std::uint8_t>(std::stoul(word, nullptr, 16))});
  }
  return frame;
}

}  // namespace

BOOST_AUTO_TEST_CASE(task) {
  const auto golden = read_golden("task.txt");
  BOOST_TEST((samples::copy_of(encoder::encode(samples::small_task())) == golden));
  decoder read(samples::small_layout());
  const auto found = read.decode(golden);
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST((std::get<federated::task_id>(*found) == samples::small_task()));
}

BOOST_AUTO_TEST_CASE(update) {
  const auto golden = read_golden("update.txt");
  const encoder make(samples::small_layout());
  BOOST_TEST((samples::copy_of(make.encode(samples::small_update(), update_format::sparse).value()) == golden));
  decoder read(samples::small_layout());
  federated::client_update found;
  BOOST_REQUIRE(tests::decode_into(read, golden, found).has_value());
  BOOST_TEST(samples::same(found, samples::small_update()));
}

BOOST_AUTO_TEST_CASE(update_in_int8) {
  const auto golden = read_golden("update-int8.txt");
  const encoder make(samples::small_layout());
  const packing how{federated::number_format::int8, false};
  const auto sent = samples::small_update(how.numbers);
  BOOST_TEST((samples::copy_of(make.encode(sent, update_format::sparse, how).value()) == golden));
  decoder read(samples::small_layout());
  federated::client_update found;
  BOOST_REQUIRE(tests::decode_into(read, golden, found).has_value());
  BOOST_TEST(samples::same(found, sent));
}

BOOST_AUTO_TEST_CASE(control_messages) {
  decoder read;
  int found = 0;
  for (const auto& [name, message] : samples::small_controls()) {
    if (name != "hello" && name != "assignment" && name != "settled") continue;
    ++found;
    const auto golden = read_golden(std::string(name) + ".txt");
    BOOST_TEST((samples::copy_of(encoder::encode(message).value()) == golden), name);
    BOOST_TEST(read.decode(golden).has_value(), name);
  }
  BOOST_TEST(found == 3);
}

BOOST_AUTO_TEST_SUITE_END()
