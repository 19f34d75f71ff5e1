// Texts of clients: the input of the split for all text sources.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/data/vocabulary.hpp"

namespace furlong::scenarios {

/// The owner of a text that is left out.
constexpr std::uint32_t nobody = UINT32_MAX;

/// The use that the source assigns to a client. `any`: determined by the scenario's split.
enum class client_use : std::uint8_t { any, validation, test };

/// Texts, in the order of the source. A token is an index into `words`; in sparse vectors it is the index of an
/// element.
struct text_table {
  word_list words;                         ///< the distinct tokens; empty for vectors
  std::vector<std::uint32_t> tokens;       ///< text after text
  std::vector<float> values;               ///< of vectors: one per token; empty for texts
  std::vector<std::size_t> offsets = {0};  ///< start of each text in `tokens`, and the end
  std::vector<std::uint32_t> owners;       ///< the client of each text, or nobody
  std::vector<float> labels;               ///< one per text, or empty: no labels
  std::vector<std::uint32_t> times;        ///< one per text, or empty: texts are in order of time
  std::vector<bool> tested;      ///< one per text: true if the source provides it for the test; or empty: none
  word_list clients;             ///< names
  std::vector<client_use> uses;  ///< one per client, or empty: all `any`

  [[nodiscard]] std::uint32_t texts() const { return static_cast<std::uint32_t>(owners.size()); }
  /// Completes the text whose tokens were appended last.
  void end_text(std::uint32_t owner);
};

enum class token_kind : std::uint8_t { words, characters };

/// Tokenization of a text.
struct token_settings {
  token_kind kind = token_kind::words;  ///< words between blanks, or code points
  bool lower_case = false;              ///< letters A to Z only
  std::uint32_t most = 0;               ///< maximum number of tokens; the rest is cut; 0: all
};

/// Tokenizes texts. Reuses buffers.
class tokenizer {
 public:
  explicit tokenizer(const token_settings& settings) : settings_(settings) {}

  /// Appends a text's tokens to the table without completing it.
  /// @return the number of tokens; nothing, with the table unchanged, if the text is not UTF-8
  [[nodiscard]] std::optional<std::size_t> append(std::string_view text, text_table& table);

 private:
  token_settings settings_;
  std::string lowered_;
};

/// Keeps the clients with at least `least` texts and, of those for any use, the first `most` (0: all). Texts of other
/// clients are left out.
void choose_clients(text_table& table, std::uint32_t least, std::uint32_t most);

/// Trims blanks (space, tab, carriage return, line feed) at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace furlong::scenarios
