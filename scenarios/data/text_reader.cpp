#include "scenarios/data/text_reader.hpp"

#include <string>
#include <unordered_map>

#include "scenarios/data/vocabulary.hpp"

namespace furlong::scenarios {

namespace {

/// The token of a word that the vocabulary does not have.
std::uint32_t token_of_unknown(std::string_view word, const models::data_facts& facts) {
  const auto buckets = facts.features - facts.words;
  if (buckets == 0 || word == unknown_word) return models::unknown_token;
  return facts.words + static_cast<std::uint32_t>(word_hash(word) % buckets);
}

}  // namespace

result<models::examples> text_reader::read(std::string_view text) const {
  const auto facts = clients_->facts();
  const bool sequence = facts.labels == models::objective::next_token;
  auto how = how_;
  if (sequence) how.most = 0;  // it is to go on from its end
  text_table table;
  const auto count = tokenizer(how).append(sequence ? text : trimmed(text), table);
  if (!count || *count == 0)
    return fail(error::kind::usage, "--text", count ? "is empty" : "is not UTF-8", "give a text as those of the data");
  std::unordered_map<std::string, std::uint32_t> tokens;
  for (auto token = std::uint32_t{models::first_word}; token < facts.words; ++token)
    tokens.emplace(clients_->feature_name(token), token);
  models::examples made;
  if (sequence) made.features.push_back(models::start_token);
  for (const auto word : table.tokens) {
    const auto at = tokens.find(std::string(table.words[word]));
    made.features.push_back(at != tokens.end() ? at->second : token_of_unknown(table.words[word], facts));
  }
  made.offsets = {0, static_cast<std::uint32_t>(made.features.size())};
  made.labels = {0.0F};
  return made;
}

}  // namespace furlong::scenarios
