#include "actors/net/budget.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>
#include <vector>

#include "base/random.hpp"

BOOST_AUTO_TEST_SUITE(budgets)

using furlong::actors::net::budget;

BOOST_AUTO_TEST_CASE(gives_room_in_the_order_of_asking) {
  const auto room = budget::make(100);
  auto first = room->try_reserve(60);
  BOOST_REQUIRE(first != nullptr);
  std::vector<budget::reservation> got(3);
  room->reserve(50, [&](budget::reservation r) { got[0] = std::move(r); });
  room->reserve(10, [&](budget::reservation r) { got[1] = std::move(r); });
  const auto third = room->reserve(100, [&](budget::reservation r) { got[2] = std::move(r); });
  BOOST_TEST(room->waiting() == 3U);
  BOOST_TEST((room->try_reserve(1) == nullptr), "overtook those who wait");
  BOOST_TEST((got[1] == nullptr), "there is room for 10, but 50 asked first");
  first.reset();
  BOOST_TEST((got[0] != nullptr));
  BOOST_TEST((got[1] != nullptr));
  BOOST_TEST(room->reserved() == 60U);
  room->cancel(third);
  BOOST_TEST(room->waiting() == 0U);
  got.clear();
  BOOST_TEST(room->reserved() == 0U);
  BOOST_TEST(room->peak() == 60U);
}

BOOST_AUTO_TEST_CASE(taking_a_request_back_serves_those_behind_it) {
  const auto room = budget::make(100);
  const auto held = room->try_reserve(50);
  budget::reservation small;
  const auto large = room->reserve(80, [](budget::reservation) { BOOST_ERROR("was taken back"); });
  room->reserve(50, [&](budget::reservation r) { small = std::move(r); });
  BOOST_TEST((small == nullptr));
  room->cancel(large);
  BOOST_TEST((small != nullptr));
  room->cancel(large);
  BOOST_TEST(room->reserved() == 100U);
}

BOOST_AUTO_TEST_CASE(a_reservation_outlives_its_owner) {
  auto room = budget::make(10);
  const auto held = room->try_reserve(10);
  room.reset();
  BOOST_TEST((held != nullptr));
}

BOOST_AUTO_TEST_CASE(threads_never_hold_more_than_there_is) {
  const auto room = budget::make(1000);
  std::atomic<std::size_t> held{0};
  std::atomic<std::size_t> most{0};
  std::atomic<int> served{0};
  constexpr int each = 2000;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      furlong::random_stream random(1, furlong::purpose::test, 0, t);
      for (int i = 0; i < each; ++i) {
        const std::size_t bytes = 1 + random.below(600);
        room->reserve(bytes, [&, bytes](budget::reservation r) {
          const auto now = held.fetch_add(bytes) + bytes;
          for (auto seen = most.load(); now > seen && !most.compare_exchange_weak(seen, now);) {
          }
          held -= bytes;
          ++served;
          r.reset();
        });
      }
    });
  for (auto& thread : threads) thread.join();
  BOOST_TEST(served == 4 * each);
  BOOST_TEST(most <= 1000U);
  BOOST_TEST(room->peak() <= 1000U);
  BOOST_TEST(room->reserved() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
