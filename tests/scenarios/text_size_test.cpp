// The characters of texts: as many in words as in characters, whatever the vocabulary.
#include "scenarios/data/text_population.hpp"
#include "tests/scenarios/text_support.hpp"

BOOST_AUTO_TEST_SUITE(text_sizes)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;

namespace {

text_size size_of(const std::vector<setting_override>& options) {
  const testing::temporary_directory root;
  root.write("lines.txt", "anna\tso it goes\nanna\t\u00fcber   alles \nanna\tit\n");  // three blanks are one
  auto all = options;
  all.insert(all.end(), {{"path", "lines.txt"}, {"user_column", "true"}});
  const auto data = testing::good_data("text", all, root.path());
  const auto* texts = dynamic_cast<const sized_texts*>(data.clients.get());
  BOOST_REQUIRE(texts != nullptr);
  return texts->size_of(0, part::train);
}

}  // namespace

BOOST_AUTO_TEST_CASE(words_and_characters_have_the_same_size) {
  const auto words = size_of({});
  BOOST_TEST(words.predictions == 6U + 3U);  // words and ends
  BOOST_TEST(words.characters == (10U + 1U) + (10U + 1U) + (2U + 1U));
  BOOST_TEST(words.unknown == 0U);
  const auto few = size_of({{"vocabulary", "1"}});
  BOOST_TEST(few.characters == words.characters);
  BOOST_TEST(few.unknown == 4U);  // all but "it"
  BOOST_TEST(size_of({{"vocabulary", "1"}, {"buckets", "3"}}).unknown == 4U);
  const auto characters = size_of({{"tokens", "characters"}});
  BOOST_TEST(characters.predictions == characters.characters);
  BOOST_TEST(characters.characters == words.characters + 2U);  // the blanks that words do not have
}

BOOST_AUTO_TEST_SUITE_END()
