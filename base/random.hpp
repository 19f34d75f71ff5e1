// Keyed random streams: a draw depends only on (seed, purpose, round, client), so neither the order of arrival nor the
// number of threads changes a result.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace furlong {

/// What a stream is for. Values are part of every recorded hash: append, never renumber.
enum class purpose : std::uint32_t {
  initialize_shared = 1,
  initialize_private = 2,
  cohort = 3,
  shuffle_examples = 4,
  client_noise = 5,
  server_noise = 6,
  split_users = 7,
  split_examples = 8,
  synthetic_items = 9,
  synthetic_users = 10,
  synthetic_ratings = 11,
  test = 12,
  device = 13,
  availability = 14,
  fate = 15,
  reconnect = 16,
  scheduled_event = 17,
  trace = 18,
  scored_clients = 19,
  device_correlation = 20,
  round_change = 21,
  round_model = 22,
  dropout = 23,
  synthetic_texts = 24,
  power_iteration = 25,
  processes = 27,
  tuned_settings = 28,
  canaries = 29,
  secure_aggregation = 30,
  noise_shares = 31,
  server_step = 32,
  aggregation = 33,
  aggregation_rule = 34,
  negatives = 35,
  ranking_candidates = 36,
  interaction_times = 37,
  attackers = 38,
  attack = 39,
};

/// A counter-based stream: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011). The key is the seed; the counter is (block, purpose and sub-stream, round, client). 2^32 blocks of four
/// words. Copies continue independently from where the original stood. Not thread-safe; make one per use, it is cheap.
class random_stream {
 public:
  using result_type = std::uint32_t;

  random_stream(std::uint64_t seed, purpose why, std::uint32_t round = 0, std::uint32_t client = 0,
                std::uint32_t part = 0);

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return UINT32_MAX; }
  /// The next 32 uniform bits.
  result_type operator()();

  /// Uniform in [0, 1), 24 bits of resolution.
  float uniform();
  /// Uniform in [low, high]: rounding may reach `high`.
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  /// Standard normal (Box and Muller).
  float normal();
  /// Uniform integer in [0, bound), without bias (Lemire 2019). bound > 0.
  std::uint32_t below(std::uint32_t bound);
  /// Fisher-Yates shuffle in place.
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
  }

 private:
  void refill();

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
  bool has_spare_ = false;
  float spare_ = 0.0F;
};

}  // namespace furlong
