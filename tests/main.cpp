#define BOOST_TEST_MODULE furlong
#include <boost/test/unit_test.hpp>
