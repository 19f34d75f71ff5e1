// Locates and reads files with one sentence per line.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "federated/experiment/population.hpp"
#include "models/examples.hpp"
#include "scenarios/data/text_table.hpp"

namespace furlong::scenarios {

/// The files of each part of a dataset.
struct text_files {
  std::vector<std::filesystem::path> train;   ///< or all files
  std::filesystem::path validation;           ///< empty: none
  std::filesystem::path test;                 ///< empty: none
  std::vector<std::filesystem::path> unread;  ///< other files of the folder, except hidden ones
};

/// A file is the training part. Of a folder: the files with train (training), valid (validation, val, dev) and test
/// (testing) in their names, between dots, dashes or underscores, case-insensitive, as in ptb.train.txt and
/// wiki.valid.tokens; if there are none, all its *.txt, by name. Fails (kind data) if there are no files, if two files
/// are the same part or one is two, if there is a part for evaluation but none for training, and if without such names
/// a file would be trained on whose name is that of a part for evaluation and a number, as in test2.txt.
[[nodiscard]] result<text_files> find_text_files(const std::filesystem::path& path);

struct line_settings {
  token_settings tokens;
  bool skip_headings = true;  ///< skip lines like "= Title ="
  bool user_column = false;   ///< lines are user<TAB>sentence; each user is a client
  bool cut =
      false;  ///< a line is a paragraph: a sentence ends after a word ".", "!" or "?", and at the end of the line
};

/// Appends the sentences of a file. Lines without words are skipped. Without a user column the sentences have no owner
/// yet, and the table's clients do not change. With one, new users become clients for `use`. Fails (kind data) at a
/// line that is not UTF-8 or has no user, at a user with another use, and if there are no sentences.
[[nodiscard]] result<void> read_sentences(const std::filesystem::path& file, const line_settings& settings,
                                          client_use use, text_table& table);

// Tokenizes further texts like those of the run: `furlong infer --text TEXT`.

/// Immutable and thread-safe.
class text_reader {
 public:
  /// @param clients the population with the vocabulary; features are tokens
  /// @param rows, begins as text_split has the texts
  text_reader(std::shared_ptr<const federated::population> clients, const token_settings& settings,
              std::vector<std::uint32_t> rows, std::vector<std::size_t> begins)
      : clients_(std::move(clients)), settings_(settings), rows_(std::move(rows)), begins_(std::move(begins)) {}

  /// One example with the label 0: the text's tokens, cut at the same length as the data's. For next tokens: all of
  /// them, with a start and no end. Words outside the vocabulary are mapped as in the data. Fails (kind usage) if the
  /// text has no tokens or is not UTF-8. Takes time linear in the vocabulary.
  [[nodiscard]] result<models::examples> read(std::string_view text) const;
  /// The same of several texts with labels, as the data have them: for next tokens each has an end, too. Fails (kind
  /// data) at the first text without tokens; places[i] is the place of texts[i] in messages.
  [[nodiscard]] result<models::examples> read_all(std::span<const std::string> texts, std::span<const float> labels,
                                                  std::span<const std::string> places) const;
  /// The numbers in the source, from 0, of the texts that the population loads for this part of a client.
  [[nodiscard]] std::span<const std::uint32_t> rows(std::uint32_t client, federated::part which) const {
    const auto part = 3 * std::size_t{client} + static_cast<std::size_t>(which);
    return std::span(rows_).subspan(begins_[part], begins_[part + 1] - begins_[part]);
  }
  /// The separator of two tokens.
  [[nodiscard]] std::string_view separator() const { return settings_.kind == token_kind::words ? " " : ""; }

 private:
  using token_numbers = std::unordered_map<std::string, std::uint32_t>;

  [[nodiscard]] token_numbers number_tokens() const;
  /// @param ends true for a text of the data, which is cut and ends
  [[nodiscard]] result<void> append(std::string_view text, const token_numbers& tokens, bool ends,
                                    models::examples& numbered) const;

  std::shared_ptr<const federated::population> clients_;
  token_settings settings_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::size_t> begins_;
};

}  // namespace furlong::scenarios
