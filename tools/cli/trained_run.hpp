// A run directory opened for what was learned in it.
#pragma once

#include <memory>

#include "storage/rocks_store.hpp"
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

}  // namespace furlong::tools
