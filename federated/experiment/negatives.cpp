#include "federated/experiment/negatives.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/training.hpp"

namespace furlong::federated {

namespace {

/// Draws items that are not marked.
class negative_draws {
 public:
  /// @param items of the data
  negative_draws(negatives_room& room, std::uint32_t items) : room_(room), items_(items), free_count_(items) {
    if (room.stamp.size() < items) room.stamp.resize(items, room.now);
    if (++room.now == 0) {  // the counter wrapped: reset all marks
      std::ranges::fill(room.stamp, 0U);
      room.now = 1;
    }
  }

  void exclude(std::span<const std::uint32_t> features) {
    for (const auto item : features)
      if (std::exchange(room_.stamp[item], room_.now) != room_.now) --free_count_;
  }
  /// To be called after all exclude(). False if no item may be drawn.
  bool begin() {
    room_.free.clear();
    if (is_dense()) return true;
    for (std::uint32_t item = 0; item < items_; ++item)
      if (room_.stamp[item] != room_.now) room_.free.push_back(item);
    return free_count_ > 0;
  }
  std::uint32_t next(random_stream& stream) const {
    if (!is_dense()) return room_.free[stream.below(free_count_)];
    std::uint32_t item = stream.below(items_);
    while (room_.stamp[item] == room_.now) item = stream.below(items_);
    return item;
  }

 private:
  /// Whether most items may be drawn, so that others are drawn and left out rarely.
  [[nodiscard]] bool is_dense() const { return free_count_ > items_ / 2; }

  negatives_room& room_;
  std::uint32_t items_;
  std::uint32_t free_count_;
};

void exclude_held_out(const experiment& run, std::uint32_t client, negatives_room& room, negative_draws& draws) {
  for (const auto which : {part::validation, part::test})
    draws.exclude(run.clients->load(client, which, room.held_out).features);
}

/// Where an interaction and its negatives are appended.
struct task_examples {
  models::examples& drawn;
  bool pairs;

  void add(std::uint32_t item, float label) const {
    drawn.features.push_back(item);
    drawn.labels.push_back(label);
  }
  void add_pair(std::uint32_t above, std::uint32_t below) const {
    drawn.features.push_back(above);
    drawn.features.push_back(below);
    drawn.offsets.push_back(static_cast<std::uint32_t>(drawn.features.size()));
    drawn.labels.push_back(1.0F);
  }
  void add_interaction(std::uint32_t item, std::uint32_t negatives, const negative_draws& draws,
                       random_stream& stream) const {
    if (!pairs) add(item, 1.0F);
    for (std::uint32_t k = 0; k < negatives; ++k) {
      const auto negative = draws.next(stream);
      pairs ? add_pair(item, negative) : add(negative, 0.0F);
    }
  }
};

}  // namespace

bool draws_negatives(const experiment& run) {
  return run.model->objective() == models::objective::ranking && run.settings.algorithm->traits.negatives;
}

std::uint64_t most_weight(const experiment& run, std::uint64_t count) {
  const auto& algorithm = *run.settings.algorithm->does;
  const auto alone = algorithm.most_weight(run.settings, count);
  if (!draws_negatives(run)) return alone;
  const std::uint64_t each = run.settings.client->negatives + (run.model->ranks_pairs() ? 0U : 1U);
  const auto with_drawn = (algorithm.most_weight(run.settings, count * each) + each - 1) / each;
  return std::max(alone, with_drawn);  // alone: where a client has all items
}

std::uint32_t items_per_interaction(const experiment& run) {
  return draws_negatives(run) ? 1 + run.settings.client->negatives : 1;
}

models::examples_view with_negatives(const experiment& run, const negatives_key& key,
                                     const models::examples_view& interactions, negatives_room& room) {
  const auto& settings = *run.settings.client;
  const task_examples examples{room.drawn, run.model->ranks_pairs()};
  room.drawn.clear();
  if (examples.pairs) room.drawn.offsets.push_back(0);
  const bool has_owners = !interactions.owners.empty();
  const bool in_training = key.purpose == negatives_key::use::training;
  for (std::size_t first = 0, last = 0; first < interactions.size(); first = last) {
    const auto owner = has_owners ? interactions.owners[first] : key.client;
    last = interactions.size();
    if (has_owners) {
      const auto rest = interactions.owners.subspan(first);
      last = first +
             static_cast<std::size_t>(std::ranges::find_if(rest, [&](auto id) { return id != owner; }) - rest.begin());
    }
    const auto features = interactions.features.subspan(first, last - first);
    negative_draws draws(room, run.clients->facts().features);
    draws.exclude(features);
    if (in_training && settings.exclude == excluded_items::all) exclude_held_out(run, owner, room, draws);
    const auto negatives = draws.begin() ? settings.negatives : 0;
    random_stream stream(run.settings.seed, purpose::negatives, key.version, owner,
                         static_cast<std::uint32_t>(key.purpose));
    for (const auto item : features) examples.add_interaction(item, negatives, draws, stream);
    if (has_owners) room.drawn.owners.resize(room.drawn.labels.size(), owner);
  }
  return room.drawn.view();
}

models::examples_view personal_examples(const experiment& run, const client_kind& kind, std::uint32_t client,
                                        const models::examples_view& known, negatives_room& room) {
  if (known.size() == 0 || !draws_negatives(run) ||
      !run.settings.algorithm->does->personalizes_from_examples(run, kind))
    return known;
  return with_negatives(run, {.client = client, .purpose = negatives_key::use::personalization}, known, room);
}

}  // namespace furlong::federated
