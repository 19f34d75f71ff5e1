#include "base/digest.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

#include "models/digest.hpp"
#include "tests/wire/samples.hpp"

BOOST_AUTO_TEST_SUITE(digests)

using namespace furlong;

// FIPS 180-4 examples of NIST, and the empty message.
BOOST_AUTO_TEST_CASE(published_examples) {
  const auto of = [](std::string_view text) { return hex(sha256(std::as_bytes(std::span(text)))); };
  BOOST_TEST(of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  BOOST_TEST(of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  BOOST_TEST(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
             "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

BOOST_AUTO_TEST_CASE(pieces_do_not_matter_and_a_finished_stream_starts_anew) {
  sha256_stream stream;
  const auto whole = stream.add(std::string_view("abc")).finish();
  const auto pieces = stream.add(std::string_view("a")).add(std::string_view()).add(std::string_view("bc")).finish();
  BOOST_TEST(hex(whole) == hex(pieces));
}

BOOST_AUTO_TEST_CASE(a_layout_is_its_names_shapes_and_order) {
  const models::layout a({{"u", 2, 3}, {"v", 1, 1}});
  const models::layout same({{"u", 2, 3, models::row_index::by_feature}, {"v", 1, 1}});
  BOOST_TEST(hex(models::layout_digest(a)) == hex(models::layout_digest(same)));
  for (const auto& other : {models::layout({{"u", 3, 2}, {"v", 1, 1}}), models::layout({{"w", 2, 3}, {"v", 1, 1}}),
                            models::layout({{"v", 1, 1}, {"u", 2, 3}}), models::layout({{"u", 2, 3}})})
    BOOST_TEST(hex(models::layout_digest(a)) != hex(models::layout_digest(other)));
}

BOOST_AUTO_TEST_CASE(a_model_is_its_layout_and_its_little_endian_values) {
  models::shared_parameters model(std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"w", 1, 2}}));
  model.values()[0] = 1.0F;   // 3f800000
  model.values()[1] = -2.0F;  // c0000000
  constexpr std::string_view bytes("w 1 2\n\x00\x00\x80\x3f\x00\x00\x00\xc0", 14);
  BOOST_TEST(hex(models::model_sha256(model)) == hex(sha256(std::as_bytes(std::span(bytes)))));
}

BOOST_AUTO_TEST_SUITE_END()
