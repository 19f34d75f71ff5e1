// Words, characters and vocabularies.
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "base/utf8.hpp"
#include "scenarios/data/text_table.hpp"
#include "scenarios/data/vocabulary.hpp"

BOOST_AUTO_TEST_SUITE(words)

using namespace furlong;
using namespace furlong::scenarios;

namespace {

std::vector<std::string> tokens_of(std::string_view text, const token_settings& settings) {
  text_table table;
  BOOST_REQUIRE(tokenizer(settings).append(text, table).has_value());
  std::vector<std::string> tokens;
  for (const auto token : table.tokens) tokens.emplace_back(table.words[token]);
  return tokens;
}

using names = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(hashes_are_those_that_fnv_publishes) {
  BOOST_TEST(word_hash("") == 0xcbf29ce484222325ULL);
  BOOST_TEST(word_hash("a") == 0xaf63dc4c8601ec8cULL);
  BOOST_TEST(word_hash("foobar") == 0x85944171f73967e8ULL);
}

BOOST_AUTO_TEST_CASE(a_list_numbers_words_in_order_of_first_appearance) {
  word_list list;
  constexpr std::uint32_t count = 5000;
  for (const int pass : {0, 1})
    for (std::uint32_t i = 0; i < count; ++i)
      BOOST_REQUIRE_MESSAGE(list.add("w" + std::to_string(i)) == i, "pass " << pass);
  BOOST_TEST(list.size() == count);
  for (std::uint32_t i = 0; i < count; ++i) BOOST_REQUIRE(list[i] == "w" + std::to_string(i));
  BOOST_TEST(list.add("") == count);
  BOOST_TEST(list[count].empty());
}

BOOST_AUTO_TEST_CASE(characters_are_code_points_of_valid_utf8) {
  BOOST_TEST(is_utf8(""));
  BOOST_TEST(is_utf8("plain"));
  for (const char* good : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF0\x90\x80\x80",
                           "\xF4\x8F\xBF\xBF"}) {
    std::string_view rest = good;
    BOOST_TEST(next_character(rest) == good);
    BOOST_TEST(rest.empty());
  }
  // Alone, too long, a surrogate, beyond the last one, cut off.
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xE2\x28\xA1", "a\xE2\x82 b"})
    BOOST_TEST(!is_utf8(bad), bad);
}

BOOST_AUTO_TEST_CASE(texts_become_words_or_characters) {
  BOOST_TEST((tokens_of("  The\tcat  sat ", {}) == names{"The", "cat", "sat"}));
  BOOST_TEST((tokens_of("The Cat", {.lower_case = true}) == names{"the", "cat"}));
  BOOST_TEST((tokens_of("a b c d", {.most = 2}) == names{"a", "b"}));
  BOOST_TEST((tokens_of(" ", {}).empty()));
  const token_settings characters{token_kind::characters, true, 3};
  BOOST_TEST((tokens_of("A \xC3\x84z", characters) == names{"a", " ", "\xC3\x84"}));
  text_table table;
  BOOST_TEST(!tokenizer({}).append("fine \xFF", table).has_value());
  BOOST_TEST(table.tokens.empty());
}

BOOST_AUTO_TEST_CASE(a_vocabulary_takes_the_most_frequent_words) {
  word_list list;
  for (const char* word : {"rare", "often", "<unk>", "middle", "other", "never"}) list.add(word);
  const std::vector<std::uint32_t> counts = {1, 9, 50, 3, 3, 0};
  const auto all = choose_vocabulary(list, counts, 0, 0);
  BOOST_TEST(all.known() == models::first_word + 5U);
  BOOST_TEST(all.name_of(models::first_word) == "often");
  BOOST_TEST(all.name_of(models::first_word + 1) == "middle");
  BOOST_TEST(all.name_of(models::first_word + 2) == "other");
  BOOST_TEST(all.token_of[2] == models::unknown_token);
  BOOST_TEST(all.token_of[5] == models::first_word + 4U);

  const auto two = choose_vocabulary(list, counts, 2, 0);
  BOOST_TEST(two.tokens() == models::first_word + 2U);
  BOOST_TEST(two.token_of[1] == models::first_word);
  for (const std::uint32_t word : {0U, 2U, 4U, 5U}) BOOST_TEST(two.token_of[word] == models::unknown_token);
  BOOST_TEST(choose_vocabulary(list, counts, 100, 0).known() == models::first_word + 4U);  // "never" is not in training

  const auto hashed = choose_vocabulary(list, counts, 2, 7);
  BOOST_TEST(hashed.tokens() == hashed.known() + 7);
  BOOST_TEST(hashed.token_of[0] == hashed.known() + word_hash("rare") % 7);
  BOOST_TEST(hashed.token_of[2] == models::unknown_token);
  BOOST_TEST(hashed.name_of(hashed.known() + 6) == "unknown words 6");
  BOOST_TEST(hashed.name_of(models::start_token) == "<start>");
}

BOOST_AUTO_TEST_SUITE_END()
