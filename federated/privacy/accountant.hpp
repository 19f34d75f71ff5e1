// What repeated noisy sums reveal of one client: epsilon for a delta.
//
// A release is the sum of the clients' clipped values plus N(0, (noise * clip)^2) per element. Neighbours differ in one
// client; how they differ is the relation for which the sampling is analysed:
//   poisson            a client is added or removed; each takes part in a release with probability `rate`, by a draw of
//                      its own that nobody sees
//   truncated_poisson  the same, where at most `cap` of those drawn are kept, at random
//   fixed_size         a client is replaced by another one (2 clip away); a cohort of `rate` of the clients is drawn
//                      without replacement in each release, and nobody sees it
//   none               a client's values are replaced by zeros; everybody may know in which releases it takes part
// With noise by a tree over the rounds (DP-FTRL; server_noise.hpp) a release is the sum of all rounds so far.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace furlong::federated::privacy {

enum class sampling : std::uint8_t { poisson, truncated_poisson, fixed_size, none };
/// "poisson", "truncated-poisson", "fixed-size", "none"
[[nodiscard]] std::string_view to_string(sampling how);
/// "add-or-remove-one", "replace-one" or "zero-out-one"
[[nodiscard]] std::string_view relation_of(sampling how);

struct mechanism {
  double noise = 0.0;  ///< z: standard deviation over the clipping bound
  sampling how = sampling::none;
  double rate = 1.0;
  std::uint64_t clients = 0;  ///< truncated_poisson
  std::uint64_t cap = 0;      ///< truncated_poisson
  std::uint64_t tree = 0;     ///< none: most rounds of a tree; 0: each round has noise of its own
  std::uint64_t apart = 1;    ///< tree: from one round that a client takes part in to the next, at least
};

/// An epsilon, and how it was found.
struct privacy_bound {
  double epsilon = 0.0;  ///< the least of those that follow; infinity: nothing is guaranteed
  /// "pld" (loss_distribution.hpp), "rdp" (renyi.hpp), or "gaussian": the exact formula without sampling (gaussian.hpp)
  std::string_view accountant;
  double renyi_epsilon = 0.0;  ///< by Rényi differential privacy
  double renyi_order = 0.0;    ///< and its order
};

/// Participations of a client under a tree cost what so many releases without one do. Its values are in one node of
/// each level, and a node of 2^l rounds has them at most ceil(2^l / apart) times. If it has them c times, they are c
/// bounds far from zeros: the squares of all nodes add up to at most the sum of these maxima, once for each
/// participation. Exactly the levels where `apart` is no less than the tree (Kairouz et al. 2021, theorem C.1).
[[nodiscard]] std::uint64_t tree_releases(const mechanism& of, std::uint64_t participations);

/// Of one mechanism. Not thread-safe.
class privacy_accountant {
 public:
  explicit privacy_accountant(const mechanism& of);

  /// Of `releases` sums; of sampling::none: of those that the client takes part in. 0 < delta < 1.
  [[nodiscard]] privacy_bound bound(std::uint64_t releases, double delta) const;
  /// By Rényi differential privacy alone: a fast upper bound.
  [[nodiscard]] privacy_bound renyi(std::uint64_t releases, double delta) const;
  /// The most releases, up to `limit`, whose epsilon is at most this.
  [[nodiscard]] std::uint64_t most_releases(double epsilon, double delta, std::uint64_t limit) const;

 private:
  mechanism of_;
  std::vector<double> orders_;
  std::vector<double> divergences_;  ///< of one release
};

/// The least noise, to a relative 1e-4 and rounded up, whose epsilon is at most this; `of.noise` is not used. Infinity
/// if 1e6 is not enough.
[[nodiscard]] double noise_for(mechanism of, std::uint64_t releases, double epsilon, double delta);

}  // namespace furlong::federated::privacy
