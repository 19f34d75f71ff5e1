#include "federated/client/client_work.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "federated/aggregation/contracts.hpp"
#include "federated/attack/client_attack.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/quantized_traffic.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "models/kernels/kernels.hpp"
#include "models/work_scope.hpp"

namespace furlong::federated {

namespace {

/// FedAtt eq. 6: beta N(0, 1) on every element, so that the update becomes dense.
void add_client_noise(const run_settings& settings, const task_id& id, models::delta& change) {
  change = models::to_dense(change);
  random_stream stream(settings.seed, purpose::client_noise, static_cast<std::uint32_t>(id.version), id.client);
  const auto scale = static_cast<float>(settings.aggregation->noise);
  for (auto& value : change.values) value += scale * stream.normal();
}

/// @param loss not finite: the update is to be refused
void no_change(const experiment& e, double loss, client_update& out) {
  out.weight = 0;
  out.loss_sum = loss;
  out.change = {e.parts.up, {}, {}, {}};
  for (const auto& spec : e.parts.up->tensors()) {
    out.change.pieces.push_back({spec.index != models::row_index::none, 0, 0, out.change.values.size()});
    if (spec.index == models::row_index::none) out.change.values.resize(out.change.values.size() + spec.size(), 0.0F);
  }
}

bool is_beyond(const experiment& e, const client_update& update, const update_limits& limits) {
  const update_bounds bounds{.limits = limits, .groups = e.groups};
  return validate(update, *e.parts.up, *e.settings.aggregation, bounds).has_value();
}

}  // namespace

void assign_batches(workspace& use, std::uint32_t batch_size, bool split, const reconstruction_settings& how) {
  const auto n = static_cast<std::uint32_t>(use.weights.data().size());
  cut_batches(0, n, batch_size, use.batches);
  if (split) {
    split_batches(use.batches, use.support, use.query);
  } else {
    use.support = use.batches;
    use.query = use.batches;
  }
  if (how.batch_size == 0) return;
  std::uint32_t supported = n;
  if (split) {
    use.order.clear();
    const auto list = [&](std::span<const batch_range> batches) {
      for (const auto& batch : batches)
        for (auto i = batch.first; i < batch.last; ++i) use.order.push_back(i);
    };
    list(use.support);
    supported = static_cast<std::uint32_t>(use.order.size());
    list(use.query);
    use.weights.reorder(use.order);
    cut_batches(supported, n, batch_size, use.query);
  }
  cut_batches(0, supported, how.batch_size, use.support);
}

bool trains_if_discarded(const run_settings& settings) {
  return settings.algorithm->traits.keeps_state && settings.own->commit == commit_kind::after_training;
}

bool stages_values(const run_settings& settings) {
  return settings.algorithm->traits.exact_state && settings.own->commit == commit_kind::after_ack;
}

bool client_work(const experiment& e, const broadcast& model, const task_id& id, bool has_own, workspace& use,
                 client_update& out) {
  const models::work_scope scope(models::work_kind::training, id.version);
  const auto& [kind, traits, algorithm] = *e.settings.algorithm;
  out.id = id;
  out.weight = 0;
  out.examples = 0;
  out.loss_sum = 0.0;
  if (use.own.shape() != e.parts.private_) use.own = models::private_parameters(e.parts.private_);
  has_own = has_own && traits.keeps_state;
  const auto drawn_at = traits.start == private_start::per_task ? static_cast<std::uint32_t>(id.version) : 0U;
  if (!has_own) initial_private(e, drawn_at, id.client, use.own);

  models::examples poisoned;  // by an attack
  auto data = attacked_examples(e, id, e.participants->load(id.client, part::train, use.data), poisoned);
  use.per_interaction = 1;
  if (draws_negatives(e) && data.size() > 0) {
    const auto interactions = data.size();
    data = with_negatives(e, {static_cast<std::uint32_t>(id.version), id.client}, data, use.negatives);
    use.per_interaction = std::max<std::size_t>(data.size() / interactions, 1);
  }
  use.weights.gather(*e.model, e.parts, model.model, use.own, data, id.client, traits.needs_all_rows);
  local_task task(e, model, use, out, has_own);
  if (data.size() > 0) {
    if (starts_cold(e, has_own)) task.start_cold();
    ask_algorithm(e, "in the training of client", id.client, [&task, does = algorithm.get()] {
      does->train(task);
      if (!task.is_weighed())
        throw std::logic_error("train() gave the update no weight: call count() or weigh() of the task");
    });
  }
  constexpr double diverged = std::numeric_limits<double>::quiet_NaN();
  if (out.weight == 0 || !task.finite()) {
    no_change(e, out.weight == 0 ? 0.0 : diverged, out);
    return false;
  }
  use.weights.difference(model.model, out.change);
  task.append_reported(out.change);
  attack_update(e, id, model.limits, out.change);
  clip_update(e, model.model, out.change);
  const auto& rule = *e.settings.aggregation;
  if (rule.noise > 0 && rule.noise_at == noise_place::client) add_client_noise(e.settings, id, out.change);
  if (!round_update(e, id, model.limits, use.own, out.change)) {
    no_change(e, diverged, out);
    return false;
  }
  // An update that will be rejected comes from failed training: its private values are not kept.
  if (!traits.keeps_state || is_beyond(e, out, model.limits)) return false;
  task.store_kept(use.own);
  use.weights.copy_private(use.own);
  return true;
}

}  // namespace furlong::federated
