// Plays random runs over simulated workers, each against the same run alone.
//
// usage: cluster_worlds FIRST COUNT
//
// Worlds have the seeds FIRST, FIRST + 1, ... Prints what is wrong in each in which something is, and exits 1 at the
// end; `cluster_worlds SEED 1` plays one again.
#include <algorithm>
#include <array>
#include <charconv>
#include <iostream>
#include <string_view>

#include "tests/explore/cluster_world.hpp"

namespace {

bool read(std::string_view text, std::uint64_t& number) {
  const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), number);
  return why == std::errc{} && end == text.data() + text.size();
}

}  // namespace

int main(int count, char** words) {
  std::uint64_t first = 0;
  std::uint64_t worlds = 0;
  if (count != 3 || !read(words[1], first) || !read(words[2], worlds)) {
    std::cerr << "usage: cluster_worlds FIRST COUNT\n";
    return 2;
  }
  std::uint64_t wrong = 0;
  furlong::tests::cluster_findings all;
  std::array<std::uint64_t, 3> modes{};
  for (auto seed = first; seed < first + worlds; ++seed) {
    const auto found = furlong::tests::play_cluster_world(seed);
    ++modes.at(static_cast<std::size_t>(found.mode));
    all.tasks += found.tasks;
    all.joined += found.joined;
    all.killed += found.killed;
    all.frozen += found.frozen;
    all.repeated += found.repeated;
    all.lives += found.lives;
    all.refused += found.refused;
    if (found.failures.empty()) continue;
    ++wrong;
    std::cout << found.text << "\n";
    for (const auto& one : found.failures) std::cout << "  WRONG " << one << "\n";
    std::cout << "  to play it again: cluster_worlds " << seed << " 1" << std::endl;
  }
  std::cout << worlds << " worlds from seed " << first << ", " << wrong << " wrong; added at once " << modes[0]
            << ", when told " << modes[1] << ", by the run " << modes[2] << "; " << all.tasks << " reports, "
            << all.joined << " workers, " << all.killed << " killed, " << all.frozen << " frozen, " << all.repeated
            << " jobs repeated, " << all.lives << " lives of heads, " << all.refused << " values refused" << std::endl;
  // Of so many worlds, some have each of these: else nothing was tried.
  constexpr std::uint64_t many = 250;
  const auto is_zero = [](std::uint64_t number) { return number == 0; };
  const bool is_tame = worlds >= many && (std::ranges::any_of(modes, is_zero) || is_zero(all.killed) ||
                                          is_zero(all.frozen) || is_zero(all.repeated) || is_zero(all.refused));
  if (is_tame) std::cout << "nothing went wrong in these worlds that should have" << std::endl;
  return wrong == 0 && !is_tame ? 0 : 1;
}
