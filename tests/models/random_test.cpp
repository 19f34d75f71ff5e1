#include "models/random.hpp"

#include <boost/test/unit_test.hpp>

using furlong::models::purpose;
using furlong::models::random_stream;

BOOST_AUTO_TEST_SUITE(random_streams)

BOOST_AUTO_TEST_CASE(the_same_key_gives_the_same_draws_and_any_other_key_gives_others) {
  random_stream a(7, purpose::test, 3, 4);
  random_stream same(7, purpose::test, 3, 4);
  random_stream seed(8, purpose::test, 3, 4);
  random_stream round(7, purpose::test, 4, 4);
  random_stream client(7, purpose::test, 3, 5);
  random_stream part(7, purpose::test, 3, 4, 1);
  random_stream why(7, purpose::cohort, 3, 4);
  for (int i = 0; i < 100; ++i) {
    const auto draw = a();
    BOOST_TEST(draw == same());
    for (auto* other : {&seed, &round, &client, &part, &why}) BOOST_TEST(draw != (*other)());
  }
}

BOOST_AUTO_TEST_SUITE_END()
