// A two-state Markov chain that can be looked at anywhere, without what came before.
//
// Time is cut into blocks of 2^depth slots, so long that the states at their borders are independent to more than
// double precision: these are drawn from the stationary distribution. Inside a block the chain is drawn on a dyadic
// tree. A node covers 2^level slots and knows the state at both ends and whether the state ever changes between; given
// those, the state in its middle and whether each half changes follow from the probabilities of a half in closed form,
// so that one uniform number, keyed by (client, level, place), decides. A half that does not change needs no further
// draws, which makes looking for the next change as quick as looking up a state: O(log slots) both.
#include <algorithm>
#include <array>
#include <cmath>

#include "federated/settings/devices.hpp"
#include "federated/world/detail/draws.hpp"

namespace furlong::federated {

namespace {

constexpr unsigned max_depth = 61;
constexpr std::uint32_t border_draw = 63;  // as a kind of draw; below it, the level of the node
constexpr double mixing_tolerance = 0x1p-60;

/// Probabilities over 2^level slots, by the state at the start (0: not available, 1: available).
struct span_law {
  std::array<double, 2> stay;   ///< the same state throughout
  std::array<double, 2> vary;   ///< the same state at the end, another between
  std::array<double, 2> cross;  ///< the other state at the end

  /// Of twice as many slots. All terms are positive: nothing cancels.
  [[nodiscard]] span_law doubled() const {
    span_law twice{};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t j = 1 - i;
      twice.stay[i] = stay[i] * stay[i];
      twice.vary[i] = cross[i] * cross[j] + vary[i] * (2.0 * stay[i] + vary[i]);
      twice.cross[i] = cross[i] * (stay[i] + vary[i] + stay[j] + vary[j]);
    }
    return twice;
  }
};

/// The laws of a chain with a given share of time available and mean length of an available spell.
struct chain_law {
  double share;
  unsigned depth = 0;  ///< of a block
  bool mixed = false;  ///< across a block; else one block covers all of time
  std::array<span_law, max_depth + 1> laws;

  /// 0 < `share` < 1, `mean_online` in slots. A spell of either kind lasts at least one slot: where the two numbers
  /// would have it otherwise the share holds and the spells are longer.
  chain_law(double of_time, double mean_online, virtual_time slot) : share(of_time) {
    double ends = 1.0 / std::max(mean_online, 1.0);
    double begins = ends * share / (1.0 - share);
    if (begins > 1.0) {
      begins = 1.0;
      ends = (1.0 - share) / share;
    }
    laws[0] = {{1.0 - begins, 1.0 - ends}, {0.0, 0.0}, {begins, ends}};
    double memory = std::abs(1.0 - ends - begins);  // what is left of the start's influence
    const auto slots = static_cast<std::uint64_t>(never / slot);
    while (memory > mixing_tolerance && depth < max_depth && slots >> depth != 0) {
      laws[depth + 1] = laws[depth].doubled();
      memory *= memory;
      ++depth;
    }
    mixed = memory <= mixing_tolerance;
  }
};

/// The first of four alternatives whose weights reach `u` of their sum.
[[nodiscard]] unsigned choose(const std::array<double, 4>& weights, double u) {
  double left = u * (weights[0] + weights[1] + weights[2] + weights[3]);
  unsigned last = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if (weights[i] <= 0.0) continue;
    if (left < weights[i]) return i;
    left -= weights[i];
    last = i;  // rounding may leave nothing for the last one
  }
  return last;
}

/// Slots first to first + 2^level, both ends included.
struct node {
  std::uint64_t first = 0;
  unsigned level = 0;
  bool left = false;  ///< state at `first`
  bool right = false;
  bool constant = false;  ///< the state never changes
};

/// One client's chain.
class chain {
 public:
  chain(const chain_law& law, std::uint64_t seed, std::uint32_t client) : law_(law), seed_(seed), client_(client) {}

  [[nodiscard]] bool at(std::uint64_t slot) const {
    node here = block(slot >> law_.depth);
    while (!here.constant && slot != here.first && here.level > 0) {
      const auto [left, right] = halves(here);
      here = slot < right.first ? left : right;
    }
    return here.left;
  }

  /// The first slot after `slot` whose state is another, or 0 when there is none up to `last`.
  [[nodiscard]] std::uint64_t next_change(std::uint64_t slot, std::uint64_t last) const {
    std::array<node, max_depth> ahead;  // nodes to the right of the path to `slot`, the nearest last
    std::size_t waiting = 0;
    auto number = slot >> law_.depth;
    node here = block(number);
    while (!here.constant && here.level > 0) {
      const auto [left, right] = halves(here);
      if (slot < right.first) ahead[waiting++] = right;
      here = slot < right.first ? left : right;
    }
    if (!here.constant) return here.first + 1;
    while (waiting > 0)
      if (!ahead[--waiting].constant) return first_change(ahead[waiting]);
    while (law_.mixed && ++number << law_.depth <= last) {
      here = block(number);
      if (!here.constant) return first_change(here);
    }
    return 0;
  }

 private:
  /// Where the first change in a node that is not constant leads to.
  [[nodiscard]] std::uint64_t first_change(node here) const {
    while (here.level > 0) {
      const auto [left, right] = halves(here);
      here = left.constant ? right : left;
    }
    return here.first + 1;
  }

  [[nodiscard]] node block(std::uint64_t number) const {
    node here;
    here.first = number << law_.depth;
    here.level = law_.depth;
    auto stream = detail::availability_stream(seed_, client_, border_draw, number);
    here.left = detail::uniform(stream) < law_.share;
    const double u = detail::uniform(stream);
    auto next = detail::availability_stream(seed_, client_, border_draw, number + 1);
    const auto& law = law_.laws[law_.depth];
    double available = law_.share;
    if (!law_.mixed) available = here.left ? law.stay[1] + law.vary[1] : law.cross[0];
    here.right = detail::uniform(next) < available;
    const auto i = static_cast<std::size_t>(here.left);
    const bool can_vary = law.vary[i] > 0.0;
    here.constant = here.left == here.right && (!can_vary || u * (law.stay[i] + law.vary[i]) < law.stay[i]);
    return here;
  }

  /// The halves of a node that is not constant and longer than a slot.
  [[nodiscard]] std::array<node, 2> halves(const node& of) const {
    const unsigned level = of.level - 1;
    const auto& law = law_.laws[level];
    auto stream = detail::availability_stream(seed_, client_, of.level, of.first >> of.level);
    const double u = detail::uniform(stream);
    const auto i = static_cast<std::size_t>(of.left);
    const auto j = 1 - i;
    const double stay = law.stay[i];
    const double vary = law.vary[i];
    bool middle = of.left;
    bool left_constant = false;
    bool right_constant = false;
    if (of.left == of.right) {
      const auto which = choose({law.cross[i] * law.cross[j], stay * vary, vary * stay, vary * vary}, u);
      if (which == 0) middle = !of.left;
      left_constant = which == 1;
      right_constant = which == 2;
    } else {
      const double cross = law.cross[i];
      const auto which = choose({stay * cross, vary * cross, cross * law.stay[j], cross * law.vary[j]}, u);
      if (which >= 2) middle = of.right;
      left_constant = which == 0;
      right_constant = which == 2;
    }
    const auto half = std::uint64_t{1} << level;
    return {{{of.first, level, of.left, middle, left_constant},
             {of.first + half, level, middle, of.right, right_constant}}};
  }

  const chain_law& law_;
  std::uint64_t seed_;
  std::uint32_t client_;
};

class markov final : public availability {
 public:
  markov(const availability_settings& of, std::uint64_t seed, availability_score score)
      : rate_(of.rate),
        step_(std::max<virtual_time>(from_seconds(of.step), 1)),
        mean_online_(of.mean_online / to_seconds(step_)),
        seed_(seed),
        score_(std::move(score)) {
    if (!score_ && moves(rate_)) law_ = std::make_unique<const chain_law>(rate_, mean_online_, step_);
  }

  bool available(std::uint32_t client, virtual_time now, std::uint64_t) const override {
    const auto slot = static_cast<std::uint64_t>(now / step_);
    return with_chain(client, rate_ >= 1.0, [&](const chain& of) { return of.at(slot); });
  }

  virtual_time changes(std::uint32_t client, virtual_time now, std::uint64_t) const override {
    const auto slot = static_cast<std::uint64_t>(now / step_);
    const auto last = static_cast<std::uint64_t>((now + detail::horizon) / step_);
    return with_chain(client, never, [&](const chain& of) {
      const auto next = of.next_change(slot, last);
      return next == 0 || next > last ? never : static_cast<virtual_time>(next) * step_;
    });
  }

 private:
  [[nodiscard]] static bool moves(double rate) { return rate > 0.0 && rate < 1.0; }

  /// `look` at the client's chain; `otherwise` when its state never changes.
  template <class Result, class Look>
  [[nodiscard]] Result with_chain(std::uint32_t client, Result otherwise, const Look& look) const {
    if (law_) return look(chain(*law_, seed_, client));
    const double rate = detail::client_rate(rate_, score_, client);
    if (!moves(rate)) return otherwise;
    const chain_law own(rate, mean_online_, step_);
    return look(chain(own, seed_, client));
  }

  double rate_;
  virtual_time step_;
  double mean_online_;  // in slots
  std::uint64_t seed_;
  availability_score score_;
  std::unique_ptr<const chain_law> law_;  // of all clients, when they do not differ
};

}  // namespace

std::unique_ptr<availability> make_markov(const availability_settings& of, std::uint64_t seed,
                                          availability_score score) {
  return std::make_unique<markov>(of, seed, std::move(score));
}

}  // namespace furlong::federated
