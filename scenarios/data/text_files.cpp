#include "scenarios/data/text_files.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "base/utf8.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/text_options.hpp"
#include "scenarios/data/vocabulary.hpp"

namespace furlong::scenarios {

namespace {

namespace fs = std::filesystem;

constexpr const char* layouts =
    "name one text file, or a folder with files such as ptb.train.txt, ptb.valid.txt and ptb.test.txt, or with *.txt";
constexpr const char* no_train =
    "put train between dots, dashes or underscores into the name of one, as in ptb.train.txt, or name a single file in "
    "data.path";
constexpr const char* whence =
    "put the data there, or correct data.path (FURLONG_DATA names the folder above, default data/ in the working "
    "directory); PTB is in simple-examples/data of the RNNLM toolkit, https://www.fit.vutbr.cz/~imikolov/rnnlm/";

using part_names = std::span<const std::string_view>;
constexpr std::array<std::string_view, 2> train_names = {"train", "training"};
constexpr std::array<std::string_view, 4> validation_names = {"valid", "validation", "val", "dev"};
constexpr std::array<std::string_view, 2> test_names = {"test", "testing"};

/// True if a file name has one of the words, case-insensitive, between dots, dashes or underscores.
/// @param numbered true if a number may follow the word
bool is_part(const fs::path& file, part_names words, bool numbered = false) {
  auto name = file.filename().string();
  std::ranges::transform(name, name.begin(), lower);
  std::string_view rest = name;
  while (!rest.empty()) {
    const auto end = std::min(rest.find_first_of(".-_"), rest.size());
    auto word = rest.substr(0, end);
    while (numbered && !word.empty() && word.back() >= '0' && word.back() <= '9') word.remove_suffix(1);
    if (std::ranges::find(words, word) != words.end()) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

/// The only file of this part, or an empty path.
result<fs::path> one_part(const std::vector<fs::path>& files, part_names words) {
  fs::path found;
  for (const auto& file : files) {
    if (!is_part(file, words)) continue;
    if (!found.empty())
      return fail(error::kind::data, file.string(), "is the same part of the data as " + found.filename().string(),
                  "keep only one of them in the folder");
    found = file;
  }
  return found;
}

/// The parts by the names of a folder's files; nothing if no name has a part.
result<text_files> find_parts(const fs::path& folder, const std::vector<fs::path>& files) {
  const auto train = one_part(files, train_names);
  const auto validation = one_part(files, validation_names);
  const auto test = one_part(files, test_names);
  for (const auto* part : {&train, &validation, &test})
    if (!*part) return tl::unexpected(part->error());
  for (const auto& [first, second] : {std::pair(&train, &validation), {&train, &test}, {&validation, &test}})
    if (!(*first)->empty() && **first == **second)
      return fail(error::kind::data, (*first)->string(), "names two parts of the data",
                  "keep only one of train, valid and test in its name");
  if (!train->empty()) return text_files{{*train}, *validation, *test, {}};
  std::string held;
  for (const auto* part : {&validation, &test})
    if (!(*part)->empty()) held += (held.empty() ? "" : " and ") + (*part)->filename().string();
  if (held.empty()) return text_files{};
  return fail(error::kind::data, folder.string(), "has " + held + " for evaluation, but no file for training",
              no_train);
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.is_regular_file(ignored) && !entry.path().filename().string().starts_with('.'))
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// Takes all *.txt for the training part, of a folder without names of parts.
result<void> take_all(const std::vector<fs::path>& files, text_files& found) {
  for (const auto& file : files) {
    if (file.extension() != ".txt") continue;
    if (is_part(file, validation_names, true) || is_part(file, test_names, true))
      return fail(error::kind::data, file.string(),
                  "would be trained on, and its name is that of a part for evaluation",
                  "name one file for each part, as in train.txt, valid.txt and test.txt");
    found.train.push_back(file);
  }
  return {};
}

bool is_heading(std::string_view line) { return line.size() > 1 && line.front() == '=' && line.back() == '='; }

/// Consumes the first sentence of a paragraph that is not empty and starts with a word: up to and including a word ".",
/// "!" or "?", or all of it. The rest starts with a word, too.
std::string_view take_sentence(std::string_view& paragraph) {
  constexpr std::string_view blanks = " \t\r\n";
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < paragraph.size(); begin = paragraph.find_first_not_of(blanks, end)) {
    end = std::min(paragraph.find_first_of(blanks, begin), paragraph.size());
    const auto word = paragraph.substr(begin, end - begin);
    if (word == "." || word == "!" || word == "?") break;
  }
  const auto sentence = paragraph.substr(0, end);
  paragraph = trimmed(paragraph.substr(end));
  return sentence;
}

/// Consumes a user and its tab; empty, with the line unchanged, if there is none. A name may contain blanks, but not
/// consist of them.
std::string_view take_user(std::string_view& line) {
  const auto user = line.substr(0, line.find('\t'));
  if (user.size() == line.size() || trimmed(user).empty()) return {};
  line.remove_prefix(user.size() + 1);
  return user;
}

/// The client of a name; appends new ones.
result<std::uint32_t> client_of(std::string_view name, client_use use, text_table& table, const std::string& place) {
  const auto client = table.clients.add(name);
  if (client == table.uses.size()) table.uses.push_back(use);
  if (table.uses[client] != use)
    return fail(error::kind::data, place, "user " + shown(name) + " has sentences in another part of the data as well",
                "keep all sentences of a user in one file");
  return client;
}

/// The token of a word outside the vocabulary.
std::uint32_t token_of_unknown(std::string_view word, const models::data_facts& facts) {
  const auto buckets = facts.features - facts.words;
  if (buckets == 0 || word == unknown_word) return models::unknown_token;
  return facts.words + static_cast<std::uint32_t>(word_hash(word) % buckets);
}

}  // namespace

result<text_files> find_text_files(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return text_files{{path}, {}, {}, {}};
  if (!fs::is_directory(path, ignored))
    return fail(error::kind::data, path.string(), "the file or folder does not exist", whence);
  const auto files = files_of(path);
  auto found = find_parts(path, files);
  if (!found) return found;
  if (found->train.empty())
    if (auto taken = take_all(files, *found); !taken) return tl::unexpected(taken.error());
  if (found->train.empty()) return fail(error::kind::data, path.string(), "has no text files", layouts);
  for (const auto& file : files)
    if (std::ranges::find(found->train, file) == found->train.end() && file != found->validation && file != found->test)
      found->unread.push_back(file);
  return found;
}

result<void> read_sentences(const fs::path& file, const line_settings& settings, client_use use, text_table& table) {
  const auto mapped = open_text(file);
  if (!mapped) return tl::unexpected(mapped.error());
  tokenizer tokens(settings.tokens);
  const auto before = table.texts();
  auto rest = without_byte_order_mark(mapped->bytes());
  for (std::uint64_t number = 1; !rest.empty(); ++number) {
    auto line = next_line(rest);
    const auto place = [&] { return file.string() + ":" + std::to_string(number); };
    if (trimmed(line).empty()) continue;
    const auto user = settings.user_column ? take_user(line) : std::string_view();
    if (settings.user_column && user.empty())
      return fail(error::kind::data, place(), "found " + shown(line) + " without a user before a tab",
                  "expected a user, a tab and a sentence, or set data.user_column = false");
    line = trimmed(line);
    if (line.empty() || (settings.skip_headings && is_heading(line))) continue;
    if (!is_utf8(user)) return not_utf8(place());
    auto owner = nobody;
    if (settings.user_column) {
      const auto client = client_of(user, use, table, place());
      if (!client) return tl::unexpected(client.error());
      owner = *client;
    }
    while (!line.empty()) {
      const auto sentence = settings.cut ? take_sentence(line) : std::exchange(line, {});
      if (!tokens.append(sentence, table)) return not_utf8(place());
      table.end_text(owner);
    }
  }
  if (table.texts() == before)
    return fail(error::kind::data, file.string(), "has no sentences", "expected one sentence per line");
  return {};
}

text_reader::token_numbers text_reader::number_tokens() const {
  token_numbers tokens;
  for (auto token = std::uint32_t{models::first_word}; token < clients_->facts().words; ++token)
    tokens.emplace(clients_->feature_name(token), token);
  return tokens;
}

result<void> text_reader::append(std::string_view text, const token_numbers& tokens, bool ends,
                                 models::examples& numbered) const {
  const auto facts = clients_->facts();
  const bool sequence = facts.labels == models::objective::next_token;
  auto settings = settings_;
  if (sequence && !ends) settings.most = 0;  // a sequence continues from its end
  text_table table;
  const auto count = tokenizer(settings).append(sequence && !ends ? text : trimmed(text), table);
  if (!count || *count == 0)
    return fail(error::kind::usage, "--text", count ? "is empty" : "is not UTF-8",
                "pass a text like those of the data");
  if (sequence) numbered.features.push_back(models::start_token);
  for (const auto word : table.tokens) {
    const auto found = tokens.find(std::string(table.words[word]));
    numbered.features.push_back(found != tokens.end() ? found->second : token_of_unknown(table.words[word], facts));
  }
  if (sequence && ends) numbered.features.push_back(models::end_token);
  numbered.offsets.push_back(static_cast<std::uint32_t>(numbered.features.size()));
  return {};
}

result<models::examples> text_reader::read(std::string_view text) const {
  models::examples made;
  made.offsets = {0};
  made.labels = {0.0F};
  if (auto added = append(text, number_tokens(), false, made); !added) return tl::unexpected(added.error());
  return made;
}

result<models::examples> text_reader::read_all(std::span<const std::string> texts, std::span<const float> labels,
                                               std::span<const std::string> places) const {
  const auto tokens = number_tokens();
  models::examples made;
  made.offsets = {0};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (auto added = append(texts[i], tokens, true, made); !added)
      return fail(error::kind::data, places[i], added.error().reason, added.error().fix);
    made.labels.push_back(labels[i]);
  }
  return made;
}

}  // namespace furlong::scenarios
