#include "scenarios/data/text_options.hpp"

#include <algorithm>
#include <iterator>

#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/text_files.hpp"
#include "scenarios/data/text_population.hpp"

namespace furlong::scenarios {

namespace {

std::uint32_t number(const option_values& options, std::string_view name) {
  return static_cast<std::uint32_t>(options.integer(name));
}

/// A next-token model keeps its states at all tokens of a text: about 20 kB each with 300 units.
constexpr std::size_t longest_text = 100'000;

result<void> check_lengths(const text_table& table, const text_split& split, const std::string& place) {
  for (const auto text : split.texts) {
    const auto tokens = table.offsets[text + 1] - table.offsets[text];
    if (tokens <= longest_text) continue;
    return fail(error::kind::data, place,
                "a text of " + shown(table.clients[table.owners[text]]) + " has " + std::to_string(tokens) +
                    " tokens, and at most " + std::to_string(longest_text) + " can be predicted one after the other",
                "cut texts with data.max_tokens, or split this text");
  }
  return {};
}

/// Rejects labels if only excluded users had more than one of them.
result<void> check_labels_left(const text_table& table, const std::string& place) {
  std::optional<float> label;
  bool left_out = false;
  for (std::uint32_t text = 0; text < table.labels.size(); ++text) {
    if (table.owners[text] == nobody)
      left_out = true;
    else if (label && *label != table.labels[text])
      return {};
    else
      label = table.labels[text];
  }
  if (!left_out || !label) return {};
  return fail(error::kind::usage, place, "all texts of the users that are kept have the same label",
              "lower data.min_texts, or raise data.max_users");
}

/// Notes the share of the training tokens that the vocabulary covers, unless it is all.
/// @param counts per word of the source list
void note_left_out(const vocabulary& words, const word_list& list, std::span<const std::uint32_t> counts,
                   std::vector<std::string>& notes) {
  std::uint64_t different = 0;
  std::uint64_t total = 0;
  std::uint64_t known = 0;
  for (std::uint32_t word = 0; word < list.size(); ++word) {
    const auto token = words.token_of[word];
    if (list[word] != unknown_word && counts[word] > 0) ++different;
    total += counts[word];
    if (token >= models::first_word && token < words.known()) known += counts[word];
  }
  if (words.words.size() >= different) return;
  const auto thousandths = (1000 * known + total / 2) / total;
  notes.push_back("the vocabulary has " + std::to_string(words.words.size()) + " of " + std::to_string(different) +
                  " different tokens: " + std::to_string(thousandths / 10) + "." + std::to_string(thousandths % 10) +
                  " % of those trained on");
}

}  // namespace

std::vector<option_spec> token_options(std::int64_t vocabulary) {
  return {
      flag_option("lower_case", false, "Convert the letters A to Z to lower case."),
      integer_option("max_tokens", 0, "Cut texts after this many tokens; 0: never.", {0, 1e6}),
      integer_option(
          "vocabulary", vocabulary,
          "Tokens that the model knows: the most frequent ones of the training texts, start, end and unknown not "
          "counted. 0: all of the files, those of validation and test too.",
          {0, 1e7}),
      integer_option(
          "buckets", 0,
          "Numbers that tokens outside the vocabulary are hashed to (FNV-1a): inputs with embeddings, as targets "
          "unknown. 0: such tokens are unknown as inputs too.",
          {0, 1e7}),
  };
}

std::vector<option_problem> check_texts(const option_values& options) {
  auto problems = check_split(options);
  const auto is_zero = [&](const char* name) { return options.has(name) && options.integer(name) == 0; };
  if (options.has("buckets") && !is_zero("buckets") && is_zero("vocabulary"))
    problems.push_back({"buckets", "is about tokens outside the vocabulary, and vocabulary = 0 takes all of them in",
                        "set data.vocabulary to how many of the most frequent tokens the model knows, or remove it"});
  return problems;
}

option_spec token_kind_option(const char* fallback) {
  return choice_option("tokens", fallback, "Tokens: words between blanks, or characters (code points of UTF-8).",
                       {"words", "characters"});
}

std::vector<option_spec> user_options() {
  return {
      integer_option("min_texts", 0, "Leave users with fewer texts out.", {0, 1e9}),
      integer_option("max_users", 0,
                     "Keep the first this many of the remaining users, in the order of the files; 0: all.", {0, 1e9})};
}

token_kind read_token_kind(const option_values& options) {
  return options.text("tokens") == "words" ? token_kind::words : token_kind::characters;
}

token_settings read_token_settings(const option_values& options, token_kind kind) {
  return {kind, options.flag("lower_case"), number(options, "max_tokens")};
}

result<std::vector<std::string>> choose_users(text_table& table, const option_values& options,
                                              const std::string& place) {
  const auto before = table.clients.size();
  choose_clients(table, number(options, "min_texts"), number(options, "max_users"));
  const auto few = std::to_string(options.integer("min_texts")) + " texts";
  if (table.clients.size() == 0) return fail(error::kind::usage, place, "no user has " + few, "lower data.min_texts");
  if (!table.uses.empty() && std::ranges::find(table.uses, client_use::any) == table.uses.end())
    return fail(error::kind::usage, place, "no user who trains has " + few, "lower data.min_texts");
  if (auto checked = check_labels_left(table, place); !checked) return tl::unexpected(checked.error());
  std::vector<std::string> notes;
  if (const auto left_out = before - table.clients.size(); left_out > 0)
    notes.push_back(std::to_string(left_out) + " of the " + std::to_string(before) +
                    " users are left out by data.min_texts and data.max_users");
  return notes;
}

void check_named(const option_values& options, std::initializer_list<const char*> names,
                 std::vector<option_problem>& problems) {
  for (const char* name : names)
    if (options.has(name) && options.text(name).empty())
      problems.push_back({name, "is empty", "write a name, or remove it"});
}

models::data_facts token_facts(const option_values& options, models::objective labels, std::uint32_t classes) {
  constexpr std::uint32_t checked = 100;
  models::data_facts facts;
  facts.labels = labels;
  facts.classes = classes;
  const auto known = options.has("vocabulary") ? number(options, "vocabulary") : 0;
  facts.words = models::first_word + (known == 0 ? checked : known);
  facts.features = facts.words + (options.has("buckets") ? number(options, "buckets") : 0);
  return facts;
}

result<void> settle_texts(const text_table& table, const option_values& options, const std::string& place,
                          models::objective labels, std::uint32_t classes, const token_settings& tokens,
                          dataset& made) {
  const auto settings = read_split(options);
  auto split = divide_texts(table, settings);
  if (labels == models::objective::next_token)
    if (auto fit = check_lengths(table, split, place); !fit) return fit;
  const auto counts = count_words(table, split);
  auto words = choose_vocabulary(table.words, counts, number(options, "vocabulary"), number(options, "buckets"));
  note_left_out(words, table.words, counts, made.notes);
  note_own_parts(table, settings, made.notes);
  note_untrained_labels(table, split, made.notes);
  const auto facts = text_facts(table, words, labels, classes);
  auto rows = split.texts;
  auto begins = split.begins;
  made.clients = make_text_population(table, std::move(split), std::move(words), facts, tokens.kind);
  made.texts = std::make_shared<const text_reader>(made.clients, tokens, std::move(rows), std::move(begins));
  return {};
}

tl::unexpected<error> not_utf8(const std::string& place) {
  return fail(error::kind::data, place, "is not UTF-8", "convert the file, for example with iconv -t UTF-8");
}

}  // namespace furlong::scenarios
