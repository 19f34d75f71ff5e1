// What a run's model says of a text: its class, or how it goes on.
#pragma once

#include <optional>
#include <string>

#include "models/examples.hpp"
#include "tools/cli/json.hpp"
#include "tools/cli/trained_run.hpp"

namespace furlong::tools {

/// A text, and who wrote it.
struct text_question {
  std::string text;
  std::optional<std::uint32_t> client;  ///< nothing: somebody new
  models::examples known;               ///< the client's own texts
  std::size_t most = 10;                ///< tokens to go on with
};

/// Fields "personal", "text", "unknown" (how many of its "tokens" the vocabulary does not have), and "class" with its
/// "name", or "probability" of the "label" that counts as 1, or "goes_on" (the likeliest token after each other, up to
/// an end; each takes a prediction of all before it). Fails (kind usage) when the run's data are no texts or the text
/// is none.
[[nodiscard]] result<json> infer_text(const trained_run& run, const text_question& question);
/// The same for people.
void print_inferred_text(const json& from);

}  // namespace furlong::tools
