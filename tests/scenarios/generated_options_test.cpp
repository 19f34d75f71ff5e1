// Every option of generated data sets the field of its settings.
#include "scenarios/data/synthetic_ratings.hpp"
#include "scenarios/data/synthetic_texts.hpp"
#include "tests/scenarios/text_support.hpp"

BOOST_AUTO_TEST_SUITE(generated_options)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;

namespace {

/// An option, and the field that is set in its place.
template <class Settings>
struct option_of {
  const char* name;
  const char* value;
  void (*set)(Settings&);
};

/// All of each user's examples, in order.
using user_ratings = std::vector<std::pair<std::vector<std::uint32_t>, std::vector<float>>>;
using user_texts = std::vector<std::vector<std::string>>;

std::vector<setting_override> with(std::vector<setting_override> more) {
  more.insert(more.end(), {{"split", "1,0,0"}, {"order", "time"}});
  return more;
}

user_ratings ratings_with(const std::vector<setting_override>& options) {
  const auto data = testing::good_data("synthetic-ratings", with(options), {});
  user_ratings all;
  models::examples scratch;
  for (std::uint32_t user = 0; user < data.clients->facts().clients; ++user) {
    const auto own = data.clients->load(user, part::train, scratch);
    all.push_back({{own.features.begin(), own.features.end()}, {own.labels.begin(), own.labels.end()}});
  }
  return all;
}

user_ratings ratings_of(const synthetic_settings& settings) {
  const synthetic_truth truth(settings);
  user_ratings all(settings.users);
  for (std::uint32_t user = 0; user < settings.users; ++user) truth.ratings_of(user, all[user].first, all[user].second);
  return all;
}

constexpr std::uint32_t buckets = 50;

user_texts texts_with(std::vector<setting_override> options) {
  options.insert(options.end(), {{"task", "next-word"}, {"buckets", std::to_string(buckets)}});
  const auto data = testing::good_data("synthetic-texts", with(options), {});
  user_texts all;
  for (std::uint32_t user = 0; user < data.clients->facts().clients; ++user)
    all.push_back(testing::texts_of(*data.clients, user, part::train));
  return all;
}

user_texts texts_of(synthetic_text_settings settings) {
  settings.next_word = true;
  text_table table;
  for (std::uint32_t user = 0; user < settings.users; ++user) append_texts(settings, user, buckets, table);
  user_texts all(settings.users);
  for (std::uint32_t text = 0; text < table.texts(); ++text) {
    std::string words = "<start> ";
    for (auto at = table.offsets[text]; at < table.offsets[text + 1]; ++at) {
      const auto token = table.tokens[at];
      words += (token < settings.words ? "w" + std::to_string(token)
                                       : "unknown words " + std::to_string(token - settings.words)) +
               " ";
    }
    all[table.owners[text]].push_back(words + "<end>");
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_options_of_generated_ratings_reach_them) {
  using s = synthetic_settings;
  const option_of<s> options[] = {
      {"seed", "2", [](s& of) { of.seed = 2; }},
      {"users", "31", [](s& of) { of.users = 31; }},
      {"items", "60", [](s& of) { of.items = 60; }},
      {"rank", "7", [](s& of) { of.rank = 7; }},
      {"ratings_per_user", "20", [](s& of) { of.ratings_per_user = 20; }},
      {"spread", "0.25", [](s& of) { of.spread = 0.25; }},
      {"min_ratings", "18", [](s& of) { of.min_ratings = 18; }},
      {"popularity", "1.5", [](s& of) { of.popularity = 1.5; }},
      {"mean", "2.25", [](s& of) { of.mean = 2.25; }},
      {"signal", "0.25", [](s& of) { of.signal = 0.25; }},
      {"taste", "0.25", [](s& of) { of.taste = 0.25; }},
      {"quality", "0.25", [](s& of) { of.quality = 0.25; }},
      {"noise", "0.25", [](s& of) { of.noise = 0.25; }},
      {"rounding", "half", [](s& of) { of.rounding = star_rounding::half; }},
      {"rounding", "whole", [](s& of) { of.rounding = star_rounding::whole; }},
  };
  const std::vector<setting_override> few = {{"users", "30"}, {"items", "50"}, {"ratings_per_user", "12"}};
  s settings;
  settings.users = 30;
  settings.items = 50;
  settings.ratings_per_user = 12;
  const auto usual = ratings_of(settings);
  BOOST_TEST((ratings_with(few) == usual));
  for (const auto& [name, value, set] : options) {
    auto written = few;
    written.push_back({name, value});
    auto changed = settings;
    set(changed);
    const auto read = ratings_with(written);
    BOOST_TEST((read == ratings_of(changed)), name << " = " << value);
    BOOST_TEST((read != usual), name << " = " << value);
  }
}

BOOST_AUTO_TEST_CASE(the_options_of_generated_texts_reach_them) {
  using s = synthetic_text_settings;
  const option_of<s> options[] = {
      {"seed", "2", [](s& of) { of.seed = 2; }},
      {"users", "11", [](s& of) { of.users = 11; }},
      {"texts_per_user", "7", [](s& of) { of.texts_per_user = 7; }},
      {"classes", "3", [](s& of) { of.classes = 3; }},
      {"words", "90", [](s& of) { of.words = 90; }},
      {"length", "20", [](s& of) { of.length = 20; }},
      {"taste", "0.25", [](s& of) { of.taste = 0.25; }},
      {"clarity", "0.25", [](s& of) { of.clarity = 0.25; }},
      {"own_words", "9", [](s& of) { of.own_words = 9; }},
      {"own_share", "0.25", [](s& of) { of.own_share = 0.25; }},
  };
  const std::vector<setting_override> few = {{"users", "10"}, {"texts_per_user", "6"}};
  s settings;
  settings.users = 10;
  settings.texts_per_user = 6;
  const auto usual = texts_of(settings);
  BOOST_TEST((texts_with(few) == usual));
  for (const auto& [name, value, set] : options) {
    auto written = few;
    written.push_back({name, value});
    auto changed = settings;
    set(changed);
    const auto read = texts_with(written);
    BOOST_TEST((read == texts_of(changed)), name << " = " << value);
    BOOST_TEST((read != usual), name << " = " << value);
  }
}

BOOST_AUTO_TEST_SUITE_END()
