// A federation as it may look in the middle of a run, with names that try to be more than names.
#pragma once

#include "tools/dashboard/status_board.hpp"

namespace furlong::tests {

inline constexpr double sample_now = 1'900'000'000.0;

/// Clocks that stand still at `sample_now` and at 0 until they are moved.
struct still_clocks {
  double wall = sample_now;
  double steady = 0.0;
  [[nodiscard]] tools::dashboard::board_clock clocks() {
    return {[this] { return wall; }, [this] { return steady; }};
  }
};

inline constexpr const char* hostile_name = "<script>document.title='owned'</script>\"'\n\\&amp;";

/// Two aggregators, sixteen nodes of every state, of 400 clients. `hostile`: some names are hostile_name and the like.
[[nodiscard]] tools::dashboard::live_status sample_live(double now, bool hostile);
[[nodiscard]] federated::round_report sample_round(std::uint64_t version);
[[nodiscard]] federated::evaluation_report sample_evaluation(std::uint64_t version);
/// Rounds, evaluations and events of `rounds` rounds, and the state after them.
void fill_sample(tools::dashboard::status_board& board, std::uint64_t rounds, double now, bool hostile);

/// A board with so many rounds of the sample, by clocks that stand still.
struct sample_board {
  explicit sample_board(std::uint64_t rounds, bool hostile = false) { fill_sample(board, rounds, sample_now, hostile); }
  still_clocks time;
  tools::dashboard::status_board board{time.clocks()};
};

}  // namespace furlong::tests
