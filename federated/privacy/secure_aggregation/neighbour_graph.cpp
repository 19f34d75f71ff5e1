#include "federated/privacy/secure_aggregation/neighbour_graph.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace furlong::federated::privacy {

namespace {

struct published {
  std::uint32_t clients, degree, threshold;
};
constexpr std::array<published, 5> semi_honest = {
    {{100, 28, 6}, {1'000, 72, 24}, {10'000, 86, 29}, {100'000, 96, 32}, {1'000'000, 102, 34}}};
constexpr std::array<published, 2> semi_malicious = {{{1'000, 398, 223}, {10'000, 746, 420}}};

/// Uniform below `bound`, without bias.
std::uint32_t below(std::uint32_t bound, const crypto::random_source& random) {
  const auto usable = UINT64_MAX - UINT64_MAX % bound;
  for (;;) {
    std::array<std::uint8_t, 8> drawn;
    random(drawn);
    std::uint64_t value = 0;
    std::memcpy(&value, drawn.data(), sizeof value);
    if (value < usable) return static_cast<std::uint32_t>(value % bound);
  }
}

}  // namespace

graph_parameters parameters_for(std::uint32_t clients, adversary_kind against) {
  graph_parameters made{clients, clients == 0 ? 0 : clients - 1, 0, 0};
  const auto choose = [&](const auto& table) {
    const auto row = std::ranges::find_if(table, [&](const auto& one) { return clients <= one.clients; });
    if (row == table.end() || row->degree >= made.degree) return false;
    made.degree = row->degree;
    made.threshold = row->threshold;
    return true;
  };
  const bool lies = against == adversary_kind::semi_malicious;
  if (!(lies ? choose(semi_malicious) : choose(semi_honest)))
    made.threshold = (lies ? static_cast<std::uint32_t>(std::uint64_t{made.degree} * 56 / 100) : made.degree / 2) + 1;
  made.survivors = std::max({clients - clients / 3, made.threshold, fewest_clients});
  return made;
}

std::vector<std::vector<std::uint32_t>> draw_graph(std::uint32_t clients, std::uint32_t degree,
                                                   const crypto::random_source& random) {
  std::vector<std::uint32_t> ring(clients);
  std::iota(ring.begin(), ring.end(), 0U);
  for (std::uint32_t i = clients; i > 1; --i) std::swap(ring[i - 1], ring[below(i, random)]);
  std::vector<std::vector<std::uint32_t>> neighbours(clients);
  const auto link = [&](std::uint32_t a, std::uint32_t b) {
    neighbours[ring[a]].push_back(ring[b]);
    neighbours[ring[b]].push_back(ring[a]);
  };
  if (degree + 1 >= clients) {
    for (std::uint32_t a = 0; a < clients; ++a)
      for (std::uint32_t b = a + 1; b < clients; ++b) link(a, b);
  } else {
    for (std::uint32_t a = 0; a < clients; ++a)
      for (std::uint32_t step = 1; step <= degree / 2; ++step) link(a, (a + step) % clients);
  }
  for (auto& of : neighbours) std::ranges::sort(of);
  return neighbours;
}

}  // namespace furlong::federated::privacy
