#include "models/examples.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

BOOST_AUTO_TEST_SUITE(example_tables)

using namespace furlong;
using models::examples;
using models::examples_view;

namespace {

/// One example on its own, however its table is laid out.
struct one_example {
  std::vector<std::uint32_t> features;
  std::vector<float> values;
  float label = 0.0F;
  std::vector<std::uint32_t> owner;
  friend bool operator==(const one_example&, const one_example&) = default;
};

std::vector<one_example> list(const examples_view& view) {
  std::vector<one_example> out;
  for (std::size_t i = 0; i < view.size(); ++i) {
    const std::size_t begin = view.offsets.empty() ? i : view.offsets[i];
    const std::size_t end = view.offsets.empty() ? i + 1 : view.offsets[i + 1];
    one_example one;
    for (std::size_t at = begin; at < end; ++at) {
      one.features.push_back(view.features[at]);
      if (!view.values.empty()) one.values.push_back(view.values[at]);
    }
    one.label = view.labels[i];
    if (!view.owners.empty()) one.owner = {view.owners[i]};
    out.push_back(one);
  }
  return out;
}

std::vector<examples> tables() {
  return {
      {{5, 3, 5, 9}, {}, {}, {1, 2, 3, 4}, {}},                                               // ratings
      {{5, 3, 5, 9}, {1.5, 2.5, 3.5, 4.5}, {}, {1, 2, 3, 4}, {7, 7, 8, 8}},                   // valued, pooled
      {{5, 3, 5, 9, 1, 1}, {}, {0, 2, 2, 5, 6}, {1, 0, 1, 0}, {}},                            // sequences, one empty
      {{5, 3, 5, 9, 1, 1}, {1, 2, 3, 4, 5, 6}, {0, 2, 2, 5, 6}, {1, 0, 1, 0}, {4, 3, 2, 1}},  // all columns
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_slice_holds_the_examples_of_its_range) {
  for (const auto& table : tables()) {
    const auto all = list(table.view());
    for (std::size_t first = 0; first <= all.size(); ++first)
      for (std::size_t last = first; last <= all.size(); ++last) {
        const std::vector<one_example> expected(all.begin() + static_cast<std::ptrdiff_t>(first),
                                                all.begin() + static_cast<std::ptrdiff_t>(last));
        BOOST_TEST((list(table.view().slice(first, last)) == expected));
        if (last - first < 2) continue;
        BOOST_TEST((list(table.view().slice(first, last).slice(1, last - first)) ==
                    std::vector<one_example>(expected.begin() + 1, expected.end())));
      }
  }
}

BOOST_AUTO_TEST_CASE(picks_are_appended_in_their_order) {
  for (const auto& table : tables()) {
    const auto all = list(table.view());
    examples picked;
    const std::vector<std::uint32_t> picks = {3, 1, 1, 0};
    picked.append(table.view(), picks);
    BOOST_TEST((list(picked.view()) == std::vector<one_example>{all[3], all[1], all[1], all[0]}));
    picked.append(table.view());
    BOOST_TEST(picked.view().size() == 8U);
    BOOST_TEST((list(picked.view().slice(4, 8)) == all));
  }
}

BOOST_AUTO_TEST_CASE(appending_a_slice_renumbers_its_positions) {
  for (const auto& table : tables()) {
    examples copy;
    copy.append(table.view().slice(2, 4));
    copy.append(table.view().slice(0, 2));
    const auto all = list(table.view());
    BOOST_TEST((list(copy.view()) == std::vector<one_example>{all[2], all[3], all[0], all[1]}));
  }
}

BOOST_AUTO_TEST_CASE(a_cleared_table_takes_another_kind) {
  auto table = tables()[3];
  table.clear();
  BOOST_TEST(table.view().size() == 0U);
  table.append(tables()[0].view());
  BOOST_TEST((list(table.view()) == list(tables()[0].view())));
}

BOOST_AUTO_TEST_SUITE_END()
