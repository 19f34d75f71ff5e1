// Generated texts, and that what is known of them holds.
#include "scenarios/data/synthetic_texts.hpp"

#include <cmath>
#include <map>

#include "tests/scenarios/text_support.hpp"

BOOST_AUTO_TEST_SUITE(synthetic_texts)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;

namespace {

/// All texts of a few users.
text_table texts_from(const synthetic_text_settings& settings, std::uint32_t first, std::uint32_t last,
                      std::uint32_t buckets = 0) {
  text_table table;
  for (auto user = first; user <= last; ++user) append_texts(settings, user, buckets, table);
  return table;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_users_texts_do_not_depend_on_the_others) {
  for (const bool next_word : {false, true}) {
    synthetic_text_settings settings;
    settings.next_word = next_word;
    const auto alone = texts_from(settings, 7, 7, 20);
    const auto several = texts_from(settings, 5, 7, 20);
    const auto begin = several.offsets[std::size_t{2} * settings.texts_per_user];
    BOOST_TEST((std::ranges::equal(alone.tokens, std::span(several.tokens).subspan(begin))));
    BOOST_TEST(alone.labels.size() == (next_word ? 0U : settings.texts_per_user));
    settings.seed = 2;
    BOOST_TEST((texts_from(settings, 7, 7, 20).tokens != alone.tokens));
  }
}

BOOST_AUTO_TEST_CASE(the_best_that_can_be_known_is_what_the_formulas_say) {
  synthetic_text_settings settings;
  settings.users = 400;
  settings.texts_per_user = 100;
  const auto table = texts_from(settings, 0, settings.users - 1);
  const auto own_of_class = settings.words / settings.classes / 2;
  double alone = 0.0;
  double with_user = 0.0;
  for (std::uint32_t text = 0; text < table.texts(); ++text) {
    std::uint32_t told = settings.classes;
    for (auto at = table.offsets[text]; at < table.offsets[text + 1]; ++at)
      if (table.tokens[at] < own_of_class * settings.classes) told = table.tokens[at] / own_of_class;
    const auto label = static_cast<std::uint32_t>(table.labels[text]);
    const bool tells = told < settings.classes;
    if (tells) BOOST_REQUIRE(told == label);
    alone += tells ? 1.0 : 1.0 / settings.classes;
    with_user += tells || favourite_of(settings, table.owners[text]) == label ? 1.0 : 0.0;
  }
  const double clarity = settings.clarity;
  const double classes = settings.classes;
  BOOST_TEST(std::abs(alone / table.texts() - (clarity + (1 - clarity) / classes)) < 0.01);
  BOOST_TEST(std::abs(with_user / table.texts() -
                      (clarity + (1 - clarity) * (settings.taste + (1 - settings.taste) / classes))) < 0.01);
}

BOOST_AUTO_TEST_CASE(words_follow_each_other_by_topic_and_own_words_by_user) {
  synthetic_text_settings settings;
  settings.next_word = true;
  settings.clarity = 1.0;
  settings.taste = 1.0;
  settings.length = 40;
  constexpr std::uint32_t buckets = 1000;
  const auto table = texts_from(settings, 3, 4, buckets);
  std::size_t own_words = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> followers;
  for (std::uint32_t text = 0; text < table.texts(); ++text) {
    const auto user = 3 + table.owners[text];
    for (auto at = table.offsets[text]; at < table.offsets[text + 1]; ++at) {
      const auto word = table.tokens[at];
      own_words += word >= settings.words ? 1 : 0;
      if (at + 1 == table.offsets[text + 1] || table.tokens[at + 1] >= settings.words) continue;
      const auto next = table.tokens[at + 1];
      if (word < settings.words)
        BOOST_REQUIRE(next == (word + 1 + favourite_of(settings, user)) % settings.words);
      else
        BOOST_REQUIRE((followers.try_emplace({user, word}, next).first->second == next));
    }
  }
  BOOST_TEST(followers.size() == 2U * settings.own_words);
  BOOST_TEST(std::abs(static_cast<double>(own_words) / static_cast<double>(table.tokens.size()) - settings.own_share) <
             0.02);
  const auto expected = settings.words + word_hash("user 3 word 0") % buckets;
  BOOST_TEST(followers.contains({3, static_cast<std::uint32_t>(expected)}));
}

BOOST_AUTO_TEST_CASE(they_are_a_dataset) {
  const auto build = [](const std::vector<setting_override>& options) {
    return testing::good_data("synthetic-texts", options, {}).clients;
  };
  const auto classes = build({{"users", "20"}});
  BOOST_TEST(classes->facts().classes == 8U);
  BOOST_TEST((classes->facts().labels == models::objective::categorical));
  BOOST_TEST(classes->count(0, part::train) == 40U);
  BOOST_TEST(classes->count(0, part::test) == 5U);
  BOOST_TEST((build({{"classes", "2"}})->facts().labels == models::objective::logistic));

  const auto words = build({{"users", "20"}, {"task", "next-word"}, {"buckets", "30"}});
  const auto facts = words->facts();
  BOOST_TEST((facts.labels == models::objective::next_token));
  BOOST_TEST(facts.words == models::first_word + 200U);
  BOOST_TEST(facts.features == facts.words + 30U);
  BOOST_TEST(words->feature_name(facts.words - 1) == "w199");
  BOOST_TEST(words->feature_name(facts.words) == "unknown words 0");
  bool hashed = false;
  bool unknown = false;
  const auto plain = build({{"users", "20"}, {"task", "next-word"}});
  BOOST_TEST(plain->facts().features == plain->facts().words);
  for (const auto& text : testing::texts_of(*words, 1, part::train))
    hashed |= text.find("unknown words") != std::string::npos;
  for (const auto& text : testing::texts_of(*plain, 1, part::train)) {
    unknown |= text.find("<unknown>") != std::string::npos;
    BOOST_TEST((text.starts_with("<start> ") && text.ends_with(" <end>")));
  }
  BOOST_TEST(hashed);
  BOOST_TEST(unknown);
  BOOST_TEST(testing::text_of(testing::build_data("synthetic-texts", {{"words", "10"}}, {}))
                 .starts_with("words: is below two per class"));
  for (const char* own : {"buckets", "own_words", "own_share"})
    BOOST_TEST(testing::text_of(testing::build_data("synthetic-texts", {{own, "1"}}, {}))
                   .starts_with(own + std::string(": is about own words of users")));
}

BOOST_AUTO_TEST_SUITE_END()
