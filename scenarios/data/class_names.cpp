#include "scenarios/data/class_names.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "scenarios/data/mapped_file.hpp"

namespace furlong::scenarios {

namespace {

/// Orders names: numbers without leading zeros are as long as they are large.
auto rank_of(std::string_view name) {
  const bool digits = !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  return std::tuple(!digits, digits ? name.size() : 0, name);
}

}  // namespace

result<numbered_labels> number_labels(const word_list& names, const std::string& positive, const std::string& place) {
  if (names.size() == 1)
    return fail(error::kind::usage, place, "all texts have the label " + shown(names[0]),
                "there must be two classes or more");
  numbered_labels made;
  made.of_name.resize(names.size());
  std::vector<std::uint32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0U);
  if (!positive.empty()) {
    const auto at = std::ranges::find(order, positive, [&](auto name) { return names[name]; });
    if (at == order.end())
      return fail(error::kind::usage, place, "no text has the label " + shown(positive), "correct data.positive");
    made.labels = models::objective::logistic;
    made.of_name[*at] = 1.0F;
    return made;
  }
  std::ranges::sort(order, {}, [&](auto name) { return rank_of(names[name]); });
  made.classes = names.size();
  for (std::uint32_t number = 0; number < order.size(); ++number) {
    made.of_name[order[number]] = static_cast<float>(number);
    made.names.emplace_back(names[order[number]]);
  }
  return made;
}

option_spec positive_option() {
  return {.name = "positive",
          .type = option_type::text,
          .doc = "The label that becomes 1; all others become 0. Absent: each label is a class."};
}

models::objective labels_of(const option_values& options) {
  return options.has("positive") ? models::objective::logistic : models::objective::categorical;
}

}  // namespace furlong::scenarios
