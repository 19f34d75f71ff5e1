// A run directory opened for what was learned in it.
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
  models::shared_parameters model;              ///< that it ended with
  std::unique_ptr<storage::rocks_store> store;  ///< null where nothing private is stored
};

/// Opens the data, the checkpoint and, read-only, the private store. Fails as they do; (kind data) when the data are
/// not those that the run began with; and (kind usage) when there is a private store and the run has not ended, because
/// its values may be newer than the model.
[[nodiscard]] result<trained_run> open_trained_run(const run_directory& folder);

// What a run's model says of a text: its class, or how it goes on.

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
