// SCAFFOLD. Karimireddy, Kale, Mohri, Reddi, Stich, Suresh: SCAFFOLD: Stochastic controlled averaging for federated
// learning, ICML 2020, algorithm 1 with option II.
//
//   client i, from the model x and the control variate c, with its own c_i (zero at first):
//     y <- x;  K steps  y <- y - eta (grad f_i(y) - c_i + c)
//     c_i' <- c_i - c + (x - y) / (K eta)
//   client i keeps c_i' and sends y - x and c_i' - c_i
//   server: x <- x + lr mean (y - x);  c <- c + (1/N) sum (c_i' - c_i), N all clients
//
// So c is the mean of all c_i, as long as clients keep c_i' only where the server has it: private.commit = "after-ack".
#include "scaffold.hpp"

#include "federated/client/local_task.hpp"
#include "federated/server_view.hpp"

namespace scaffold {

namespace {

using namespace furlong::federated;
namespace models = furlong::models;

enum : std::size_t { control, own_control };  // groups

class scaffold final : public algorithm {
 public:
  [[nodiscard]] std::vector<tensor_group> tensors(const models::model&, const models::partition& parts) const override {
    return {{.name = "c", .where = place::shared, .copies_of = parts.shared_tensors, .rule = sum_rule::sum},
            {.name = "own", .where = place::kept, .copies_of = parts.shared_tensors}};
  }

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto& tensors = task.parts().shared_tensors;
    const auto c = task.group(control);
    const auto own = task.group(own_control);
    const auto loop = task.client_loop();
    const auto phase = task.sgd(tensors, loop, [&](auto, auto gradient) {
      add(gradient, -1.0F, own, tensors);
      add(gradient, 1.0F, c, tensors);
    });
    task.count(phase);
    const auto change = task.reported(control);
    const float per_step = 1.0F / (static_cast<float>(phase.steps) * loop.step.rate);
    add(change, per_step, task.received(), tensors);
    add(change, -per_step, task.weights(), tensors);
    add(change, -1.0F, c, tensors);
    add(own, 1.0F, change, tensors);
  }

  void step(server_view& server, const aggregate& of) const override {
    server.optimize(of.change);
    const auto share = 1.0F / static_cast<float>(server.training_clients());
    for (std::size_t i = 0; i < server.e.groups[control].count(); ++i) {
      const auto sum = server.reported(of, control, i);
      const auto c = server.tensor(control, i);
      for (std::size_t j = 0; j < c.size(); ++j) c[j] += share * sum[j];
    }
  }
};

void check(scenario_view& of) {
  for (const std::string name : {"momentum", "proximal"})
    if (const auto key = "algorithm.client." + name; of.is_changed(key))
      of.report(key, "is set, and the control variates hold for plain steps alone", "remove it");
  const std::string changed =
      "changes what is sent, and clients keep what they computed: c would drift from their mean";
  if (const std::string clip = "privacy.clip"; of.is_good(clip) && of.given().number(clip) > 0)
    of.report(clip, changed, "remove it");
  if (const std::string how = "network.compression";
      of.is_good(how) && of.given().text(how) != "none" && of.given().text(how) != "zstd")
    of.report(how, changed, "write \"none\" or \"zstd\"");
}

}  // namespace

algorithm_entry entry() {
  return {.kind = "scaffold",
          .doc = "SGD whose steps are corrected for how a client differs from the others (Karimireddy et al. 2020).",
          .traits = {.keeps_state = true,
                     .mixes = false,
                     .needs_all_rows = true,  // a row without examples moves by -K eta c
                     .rules = {"uniform-mean"},
                     .defaults = {{"private.commit", std::string("after-ack")},
                                  {"algorithm.aggregation.rule", std::string("uniform-mean")}}},
          .check = check,
          .build = [](const furlong::option_values&) -> furlong::result<std::shared_ptr<const algorithm>> {
            return std::make_shared<const scaffold>();
          }};
}

}  // namespace scaffold
