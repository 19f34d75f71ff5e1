// Replays the fuzz corpus in every build, and keeps it in step with the format.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/wire/samples.hpp"
#include "wire/decode.hpp"

BOOST_AUTO_TEST_SUITE(fuzz_corpus)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

using namespace furlong::wire;

namespace {

std::filesystem::path folder() { return std::filesystem::path(__FILE__).parent_path() / "corpus"; }

std::vector<std::uint8_t> content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  BOOST_REQUIRE_MESSAGE(in, "cannot read " << file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_file_passes_the_fuzz_target) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    const auto content = content_of(entry.path());
    BOOST_TEST(LLVMFuzzerTestOneInput(content.data(), content.size()) == 0);
    ++files;
  }
  BOOST_TEST(files >= samples::corpus().size());
}

BOOST_AUTO_TEST_CASE(the_committed_seeds_are_the_generated_ones_and_are_sound_or_damaged_as_named) {
  decoder read(samples::small_layout());
  for (const auto& [name, frame] : samples::corpus()) {
    const auto content = content_of(folder() / name);
    const auto bytes = std::as_bytes(std::span(content));
    BOOST_TEST(std::ranges::equal(bytes, frame), name << " is not what `wire_samples corpus` writes");
    const bool sound = !name.starts_with("damaged") && name != "empty";
    BOOST_TEST(read.decode(bytes).has_value() == sound, name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
