// FedProto. Tan et al.: FedProto: federated prototype learning across heterogeneous clients, AAAI 2022, algorithm 1.
//
//   client k keeps a model of its own, and minimises its loss + lambda mean_i |z_i - C_j|^2 / 2, j the class of example
//     i and z_i its features; it sends the sum of the features of each class, and how many they are
//   server: the prototype C_j is the mean of the features of all examples of class j (eq. 6); behind it 1, or 0: none
#include "federated/aggregation/server_view.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "models/feature_model.hpp"
#include "parts.hpp"

namespace parts {

namespace {

using namespace furlong::federated;
using namespace furlong::models;
enum : std::size_t { own, prototypes, sums };  // groups

class fedproto final : public algorithm {
 public:
  explicit fedproto(const furlong::option_values& options) : lambda_(static_cast<float>(options.number("lambda"))) {}
  std::vector<tensor_group> tensors(const model& model, const partition& parts) const override {
    const auto& with = dynamic_cast<const feature_model&>(model);
    const std::vector<tensor_spec> specs{{"classes", with.classes(), with.width() + 1}};
    return {{.name = "own", .copies_of = parts.all_tensors, .first = first_value::received},
            {.name = "prototypes", .where = place::broadcast, .specs = specs},
            {.name = "sums", .where = place::report, .specs = specs, .rule = sum_rule::sum}};
  }
  bool sends_model() const override { return false; }
  std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto& all = task.parts().all_tensors;
    const auto loop = task.client_loop();
    const auto w = task.weights();
    assign(w, task.group(own), all);
    task.count(task.each_batch(loop, [&](const examples_view& batch) {
      const auto pull = [&](const tensor_view& z, const tensor_view& d_z) {
        double loss = 0.0;
        for (std::size_t i = 0; i < z.size(); ++i) {
          const float* prototype = task.tensor(prototypes).row(class_of(batch, i / z.cols));
          const float away = prototype[z.cols] * (z.data[i] - prototype[i % z.cols]);
          loss += 0.5 * static_cast<double>(lambda_ * away * away);
          d_z.data[i] += lambda_ * away / static_cast<float>(z.rows);
        }
        return loss;
      };
      const double loss = task.gradient(batch, w, all, task.scratch(0), pull);
      add(w, -loop.step.rate, task.scratch(0), all);
      return loss;
    }));
    assign(task.group(own), w, all);
    const auto width = task.feature_model().width();
    std::vector<float> z(task.examples().size() * width);
    task.features(task.examples(), w, z);
    for (std::size_t i = 0; i < task.examples().size(); ++i) {
      float* sum = task.reported(sums, 0).row(class_of(task.examples(), i));
      for (std::size_t j = 0; j < width; ++j) sum[j] += z[i * width + j];
      sum[width] += 1.0F;
    }
  }
  void step(server_view& server, const aggregate& round) const override {
    const auto values = server.reported(round, sums);
    for (std::size_t i = 0, cols = server.e.groups[sums].specs[0].cols; i < values.size(); ++i)
      if (const float count = values[i - i % cols + cols - 1]; count > 0)
        server.tensor(prototypes)[i] = values[i] / count;
  }
  personal_source personalize(personal_task& task, const client_kind& client) const override {
    if (!client.has_state) return personal_source::initial;
    return assign(task.weights(), task.group(own), task.parts().all_tensors), personal_source::stored;
  }

 private:
  float lambda_;
};

}  // namespace

algorithm_entry fedproto_entry() {
  return {.kind = "fedproto",
          .doc = "Models of the clients' own, whose features of a class are pulled together (Tan et al. 2022).",
          .options = {number("lambda", 0.1, "Weight of the distance to the prototypes.")},
          .traits = {.keeps_state = true, .needs_features = true, .mixes = false, .own_loop = own_loop_use::unused},
          .build = build<fedproto>};
}

}  // namespace parts
