// What the tests of texts share.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/support.hpp"

namespace furlong::scenarios::testing {

/// Builds a source's data from its options, all others at their defaults.
inline result<dataset> build_data(const std::string& source, const std::vector<setting_override>& options,
                                  const std::filesystem::path& root) {
  const auto& entry = *find_dataset(source);
  auto values = defaults(entry.options);
  values.set("split_seed", std::int64_t{1});
  values.set("seed", std::int64_t{1});
  for (const auto& [name, value, origin] : options) {
    const auto spec = std::ranges::find(entry.options, name, &option_spec::name);
    BOOST_REQUIRE_MESSAGE(spec != entry.options.end(), name);
    switch (spec->type) {
      case option_type::integer: values.set(name, std::int64_t{std::stoll(value)}); break;
      case option_type::number: values.set(name, std::stod(value)); break;
      case option_type::boolean: values.set(name, value == "true"); break;
      case option_type::number_list: {
        std::vector<double> numbers;
        for (std::size_t at = 0; at < value.size(); at = std::min(value.find(',', at), value.size() - 1) + 1)
          numbers.push_back(std::stod(value.substr(at)));
        values.set(name, numbers);
        break;
      }
      default: values.set(name, value);
    }
  }
  if (entry.check)
    if (const auto problems = entry.check(values); !problems.empty())
      return fail(error::kind::usage, problems[0].name, problems[0].why, problems[0].fix);
  return entry.build(values, root);
}

/// The same where nothing is wrong.
inline dataset good_data(const std::string& source, const std::vector<setting_override>& options,
                         const std::filesystem::path& root) {
  auto data = build_data(source, options, root);
  BOOST_REQUIRE_MESSAGE(data.has_value(), text_of(data));
  return *data;
}

/// The texts of a client's part, tokens by name and between blanks.
inline std::vector<std::string> texts_of(const federated::population& from, std::uint32_t client,
                                         federated::part which) {
  models::examples scratch;
  const auto view = from.load(client, which, scratch);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < view.size(); ++i) {
    auto& text = texts.emplace_back();
    for (auto at = view.offsets[i]; at < view.offsets[i + 1]; ++at)
      text += (text.empty() ? "" : " ") + from.feature_name(view.features[at]);
  }
  return texts;
}

inline std::vector<float> labels_of(const federated::population& from, std::uint32_t client, federated::part which) {
  models::examples scratch;
  const auto view = from.load(client, which, scratch);
  return {view.labels.begin(), view.labels.end()};
}

}  // namespace furlong::scenarios::testing
