#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <sys/mman.h>
#include <sys/resource.h>

#include "federated/participation/uniform.hpp"

BOOST_AUTO_TEST_SUITE(participation)

using namespace furlong;

namespace {

std::vector<std::uint32_t> population(std::uint32_t n, std::uint32_t step) {
  std::vector<std::uint32_t> clients(n);
  for (std::uint32_t i = 0; i < n; ++i) clients[i] = 5 + step * i;
  return clients;
}

/// Clients that are all 0, in memory that nobody has looked at yet.
class unvisited_list {
 public:
  explicit unvisited_list(std::size_t count)
      : bytes_(count * sizeof(std::uint32_t)),
        at_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    BOOST_REQUIRE(at_ != MAP_FAILED);
    madvise(at_, bytes_, MADV_NOHUGEPAGE);  // or one look would bring in 512 pages at once
  }
  unvisited_list(const unvisited_list&) = delete;
  ~unvisited_list() { munmap(at_, bytes_); }
  [[nodiscard]] std::span<const std::uint32_t> view() const {
    return {static_cast<const std::uint32_t*>(at_), bytes_ / sizeof(std::uint32_t)};
  }

 private:
  std::size_t bytes_;
  void* at_;
};

long pages_touched() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_cohort_is_ascending_distinct_and_drawn_from_the_clients) {
  const auto clients = population(50, 3);
  for (std::uint32_t count = 0; count <= 50; ++count)
    for (std::uint32_t round = 0; round < 5; ++round) {
      const auto cohort = federated::uniform_cohort(clients, count, 1, round);
      BOOST_TEST(cohort.size() == count);
      BOOST_TEST((std::ranges::adjacent_find(cohort, std::greater_equal<>()) == cohort.end()));
      BOOST_TEST(std::ranges::includes(clients, cohort));
    }
  BOOST_TEST(federated::uniform_cohort(clients, 50, 1, 0) == clients);
}

BOOST_AUTO_TEST_CASE(it_is_keyed_by_seed_and_round) {
  const auto clients = population(1000, 1);
  const auto one = federated::uniform_cohort(clients, 20, 1, 3);
  BOOST_TEST(one == federated::uniform_cohort(clients, 20, 1, 3));
  BOOST_TEST((one != federated::uniform_cohort(clients, 20, 2, 3)));
  BOOST_TEST((one != federated::uniform_cohort(clients, 20, 1, 4)));
}

// All 35 sets of 3 out of 7 are equally likely, so every client is, and every pair.
BOOST_AUTO_TEST_CASE(every_set_is_equally_likely) {
  const auto clients = population(7, 1);
  std::map<std::vector<std::uint32_t>, double> seen;
  constexpr std::uint32_t rounds = 35'000;
  for (std::uint32_t round = 0; round < rounds; ++round) ++seen[federated::uniform_cohort(clients, 3, 9, round)];
  BOOST_REQUIRE(seen.size() == 35U);
  double chi_square = 0.0;
  for (const auto& [cohort, count] : seen) chi_square += std::pow(count - rounds / 35.0, 2) / (rounds / 35.0);
  BOOST_TEST(chi_square < 65.2);  // 34 degrees of freedom, p = 0.001
}

// O(count): a page of the list comes into being when it is first looked at, and so does what the draw takes for itself.
BOOST_AUTO_TEST_CASE(a_draw_does_not_visit_the_population) {
  const unvisited_list clients(100'000'000);
  const auto before = pages_touched();
  std::size_t drawn = 0;
  for (std::uint32_t round = 0; round < 20; ++round)
    drawn += federated::uniform_cohort(clients.view(), 10, 2, round).size();
  BOOST_TEST(drawn == 200U);
  BOOST_TEST(pages_touched() - before < 1'000);  // the list has 97,657; a bit for each client takes 3,052
}

BOOST_AUTO_TEST_SUITE_END()
