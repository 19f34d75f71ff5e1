#include "base/large_memory.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <new>

BOOST_AUTO_TEST_SUITE(large_memory)

using namespace furlong;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::uintptr_t address(const void* of) { return reinterpret_cast<std::uintptr_t>(of); }

}  // namespace

BOOST_AUTO_TEST_CASE(blocks_begin_on_a_line_or_a_huge_page) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{65}, 2 * mib - 1}) {
    void* block = allocate_large(bytes);
    BOOST_TEST(address(block) % 64 == 0U);
    std::memset(block, 1, bytes);
    free_large(block);
  }
  for (const std::size_t bytes : {2 * mib, 5 * mib + 1}) {
    void* block = allocate_large(bytes);
    BOOST_TEST(address(block) % (2 * mib) == 0U);
    std::memset(block, 1, bytes);
    free_large(block);
  }
  free_large(nullptr);
}

BOOST_AUTO_TEST_CASE(vectors_grow_in_it) {
  large_floats values(100, 1.5F);
  BOOST_TEST(address(values.data()) % 64 == 0U);
  values.resize(mib, 2.5F);
  BOOST_TEST(address(values.data()) % (2 * mib) == 0U);
  BOOST_TEST(values[99] == 1.5F);
  BOOST_TEST(values.back() == 2.5F);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_had_is_refused) {
  // Rounded up it would begin again at zero.
  BOOST_CHECK_THROW((void)allocate_large(SIZE_MAX), std::bad_alloc);
}

BOOST_AUTO_TEST_SUITE_END()
