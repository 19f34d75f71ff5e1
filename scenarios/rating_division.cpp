#include "scenarios/rating_division.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "models/random.hpp"

namespace furlong::scenarios {

namespace {

using federated::part;
using models::purpose;
using models::random_stream;

/// The user's ratings in the order of the settings, cut to max_examples.
void arrange(std::uint32_t user, std::uint32_t ratings, std::span<const std::uint32_t> times,
             const split_settings& settings, std::vector<std::uint32_t>& order) {
  order.resize(ratings);
  std::iota(order.begin(), order.end(), 0U);
  if (!settings.order_by_time) {
    random_stream stream(settings.seed, purpose::split_examples, 0, user);
    stream.shuffle(std::span(order));
  } else if (!times.empty()) {
    std::ranges::stable_sort(order, {}, [&](auto rating) { return times[rating]; });  // ties: the order of the source
  }
  if (settings.max_examples != 0 && order.size() > settings.max_examples) order.resize(settings.max_examples);
}

/// Places in `order` as the parts take them: at random, or from the oldest to the newest.
void rank_places(std::uint32_t user, std::span<const std::uint32_t> times, const split_settings& settings,
                 rating_division& out) {
  out.ranked.resize(out.order.size());
  std::iota(out.ranked.begin(), out.ranked.end(), 0U);
  if (settings.split_by_time) {
    std::ranges::sort(out.ranked, {}, [&](auto place) {
      const auto rating = out.order[place];
      return std::pair(times.empty() ? 0U : times[rating], rating);
    });
  } else {
    random_stream stream(settings.seed, purpose::split_examples, 0, user, 1);
    stream.shuffle(std::span(out.ranked));
  }
}

}  // namespace

user_groups divide_users(std::uint32_t users, const split_settings& settings) {
  std::vector<std::uint32_t> all(users);
  std::iota(all.begin(), all.end(), 0U);
  const auto share = [&](double of) { return std::llround(of * static_cast<double>(users)); };
  const auto tested = std::min<long long>(share(settings.unseen_test), users);
  const auto validated = std::min(share(settings.unseen_validation), users - tested);
  user_groups groups;
  if (tested + validated == 0) {
    groups.training = std::move(all);
    return groups;
  }
  random_stream stream(settings.seed, purpose::split_users);
  stream.shuffle(std::span(all));
  const auto test = all.end() - static_cast<std::ptrdiff_t>(tested);
  const auto validation = test - static_cast<std::ptrdiff_t>(validated);
  groups.validation.assign(validation, test);
  groups.test.assign(test, all.end());
  groups.held_out.resize(users);
  for (auto at = validation; at != all.end(); ++at) groups.held_out[*at] = true;
  all.erase(validation, all.end());
  all.shrink_to_fit();
  groups.training = std::move(all);
  for (auto* group : {&groups.training, &groups.validation, &groups.test}) std::ranges::sort(*group);
  return groups;
}

std::uint32_t part_bounds::begin_of(part which) const {
  return which == part::train ? 0 : which == part::validation ? train_end : validation_end;
}

std::uint32_t part_bounds::end_of(part which) const {
  return which == part::train ? train_end : which == part::validation ? validation_end : end;
}

part_bounds bounds_of(std::uint32_t ratings, const split_settings& settings, bool held_out) {
  const auto kept = settings.max_examples == 0
                        ? ratings
                        : static_cast<std::uint32_t>(std::min<std::size_t>(ratings, settings.max_examples));
  if (held_out) return {kept, kept, kept};
  const auto up_to = [&](double share) {
    return static_cast<std::uint32_t>(std::llround(share * static_cast<double>(kept)));
  };
  const auto train = up_to(1.0 - settings.validation - settings.test);
  return {train, std::max(up_to(1.0 - settings.test), train), kept};
}

void divide_ratings(std::uint32_t user, std::uint32_t ratings, std::span<const std::uint32_t> times,
                    const split_settings& settings, bool held_out, rating_division& out) {
  arrange(user, ratings, times, settings, out.order);
  out.bounds = bounds_of(ratings, settings, held_out);
  if (out.bounds.train_end == out.bounds.end) {
    out.picks = out.order;
    return;
  }
  rank_places(user, times, settings, out);
  out.parts.resize(out.order.size());
  for (std::uint32_t rank = 0; rank < out.bounds.end; ++rank)
    out.parts[out.ranked[rank]] = rank < out.bounds.train_end ? 0 : rank < out.bounds.validation_end ? 1 : 2;
  out.picks.resize(out.order.size());
  std::array<std::uint32_t, 3> next = {0, out.bounds.train_end, out.bounds.validation_end};
  for (std::size_t place = 0; place < out.order.size(); ++place) out.picks[next[out.parts[place]]++] = out.order[place];
}

}  // namespace furlong::scenarios
