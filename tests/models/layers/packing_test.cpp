#include <boost/test/unit_test.hpp>

#include "models/layers/arena.hpp"
#include "models/layers/packed_sequences.hpp"

BOOST_AUTO_TEST_SUITE(packing)

using namespace furlong::models;

BOOST_AUTO_TEST_CASE(every_element_has_one_row_and_steps_follow_each_other) {
  const std::vector<std::uint32_t> lengths{2, 5, 1, 5, 3};
  packed_sequences packed;
  pack(lengths, packed);
  BOOST_TEST(packed.order == (std::vector<std::uint32_t>{1, 3, 4, 0, 2}), boost::test_tools::per_element());
  BOOST_TEST(packed.active == (std::vector<std::uint32_t>{5, 4, 3, 2, 2}), boost::test_tools::per_element());
  BOOST_TEST(packed.rows() == 16U);
  std::vector<int> seen(packed.rows(), 0);
  for (std::uint32_t place = 0; place < packed.count(); ++place)
    for (std::uint32_t step = 0; step < lengths[packed.order[place]]; ++step) ++seen[packed.row(place, step)];
  BOOST_TEST(seen == std::vector<int>(16, 1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_arena_keeps_what_it_gave_until_it_is_cleared) {
  arena memory;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::span<float>> given;
    for (std::size_t i = 1; i <= 200; ++i) {
      given.push_back(memory.zeros(i * 37));
      BOOST_TEST(reinterpret_cast<std::uintptr_t>(given.back().data()) % 64 == 0U);
      std::ranges::fill(given.back(), static_cast<float>(i));
    }
    for (std::size_t i = 1; i <= 200; ++i)
      BOOST_TEST((given[i - 1].front() == static_cast<float>(i) && given[i - 1].back() == static_cast<float>(i)));
    memory.clear();
  }
  const auto* first = memory.floats(1000).data();
  memory.clear();
  BOOST_TEST(memory.floats(1000).data() == first);
}

BOOST_AUTO_TEST_SUITE_END()
