// A run directory opened for its trained model.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/examples.hpp"
#include "storage/rocks_store.hpp"
#include "tools/cli/json.hpp"
#include "tools/cli/run_directory.hpp"
#include "tools/cli/session.hpp"

namespace furlong::tools {

/// A finished (or stopped) run.
struct trained_run {
  session of;
  models::shared_parameters model;              ///< final model, as clients get it
  models::shared_parameters kept;               ///< the same as the server has it
  std::unique_ptr<storage::rocks_store> store;  ///< null if no private values are stored
};

/// Opens the data, the checkpoint and, read-only, the private store. Fails as they do; (kind data) if the data differ
/// from those of the run; and (kind usage) if there is a private store and the run has not ended, because its values
/// may be newer than the model.
[[nodiscard]] result<trained_run> open_trained_run(const run_directory& folder);

// Predictions for a text: its class, or its continuation.

/// A text and its author.
struct text_question {
  std::string text;
  std::optional<std::uint32_t> client;  ///< nothing: a new person
  models::examples known;               ///< the client's own texts
  std::size_t most = 10;                ///< maximum number of added tokens
};

/// Fields "personal", "text", "unknown" (the number of its "tokens" outside the vocabulary), and "class" with its
/// "name", or "probability" of the "label" that counts as 1, or "goes_on" (the most likely tokens one after the other,
/// up to an end; each takes a prediction from all before it). Fails (kind usage) if the run's data are not texts or the
/// text is invalid.
[[nodiscard]] result<json> infer_text(const trained_run& run, const text_question& question);
/// The same as text.
void print_inferred_text(const json& from);

}  // namespace furlong::tools
