// Files with a sentence a line: where they are, and what is in them.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "federated/population.hpp"
#include "models/examples.hpp"
#include "scenarios/data/text_table.hpp"

namespace furlong::scenarios {

/// What a dataset keeps in which files.
struct text_files {
  std::vector<std::filesystem::path> train;  ///< or all there is
  std::filesystem::path validation;          ///< empty: none
  std::filesystem::path test;                ///< empty: none
};

/// One file is itself. Of a folder: its files with train, valid (validation, dev) and test in their names, between
/// dots, dashes or underscores and in letters of any case, as in ptb.train.txt and wiki.valid.tokens; where none has
/// any of them, all its *.txt, by name. Fails (kind data) when there is nothing of the kind, when two files have the
/// same part or one has two, and when there is a part to score on and none to train on.
[[nodiscard]] result<text_files> find_text_files(const std::filesystem::path& path);

struct line_settings {
  token_settings tokens;
  bool skip_headings = true;  ///< leave lines like "= Title =" out
  bool user_column = false;   ///< lines are user<TAB>sentence, and a user is a client
  bool cut = false;           ///< a line is a paragraph: a sentence ends after a word ".", "!" or "?", and at its end
};

/// Appends the sentences of a file. Lines without words are none. Without a user column they are nobody's for now, and
/// the table's clients stay as they are. With one, users new to the table become clients for `use`.
/// Fails (kind data) at a line that is not UTF-8 or has no user, at a user who was there for another use, and when
/// there are no sentences at all.
[[nodiscard]] result<void> read_sentences(const std::filesystem::path& file, const line_settings& settings,
                                          client_use use, text_table& to);

// Texts that somebody types, read as a run's own texts were: `furlong infer --text TEXT`.

/// Immutable and thread-safe.
class text_reader {
 public:
  /// @param clients whose vocabulary it is; features are tokens
  text_reader(std::shared_ptr<const federated::population> clients, const token_settings& how)
      : clients_(std::move(clients)), how_(how) {}

  /// One example with the label 0: the text's tokens, cut where the data's are. Of next tokens: all of them, with the
  /// start before and no end. Words that are not in the vocabulary become what they become in the data. Fails (kind
  /// usage) when the text has no tokens or is not UTF-8. Takes time that is linear in the vocabulary.
  [[nodiscard]] result<models::examples> read(std::string_view text) const;
  /// What stands between two tokens.
  [[nodiscard]] std::string_view separator() const { return how_.kind == token_kind::words ? " " : ""; }

 private:
  std::shared_ptr<const federated::population> clients_;
  token_settings how_;
};

}  // namespace furlong::scenarios
