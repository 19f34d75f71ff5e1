// FedNova. Wang, Liu, Liang, Joshi, Poor: Tackling the objective inconsistency problem in heterogeneous federated
// optimization, NeurIPS 2020, section 4, for local SGD without momentum.
//
//   client k, from the shared parameters x and its own v_k:  K_k steps of SGD on both, to x_k
//   client k keeps v_k, as FURL does, and sends (x_k - x) / K_k and K_k
//   server: x <- x + tau sum_k p_k (x_k - x) / K_k, p_k by examples, with tau = sum_k p_k K_k or effective_steps
//
// Where all clients take as many steps it is FURL.
#include "federated/aggregation/server_view.hpp"
#include "federated/client/local_task.hpp"
#include "parts.hpp"

namespace parts {

namespace {

using namespace furlong::federated;

enum : std::size_t { steps };  // groups

class fednova final : public algorithm {
 public:
  explicit fednova(const furlong::option_values& options)
      : effective_steps_(static_cast<float>(options.number("effective_steps"))) {}

  [[nodiscard]] std::vector<tensor_group> tensors(const furlong::models::model&,
                                                  const furlong::models::partition&) const override {
    return {{.name = "steps",
             .where = place::report,
             .specs = {{"count"}},
             .rule = sum_rule::mean,
             .max_norm = 0x1p20,
             .exact = true}};
  }

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto phase = task.sgd(task.parts().all_tensors, task.client_loop());
    task.count(phase);
    const auto count = static_cast<float>(phase.steps);
    *task.reported(steps, 0).data = count;
    const auto& shared = task.parts().shared_tensors;
    add(task.weights(), -1.0F, task.received(), shared);
    scale(task.weights(), 1.0F / count, shared);
    add(task.weights(), 1.0F, task.received(), shared);
  }

  void step(server_view& server, const aggregate& of) const override {
    const float tau = effective_steps_ > 0 ? effective_steps_ : server.reported(of, steps)[0];
    auto change = of.change;
    for (auto& value : change.values()) value *= tau;
    server.optimize(change);
  }

 private:
  float effective_steps_;  ///< 0: the mean of those taken
};

void check(scenario_view& of) {
  for (const std::string name : {"momentum", "proximal", "optimizer"})
    if (const auto key = "algorithm.client." + name; of.is_changed(key))
      of.report(key, "is set, and an update is divided by its number of plain steps", "remove it");
  if (const std::string clip = "privacy.clip"; of.is_good(clip) && of.given().number(clip) > 0)
    of.report(clip, "shortens all that a client sends, and its number of steps is part of it", "remove it");
}

}  // namespace

algorithm_entry fednova_entry() {
  return {.kind = "fednova",
          .doc = "Updates are divided by their numbers of local steps (Wang et al. 2020).",
          .options = {number("effective_steps", 0.0, "Factor of the mean update; 0: the mean number of local steps.")},
          .traits = {.private_tensors = private_use::required, .keeps_state = true, .async = false, .rules = {"mean"}},
          .check = check,
          .build = build<fednova>};
}

}  // namespace parts
