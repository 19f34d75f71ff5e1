// Private values without their rows of zeros.
#include "models/packed_private.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <limits>
#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(packed_private_values)

using namespace furlong;

namespace {

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_values_come_back_bit_by_bit) {
  const auto shape = std::make_shared<const models::layout>(
      std::vector<models::tensor_spec>{{"user", 1, 3}, {"item", 5, 2, models::row_index::by_feature}, {"bias", 4, 1}});
  models::private_parameters values(shape);
  BOOST_TEST(same_bits(models::packed_private(values).unpacked().values(), values.values()));
  values.tensor(1)[5] = 2.5F;   // row 2
  values.tensor(1)[8] = -0.0F;  // row 4
  values.tensor(2)[3] = std::numeric_limits<float>::denorm_min();
  const models::packed_private packed(values);
  BOOST_TEST(!packed.empty());
  BOOST_TEST(same_bits(packed.unpacked().values(), values.values()));
  BOOST_TEST((packed.unpacked().shape() == shape));
  for (auto& value : values.values()) value += 1.0F;
  BOOST_TEST(same_bits(models::packed_private(values).unpacked().values(), values.values()));
}

BOOST_AUTO_TEST_CASE(digests_tell_values_apart) {
  const auto shape = std::make_shared<const models::layout>(
      std::vector<models::tensor_spec>{{"item", 3, 2, models::row_index::by_feature}});
  const auto digest_with = [&](std::size_t place, float value) {
    models::private_parameters values(shape);
    values.values()[place] = value;
    sha256_stream digest;
    models::packed_private(values).add_to(digest);
    return hex(digest.finish());
  };
  sha256_stream none;
  models::packed_private().add_to(none);
  const std::set<std::string> digests = {hex(none.finish()),   digest_with(0, 0.0F), digest_with(0, -0.0F),
                                         digest_with(0, 1.0F), digest_with(1, 1.0F), digest_with(2, 1.0F)};
  BOOST_TEST(digests.size() == 6U);
  BOOST_TEST(digest_with(1, 1.0F) == digest_with(1, 1.0F));
}

BOOST_AUTO_TEST_CASE(an_object_without_values_is_empty) { BOOST_TEST(models::packed_private().empty()); }

BOOST_AUTO_TEST_SUITE_END()
