// Which field of the settings each key sets, and what each of its words means there.
#include "tests/scenarios/bound_keys.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>

#include "scenarios/schema/schema.hpp"

BOOST_AUTO_TEST_SUITE(bound_keys_of_the_schema)

using namespace furlong;
using federated::run_settings;
using scenarios::testing::bound_key;
using scenarios::testing::bound_keys;

namespace {

const bound_key& row_of(const std::vector<bound_key>& table, const std::string& name) {
  const auto row = std::ranges::find(table, name, &bound_key::name);
  BOOST_REQUIRE_MESSAGE(row != table.end(), name << " is not in the table");
  return *row;
}

using fields = std::map<std::string, std::string>;

fields fields_of(const run_settings& settings, const std::vector<bound_key>& keys) {
  fields all;
  for (const auto& key : keys) all[key.field] = key.show(settings);
  return all;
}

/// The fields that differ, "name: before -> after".
std::string changes(const fields& before, const fields& after) {
  std::string text;
  for (const auto& [name, value] : after)
    if (before.at(name) != value) text += name + ": " + before.at(name) + " -> " + value + "\n";
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_bound_key_sets_its_own_field) {
  const auto table = bound_keys();
  const auto before = fields_of({}, table);
  std::size_t bound = 0;
  for (const auto& key : scenarios::schema_keys(nullptr, nullptr)) {
    if (!key.apply) continue;
    ++bound;
    const auto& name = key.option.name;
    const auto& row = row_of(table, name);
    for (const auto& [written, shown] : row.values) {
      run_settings settings;
      key.apply(settings, written);
      auto expected = before;
      expected[row.field] = shown;
      BOOST_TEST(changes(before, fields_of(settings, table)) == changes(before, expected), name);
    }
    if (key.option.choices.empty()) BOOST_TEST(row.values.front().shown != before.at(row.field), name);
  }
  BOOST_TEST(bound == table.size());
}

BOOST_AUTO_TEST_CASE(every_word_of_a_bound_key_has_a_meaning_and_its_default_is_the_fields) {
  const auto table = bound_keys();
  const auto before = fields_of({}, table);
  for (const auto& key : scenarios::schema_keys(nullptr, nullptr)) {
    if (!key.apply) continue;
    if (key.option.fallback) {
      run_settings settings;
      key.apply(settings, *key.option.fallback);
      BOOST_TEST(changes(before, fields_of(settings, table)) == "", key.option.name);
    }
    if (key.option.choices.empty()) continue;
    std::vector<std::string> known;
    for (const auto& value : row_of(table, key.option.name).values)
      known.push_back(std::get<std::string>(value.written));
    BOOST_TEST(known == key.option.choices, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()
