#include "federated/client_work.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "federated/rounding.hpp"
#include "federated/validation.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

/// One task under way: what the algorithms below share.
struct job {
  const experiment& e;
  const broadcast& from;
  const task_id& id;
  workspace& use;
  client_update& out;

  [[nodiscard]] const run_settings& settings() const { return e.settings; }

  void shuffle(std::uint32_t epoch) {
    use.order.resize(use.weights.data().size());
    std::iota(use.order.begin(), use.order.end(), 0U);
    models::random_stream stream(settings().seed, models::purpose::shuffle_examples,
                                 static_cast<std::uint32_t>(id.version), id.client, epoch);
    stream.shuffle(std::span(use.order));
    use.weights.reorder(use.order);
  }

  void cut() {
    cut_batches(0, static_cast<std::uint32_t>(use.weights.data().size()), settings().client.batch_size, use.batches);
  }

  /// The training phase begins: from now on dropout drops.
  void train(std::span<const std::size_t> tensors) {
    use.weights.train_only(tensors);
    use.weights.drop_by(models::random_stream(settings().seed, models::purpose::dropout,
                                              static_cast<std::uint32_t>(id.version), id.client));
  }

  void count(const phase_result& phase, bool weighs) {
    out.examples += phase.examples;
    if (!weighs) return;
    out.weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(out.weight + phase.examples, UINT32_MAX));
    out.loss_sum += phase.loss_sum;
  }
};

models::sgd_options sgd_of(const job& work) {
  const auto& client = work.settings().client;
  float rate = client.lr;
  if (client.schedule == schedule_kind::linear)
    rate *= 1.0F - static_cast<float>(work.id.version) / static_cast<float>(work.settings().rounds);
  return {.rate = rate, .momentum = client.momentum, .proximal = client.proximal};
}

/// Local SGD on `tensors` for all epochs, reshuffled in each when asked.
void local_epochs(job& work, std::span<const std::size_t> tensors) {
  const auto& client = work.settings().client;
  work.train(tensors);
  if (!client.shuffle) {
    work.cut();
    work.count(run_batches(work.use.weights, work.use.batches, client.epochs, client.max_steps, sgd_of(work)), true);
    return;
  }
  std::uint32_t left = client.max_steps;
  for (std::uint32_t epoch = 0; epoch < client.epochs; ++epoch) {
    if (client.max_steps != 0 && left == 0) return;
    work.shuffle(epoch);
    work.cut();
    work.count(run_batches(work.use.weights, work.use.batches, 1, left, sgd_of(work)), true);
    left -= std::min(left, static_cast<std::uint32_t>(work.use.batches.size()));
  }
}

void train_shared(job& work) { local_epochs(work, work.e.parts.all_tensors); }

void train_one_gradient(job& work) {
  work.train(work.e.parts.all_tensors);
  const batch_range everything{0, static_cast<std::uint32_t>(work.use.weights.data().size())};
  work.count(run_batches(work.use.weights, {&everything, 1}, 1, 1, sgd_of(work)), true);
}

void train_furl(job& work, bool has_own) {
  if (!has_own && work.settings().own.cold_start == cold_start_kind::reconstruct) {
    const auto& how = work.settings().reconstruction;
    deal_batches(work.use, work.settings().client.batch_size, false, how);
    work.count(reconstruct(*work.e.model, work.use.weights, work.e.parts.private_tensors, work.use.support, how,
                           work.use.solver),
               false);
  }
  train_shared(work);
}

void train_fedrecon(job& work) {
  const auto& client = work.settings().client;
  const auto& how = work.settings().reconstruction;
  auto& use = work.use;
  if (client.shuffle) work.shuffle(0);
  deal_batches(use, client.batch_size, how.split, how);
  work.count(reconstruct(*work.e.model, use.weights, work.e.parts.private_tensors, use.support, how, use.solver),
             false);
  work.train(how.joint ? work.e.parts.all_tensors : work.e.parts.shared_tensors);
  work.count(run_batches(use.weights, use.query, client.epochs, client.max_steps, sgd_of(work)), true);
}

/// The whole update, every tensor together, scaled to an L2 norm of at most `bound`.
void clip(models::delta& change, double bound) {
  const double norm = std::sqrt(models::kernels().norm_squared(change.values.data(), change.values.size()));
  if (norm <= bound) return;
  const auto factor = static_cast<float>(bound / norm);
  for (auto& value : change.values) value *= factor;
}

/// FedAtt eq. 6: beta N(0, 1) on every element, so that the update becomes dense.
void add_client_noise(const job& work) {
  auto& change = work.out.change;
  change = models::to_dense(change);
  models::random_stream stream(work.settings().seed, models::purpose::client_noise,
                               static_cast<std::uint32_t>(work.id.version), work.id.client);
  const auto scale = static_cast<float>(work.settings().aggregation.noise);
  for (auto& value : change.values) value += scale * stream.normal();
}

/// @param loss not finite: the update is to be refused
void no_change(const experiment& e, double loss, client_update& out) {
  out.weight = 0;
  out.loss_sum = loss;
  out.change = {e.parts.shared, {}, {}, {}};
  for (const auto& spec : e.parts.shared->tensors()) {
    out.change.pieces.push_back({spec.index != models::row_index::none, 0, 0, out.change.values.size()});
    if (spec.index == models::row_index::none) out.change.values.resize(out.change.values.size() + spec.size(), 0.0F);
  }
}

bool is_beyond(const experiment& e, const client_update& update, const update_limits& limits) {
  const update_bounds bounds{.limits = limits};
  return validate(update, *e.parts.shared, e.settings.aggregation, bounds).has_value();
}

void run_algorithm(job& work, bool has_own) {
  switch (work.settings().algorithm) {
    case algorithm_kind::fedsgd: return train_one_gradient(work);
    case algorithm_kind::fedavg:
    case algorithm_kind::centralized: return train_shared(work);
    case algorithm_kind::furl: return train_furl(work, has_own);
    case algorithm_kind::fedrecon: return train_fedrecon(work);
  }
}

}  // namespace

void deal_batches(workspace& use, std::uint32_t batch_size, bool split, const reconstruction_settings& how) {
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

bool is_stateful(algorithm_kind kind) { return kind == algorithm_kind::furl; }

bool client_work(const experiment& e, const broadcast& model, const task_id& id, bool has_own, workspace& use,
                 client_update& out) {
  const bool stateful = is_stateful(e.settings.algorithm);
  out.id = id;
  out.weight = 0;
  out.examples = 0;
  out.loss_sum = 0.0;
  if (use.own.shape() != e.parts.private_) use.own = models::private_parameters(e.parts.private_);
  if (!stateful || !has_own)
    initial_private(e, stateful ? 0 : static_cast<std::uint32_t>(id.version), id.client, use.own);

  const auto data = e.participants->load(id.client, part::train, use.data);
  use.weights.gather(*e.model, e.parts, model.model, use.own, data, id.client);
  job work{e, model, id, use, out};
  if (data.size() > 0) run_algorithm(work, has_own);
  constexpr double diverged = std::numeric_limits<double>::quiet_NaN();
  if (out.weight == 0 || !use.weights.finite()) {
    no_change(e, out.weight == 0 ? 0.0 : diverged, out);
    return false;
  }
  use.weights.difference(model.model, out.change);
  if (e.settings.privacy.clip > 0) clip(out.change, e.settings.privacy.clip);
  const auto& rule = e.settings.aggregation;
  if (rule.noise > 0 && rule.noise_at == noise_place::client) add_client_noise(work);
  if (!round_update(e, id, use.own, out.change)) {
    no_change(e, diverged, out);
    return false;
  }
  // An update that is sure to be refused comes of a training that went wrong: what it did to private values is not
  // kept.
  if (!stateful || is_beyond(e, out, model.limits)) return false;
  use.weights.copy_private(use.own);
  return true;
}

}  // namespace furlong::federated
