// Texts of clients as a source has them: what every source of texts is turned into before it is divided.
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

/// What the source itself says a client is for. `any`: the split of the scenario decides.
enum class client_use : std::uint8_t { any, validation, test };

/// Texts, in the order of the source. A token is a number in `words`; of sparse vectors it is the number of an element.
struct text_table {
  word_list words;                         ///< the distinct tokens; of vectors none
  std::vector<std::uint32_t> tokens;       ///< text after text
  std::vector<float> values;               ///< of vectors: one per token; of texts empty
  std::vector<std::size_t> offsets = {0};  ///< where each text begins in `tokens`, and the end
  std::vector<std::uint32_t> owners;       ///< the client of each text, or nobody
  std::vector<float> labels;               ///< one per text, or empty: none has one
  std::vector<std::uint32_t> times;        ///< one per text, or empty: they are in order of time
  std::vector<bool> tested;                ///< one per text: the source keeps it for the test; or empty: none
  word_list clients;                       ///< names
  std::vector<client_use> uses;            ///< one per client, or empty: any

  [[nodiscard]] std::uint32_t texts() const { return static_cast<std::uint32_t>(owners.size()); }
  /// Ends the text whose tokens were appended last.
  void end_text(std::uint32_t owner);
};

enum class token_kind : std::uint8_t { words, characters };

/// How a text becomes tokens.
struct token_settings {
  token_kind kind = token_kind::words;  ///< what stands between blanks, or every code point
  bool lower_case = false;              ///< letters A to Z only
  std::uint32_t most = 0;               ///< tokens of a text, the rest is cut; 0: all
};

/// Turns texts into tokens. Keeps working memory from text to text.
class tokenizer {
 public:
  explicit tokenizer(const token_settings& settings) : settings_(settings) {}

  /// Appends a text's tokens to the table and does not end it.
  /// @return how many tokens; nothing, and the table is as it was, when the text is not UTF-8
  [[nodiscard]] std::optional<std::size_t> append(std::string_view text, text_table& to);

 private:
  token_settings settings_;
  std::string lowered_;
};

/// Keeps the clients that have `least` texts or more, and of those for any use the first `most` (0: all). The texts of
/// others are left out.
void choose_clients(text_table& of, std::uint32_t least, std::uint32_t most);

/// Cuts blanks (space, tab, carriage return, line feed) off both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace furlong::scenarios
