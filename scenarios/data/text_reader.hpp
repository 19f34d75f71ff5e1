// Texts that somebody types, read as a run's own texts were: `furlong infer --text TEXT`.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "federated/population.hpp"
#include "models/examples.hpp"
#include "scenarios/data/text_table.hpp"

namespace furlong::scenarios {

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
