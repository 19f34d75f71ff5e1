#include "wire/traffic.hpp"

#include <algorithm>
#include <memory>

#include "federated/aggregation/accumulator.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/experiment/negatives.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/network.hpp"
#include "wire/encode.hpp"
#include "wire/message.hpp"

namespace furlong::wire {

namespace {

/// A zero update, with `rows` rows of every tensor with rows by feature if it is sparse.
federated::client_update blank_update(const federated::experiment& run, bool sparse, std::uint32_t rows) {
  federated::client_update update;
  update.change.shape = run.parts.up;
  for (const auto& spec : run.parts.up->tensors()) {
    const bool by_rows = sparse && spec.index != models::row_index::none;
    const auto count = spec.index == models::row_index::by_client ? 1U : std::min(rows, spec.rows);
    update.change.pieces.push_back({by_rows, static_cast<std::uint32_t>(update.change.rows.size()),
                                    by_rows ? count : 0U, update.change.values.size()});
    for (std::uint32_t row = 0; by_rows && row < count; ++row) update.change.rows.push_back(row);
    const std::size_t size = by_rows ? std::size_t{count} * spec.cols : spec.size();
    update.change.values.resize(update.change.values.size() + size, 0.0F);
  }
  return update;
}

}  // namespace

void meter_traffic(federated::experiment& run) {
  if (!run.settings.algorithm->traits.sends) return;
  const auto format = format_of(*run.settings.network);
  const auto scheme = packing_of(*run.settings.network);
  run.upload_bytes = [format, scheme](const federated::client_update& update) {
    return static_cast<std::uint64_t>(encoded_size(update, format, scheme.numbers));
  };
  if (run.settings.privacy->secure_aggregation) {  // masked words, whatever the update
    federated::client_update masked;
    masked.words.resize(federated::accumulated_words(run));
    run.upload_bytes = [bytes = run.upload_bytes(masked)](const federated::client_update&) { return bytes; };
  }
  const federated::broadcast model{run.run, 0, models::shared_parameters(run.parts.down),
                                   federated::first_reference(*run.settings.aggregation, run.parts.shared)};
  run.download_bytes = encoded_size(model, scheme.numbers) + encoded_size(federated::task_id{});
  for (const auto& group : run.groups)  // a client receives its own row
    for (std::size_t i = 0; group.clients > 0 && i < group.count(); ++i) {
      const auto& spec = (*run.parts.down)[group.in_down + i];
      run.download_bytes -= sizeof(float) * (spec.size() - spec.cols);
    }
}

void plan_traffic(federated::experiment& run) {
  if (!run.upload_bytes) return;
  const auto size_of = [&](std::uint32_t rows) {
    return run.upload_bytes(blank_update(run, run.settings.network->sparse_upload, rows));
  };
  if (!run.settings.network->sparse_upload) {
    run.planned_upload_bytes = [bytes = size_of(0)](std::uint32_t) { return bytes; };
    return;
  }
  constexpr std::uint32_t many = 64;
  const auto none = size_of(0);
  const auto rows = run.clients->facts().features;
  const double per_row = static_cast<double>(size_of(many) - none) / many;
  const bool all_rows = run.settings.algorithm->traits.needs_all_rows;
  const std::uint64_t named = federated::items_per_interaction(run);
  run.planned_upload_bytes = [none, per_row, rows, all_rows, named, who = run.participants](std::uint32_t client) {
    const auto touched =
        all_rows ? rows : std::min<std::uint64_t>(named * who->count(client, federated::part::train), rows);
    return none + static_cast<std::uint64_t>(per_row * static_cast<double>(touched));
  };
}

void meter_frames(federated::experiment& run) {
  if (!run.settings.network->compression.zstd || !run.upload_bytes) return;
  const auto format = format_of(*run.settings.network);
  const auto scheme = packing_of(*run.settings.network);
  const auto encoder = std::make_shared<const wire::encoder>(run.parts.down, run.parts.up);
  run.upload_bytes = [encoder, format, scheme, plain = run.upload_bytes](const federated::client_update& update) {
    const auto frame = encoder->encode(update, format, scheme);
    return frame ? static_cast<std::uint64_t>(frame->size()) : plain(update);
  };
  run.sent_bytes = [encoder, scheme, plain = run.download_bytes](const federated::broadcast& message) {
    const auto frame = encoder->encode(message, scheme);
    return frame ? frame->size() + encoded_size(federated::task_id{}) : plain;
  };
}

}  // namespace furlong::wire
