#include "scenarios/parameters/array_file.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(array_files)

using namespace furlong;
using namespace furlong::scenarios;

namespace {

const std::vector<float> numbers = {1.0F, -0.0F, 1e-45F, 3.4e38F, 0.1F, 2.0F};
const auto bytes = bytes_of(numbers);
const std::vector<array_view> sample = {{"head.weight", {2, 3}, bytes},
                                        {"bias", {6}, bytes},
                                        {"deep", {1, 3, 2}, bytes},
                                        {"scalar", {}, bytes.substr(0, 4)},
                                        {"none", {0, 4}, {}},
                                        {"steps", {3}, bytes, find_type("int64")},
                                        {"mask", {2, 12}, bytes, find_type("bool")},
                                        {"half", {12}, bytes, find_type("float16")}};

std::string npz() { return *npz_of(sample); }

void check_same(const result<std::vector<named_array>>& read) {
  BOOST_TEST_REQUIRE(read.has_value(), testing::text_of(read));
  BOOST_TEST_REQUIRE(read->size() == sample.size());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    BOOST_TEST((*read)[i].name == sample[i].name);
    BOOST_TEST((*read)[i].shape == sample[i].shape, boost::test_tools::per_element());
    BOOST_TEST((*read)[i].bytes == sample[i].bytes);
    BOOST_TEST((*read)[i].type == sample[i].type);
  }
}

std::string problem_of_npz(const std::string& bytes) { return testing::text_of(read_npz(bytes, "bad.npz")); }
std::string problem_of_safetensors(const std::string& header, const std::string& data) {
  std::string bytes;
  put<std::uint64_t>(bytes, header.size());
  return testing::text_of(read_safetensors(bytes + header + data, "bad.safetensors"));
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(arrays_come_back_bit_for_bit) {
  check_same(read_npz(npz(), "a.npz"));
  check_same(read_safetensors(safetensors_of(sample), "a.safetensors"));
}

BOOST_AUTO_TEST_CASE(arrays_that_overlap_are_refused) {
  const auto problem = [](int first, int second, int third) {
    std::string header = "{";
    for (const auto& [name, begin] : {std::pair("a", first), {"b", second}, {"c", third}})
      header += std::string(header.size() > 1 ? ", " : "") + "\"" + name +
                R"(": {"dtype": "F32", "shape": [2], "data_offsets": [)" + std::to_string(begin) + ", " +
                std::to_string(begin + 8) + "]}";
    return problem_of_safetensors(header + R"(, "none": {"dtype": "F32", "shape": [0], "data_offsets": [4, 4]}})",
                                  std::string(24, '\0'));
  };
  BOOST_TEST(problem(16, 0, 8) == "");
  BOOST_TEST(has(problem(0, 4, 16), "the places of a and b overlap"));
  BOOST_TEST(has(problem(8, 16, 4), "the places of a and c overlap"));
  BOOST_TEST(has(problem(0, 16, 0), "the places of a and c overlap"));
}

BOOST_AUTO_TEST_CASE(bfloat16_is_float32_in_an_archive) {
  const std::vector<float> values = {1.0F, -2.5F, 0.0F};
  std::string halves;
  for (const float value : values) halves += bytes_of({&value, 1}).substr(2);
  const array_view half{"head", {3}, halves, find_type("bfloat16")};
  const auto archive = read_npz(*npz_of({&half, 1}), "a.npz");
  BOOST_TEST_REQUIRE(archive.has_value(), testing::text_of(archive));
  BOOST_TEST(archive->front().is_float32());
  BOOST_TEST(archive->front().bytes == bytes_of(values));
  const auto tensors = read_safetensors(safetensors_of({&half, 1}), "a.safetensors");
  BOOST_TEST_REQUIRE(tensors.has_value(), testing::text_of(tensors));
  BOOST_TEST(tensors->front().type == find_type("bfloat16"));
  BOOST_TEST(tensors->front().bytes == halves);
}

BOOST_AUTO_TEST_CASE(a_cut_file_is_refused_at_every_length) {
  const auto zip = npz();
  for (std::size_t length = 0; length < zip.size(); ++length)
    BOOST_TEST(!read_npz(zip.substr(0, length), "cut.npz").has_value());
  const auto tensors = safetensors_of(sample);
  for (std::size_t length = 0; length < tensors.size(); ++length)
    BOOST_TEST(!read_safetensors(tensors.substr(0, length), "cut.safetensors").has_value());
}

BOOST_AUTO_TEST_CASE(a_changed_byte_of_an_archive_is_refused_or_is_in_a_field_that_is_not_read) {
  const auto zip = npz();
  for (std::size_t at = 0; at < zip.size(); ++at) {
    auto changed = zip;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    const auto read = read_npz(changed, "changed.npz");
    if (!read) continue;
    for (std::size_t i = 0; i < std::min(read->size(), sample.size()); ++i)
      BOOST_TEST((*read)[i].bytes == sample[i].bytes);
  }
}

BOOST_AUTO_TEST_CASE(messages_say_what_is_wrong) {
  BOOST_TEST(has(problem_of_npz("hello, this is no archive"), "it is no zip archive, or its end is missing"));
  auto compressed = npz();
  const auto central = compressed.find("PK\x01\x02");
  compressed[central + 10] = 8;
  BOOST_TEST(has(problem_of_npz(compressed), "is compressed; write it with numpy.savez, not savez_compressed"));
  auto wrong = npz();
  wrong[100] = static_cast<char>(wrong[100] ^ 1);
  BOOST_TEST(has(problem_of_npz(wrong), "the checksum of head.weight.npy is wrong"));

  BOOST_TEST(has(problem_of_safetensors("{", ""), "its header is not JSON"));
  BOOST_TEST(has(problem_of_safetensors(R"({"w":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}})", "01234567"),
                 "has w of the type C64; convert it to float32 (F32)"));
  BOOST_TEST(has(problem_of_safetensors(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "01234567"),
                 "the place of w does not fit its shape or the file"));
  BOOST_TEST(has(problem_of_safetensors(R"({"w":{"dtype":"F32","shape":[4294967295,4294967295,4294967295,4],)"
                                        R"("data_offsets":[0,0]}})",
                                        ""),
                 "the place of w does not fit"));
  BOOST_TEST(has(problem_of_safetensors(R"({"w":{"shape":[2]}})", ""), "the description of w is not understood"));
}

BOOST_AUTO_TEST_CASE(metadata_of_safetensors_is_skipped) {
  std::string bytes;
  const std::string header = R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  put<std::uint64_t>(bytes, header.size());
  const auto read = read_safetensors(bytes + header + replaced("0000", "0", std::string(1, '\0')), "a.safetensors");
  BOOST_TEST_REQUIRE(read.has_value());
  BOOST_TEST(read->size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
