#include "scenarios/data/division.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/random.hpp"

namespace furlong::scenarios {

namespace {

using federated::part;

constexpr const char* leave_one_out_word = "leave-one-out";

/// The user's examples in the order of the settings, cut to max_examples.
void arrange(std::uint32_t user, std::uint32_t examples, std::span<const std::uint32_t> times,
             const split_settings& settings, std::vector<std::uint32_t>& order) {
  order.resize(examples);
  std::iota(order.begin(), order.end(), 0U);
  if (!settings.order_by_time) {
    random_stream stream(settings.seed, purpose::split_examples, 0, user);
    stream.shuffle(std::span(order));
  } else if (!times.empty()) {
    std::ranges::stable_sort(order, {}, [&](auto example) { return times[example]; });  // ties: the order of the source
  }
  if (settings.max_examples != 0 && order.size() > settings.max_examples) order.resize(settings.max_examples);
}

/// Indices into `order` in the order in which parts take them: at random, or from the oldest to the newest.
void rank_places(std::uint32_t user, std::span<const std::uint32_t> times, const split_settings& settings,
                 division& out) {
  out.ranked.resize(out.order.size());
  std::iota(out.ranked.begin(), out.ranked.end(), 0U);
  if (settings.leave_one_out) {
    std::ranges::sort(out.ranked, {}, [&](auto place) {
      const auto example = out.order[place];
      // Without times the source is in order of time. Of tied examples the first one is the newest.
      return times.empty() ? std::pair(example, 0U) : std::pair(times[example], ~example);
    });
  } else if (settings.split_by_time) {
    std::ranges::sort(out.ranked, {}, [&](auto place) {
      const auto example = out.order[place];
      return std::pair(times.empty() ? 0U : times[example], example);
    });
  } else {
    random_stream stream(settings.seed, purpose::split_examples, 0, user, 1);
    stream.shuffle(std::span(out.ranked));
  }
}

}  // namespace

user_groups divide_users(std::uint32_t users, const split_settings& settings) {
  std::vector<std::uint32_t> members(users);
  std::iota(members.begin(), members.end(), 0U);
  const auto share = [&](double fraction) { return std::llround(fraction * static_cast<double>(users)); };
  const auto tested = std::min<long long>(share(settings.unseen_test), users);
  const auto validated = std::min(share(settings.unseen_validation), users - tested);
  user_groups groups;
  if (tested + validated == 0) {
    groups.training = std::move(members);
    return groups;
  }
  random_stream stream(settings.seed, purpose::split_users);
  stream.shuffle(std::span(members));
  const auto test = members.end() - static_cast<std::ptrdiff_t>(tested);
  const auto validation = test - static_cast<std::ptrdiff_t>(validated);
  groups.validation.assign(validation, test);
  groups.test.assign(test, members.end());
  groups.held_out.resize(users);
  for (auto member = validation; member != members.end(); ++member) groups.held_out[*member] = true;
  members.erase(validation, members.end());
  members.shrink_to_fit();
  groups.training = std::move(members);
  for (auto* group : {&groups.training, &groups.validation, &groups.test}) std::ranges::sort(*group);
  return groups;
}

user_role user_groups::role_of(std::uint32_t user) const {
  if (!holds_out(user)) return user_role::training;
  return std::ranges::binary_search(test, user) ? user_role::test : user_role::validation;
}

std::uint32_t part_bounds::begin_of(part which) const {
  return which == part::train ? 0 : which == part::validation ? train_end : validation_end;
}

std::uint32_t part_bounds::end_of(part which) const {
  return which == part::train ? train_end : which == part::validation ? validation_end : end;
}

namespace {

part_bounds leave_one_out(std::uint32_t kept, user_role role) {
  if (kept < 2) return {kept, kept, kept};
  if (role == user_role::validation) return {kept - 1, kept, kept};
  const bool has_validation = role == user_role::training && kept > 2;
  return {has_validation ? kept - 2 : kept - 1, kept - 1, kept};
}

}  // namespace

part_bounds bounds_of(std::uint32_t examples, const split_settings& settings, user_role role) {
  const auto kept = settings.max_examples == 0
                        ? examples
                        : static_cast<std::uint32_t>(std::min<std::size_t>(examples, settings.max_examples));
  if (settings.leave_one_out) return leave_one_out(kept, role);
  if (role != user_role::training) return {kept, kept, kept};
  const auto up_to = [&](double share) {
    return static_cast<std::uint32_t>(std::llround(share * static_cast<double>(kept)));
  };
  const auto train = up_to(1.0 - settings.validation - settings.test);
  return {train, std::max(up_to(1.0 - settings.test), train), kept};
}

void divide_examples(std::uint32_t user, std::uint32_t examples, std::span<const std::uint32_t> times,
                     const split_settings& settings, user_role role, division& out) {
  arrange(user, examples, times, settings, out.order);
  out.bounds = bounds_of(examples, settings, role);
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

std::vector<option_spec> split_options(const std::string& subject, const std::vector<double>& shares,
                                       bool leaves_one_out) {
  auto split_by = choice_option(
      "split_by", "random",
      "Which " + subject + " go into which part: at random, or the oldest into training and the newest into test.",
      {"random", "time"});
  if (leaves_one_out) {
    split_by.choices.emplace_back(leave_one_out_word);
    split_by.doc =
        "Which " + subject +
        " go into which part: at random, or the oldest into training and the newest into test, in the shares of "
        "data.split. leave-one-out: the newest is test, the one before it validation, the rest training, and of "
        "an unseen user the newest is scored; of " +
        subject + " with the same time the first in the file is the newest.";
  }
  return {
      integer_option("max_examples", 0,
                     "Keep the first " + subject + " of each user, this many in the chosen order; 0: all.",
                     {0, 4294967295}),
      choice_option("order", "shuffled", "Order of each user's " + subject + ": shuffled once and fixed, or by time.",
                    {"shuffled", "time"}),
      {.name = "split",
       .type = option_type::number_list,
       .fallback = shares,
       .doc = "Shares of each training user's " + subject + " for training, validation and test; they add up to 1.",
       .at_least = 0,
       .at_most = 1},
      std::move(split_by),
      seed_option("split_seed",
                  "Seed of all splits and shuffles of the data; give one to share the split between seeds."),
      number_option("unseen_users.validation", 0.0,
                    "Share of the users never selected for training, for choosing settings.", {0, 1}),
      number_option("unseen_users.test", 0.0, "Share of the users never selected for training, for the final figure.",
                    {0, 1}),
  };
}

std::vector<option_problem> check_split(const option_values& options) {
  std::vector<option_problem> problems;
  const bool leaves_one_out = options.has("split_by") && options.text("split_by") == leave_one_out_word;
  if (leaves_one_out && options.has("split") && options.numbers("split") != std::vector<double>{1.0, 0.0, 0.0})
    problems.push_back({"split", "gives shares, and split_by = \"leave-one-out\" holds out one example of each part",
                        "remove one of them"});
  else if (options.has("split")) {
    const auto& shares = options.numbers("split");
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (shares.size() != 3)
      problems.push_back({"split", "has " + std::to_string(shares.size()) + " shares, needs 3",
                          "write the shares of training, validation and test, such as [0.8, 0.1, 0.1]"});
    else if (std::abs(sum - 1.0) > 1e-9)
      problems.push_back({"split", "the shares do not add up to 1", "for example [0.8, 0.1, 0.1]"});
    else if (shares[0] <= 0.0)
      problems.push_back({"split", "leaves no examples to train on", "make the first share larger than 0"});
  }
  if (options.has("unseen_users.validation") && options.has("unseen_users.test") &&
      options.number("unseen_users.validation") + options.number("unseen_users.test") >= 1.0)
    problems.push_back({"unseen_users.test", "validation and test together leave no user to train",
                        "keep their sum below 1, for example 0.1 each"});
  return problems;
}

split_settings read_split(const option_values& options) {
  split_settings settings;
  settings.seed = static_cast<std::uint64_t>(options.integer("split_seed"));
  settings.max_examples = static_cast<std::size_t>(options.integer("max_examples"));
  settings.order_by_time = options.text("order") == "time";
  settings.split_by_time = options.text("split_by") == "time";
  settings.leave_one_out = options.text("split_by") == leave_one_out_word;
  settings.validation = options.numbers("split").at(1);
  settings.test = options.numbers("split").at(2);
  settings.unseen_validation = options.number("unseen_users.validation");
  settings.unseen_test = options.number("unseen_users.test");
  return settings;
}

}  // namespace furlong::scenarios
