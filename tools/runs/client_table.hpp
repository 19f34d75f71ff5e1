// A table of the clients of a run: participation, quality and device of each client.
#pragma once

#include <filesystem>

#include "federated/world/availability.hpp"
#include "tools/runs/run_record.hpp"
#include "tools/runs/trained_run.hpp"

namespace furlong::tools {

/// Writes a row per client as CSV, ascending; a field that does not apply is empty. Nothing private: counts, sizes and
/// scores, which a server has anyway.
///
///   client, name          number, and name in the data
///   role                  train, validation (unseen) or test (unseen)
///   selected, folded      tasks, and of these updates in a model
///   last_selected         the round of its last task
///   last_folded           the round from whose model its last aggregated update started
///   training_loss         mean loss per example that it last reported
///   train_examples        examples for training
///   examples, loss, rmse, accuracy
///                         scored predictions, and figures over them, with the run's final model: training clients on
///                         their test part, unseen ones as the groups validation and unseen
///   seconds_per_example, bytes_per_second, availability
///                         of the simulated device: of training, each way, and the share of the run's time in which
///                         it was available
///   taste                 how far its labels are above those of others, in standard deviations; 0 without such a
///   meaning
///   group                 with evaluation.client_groups: its name
///
/// Scores on all cores. Memory: the model, and some thousand rows. Fails as scoring does, and (kind runtime) if the
/// file cannot be written.
[[nodiscard]] result<void> write_client_table(const trained_run& run, const std::filesystem::path& file);

/// Share of the time from 0 to `until` in which a client is available.
[[nodiscard]] double share_available(const federated::availability& presence, std::uint32_t client,
                                     federated::virtual_time until);

/// Gives the finished runs the figures of their clients, for the charts of a report. Fails as scoring does, and as
/// open_trained_run().
[[nodiscard]] result<void> add_clients(std::vector<run_record>& runs);

}  // namespace furlong::tools
