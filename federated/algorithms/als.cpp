// Federated alternating least squares (Chien et al.: Private alternating least squares, ICML 2021, algorithm 1).
// `ridge_per_rating` is from Zhou et al., ALS-WR, AAIM 2008.
//
//   client k, from the items' rows v:  reconstruct its private values by least squares on all of its examples
//     for `rows` of its examples, of item i, with prediction = o + <x, v_i>: A_i += x x';  b_i += (y - o) x;  n_i += 1
//   client k sends the sums A, b, n of its items
//   server:  S <- gamma S + the sums of the round
//            v_i <- (A_i + (ridge + ridge_per_rating n_i) I)^-1 b_i, from S, for every item
//
// With all clients gamma is 0, and this is ALS. Else S has sums from older rows; by default gamma is 1 - the share of
// the clients that reported, so that S weighs as much as all of them. Shared tensors without rows keep their values.
// Under privacy.noise a client's sums are clipped together (in the paper x and y are), and A_i is projected.
#include <algorithm>
#include <utility>

#include "federated/aggregation/server_view.hpp"
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "models/normal_equations.hpp"

namespace furlong::federated {

namespace {

enum : std::size_t { of_round, running };  // groups

/// The tensors that are solved for: shared ones with rows for items.
struct solved_rows {
  explicit solved_rows(const models::partition& parts) {
    for (const auto t : parts.shared_tensors)
      if (const auto& spec = (*parts.model)[t]; spec.index == models::row_index::by_feature) {
        tensors.push_back(t);
        items = spec.rows;
        values += spec.cols;
      }
  }
  std::vector<std::size_t> tensors;
  std::size_t values = 0;  ///< of an item, in all of them
  std::uint32_t items = 0;
};

class als final : public algorithm {
 public:
  explicit als(option_values options) : options_(std::move(options)) {}

  [[nodiscard]] std::vector<tensor_group> tensors(const models::model&, const models::partition& parts) const override {
    const solved_rows solved(parts);
    if (solved.items == 0) return {};
    const auto size = static_cast<std::uint32_t>(models::normal_equations_size(solved.values));
    const models::tensor_spec sums{"sums", solved.items, size, models::row_index::by_feature};
    return {{.name = "round", .where = place::report, .specs = {sums}, .rule = sum_rule::sum, .max_norm = 65536.0},
            {.name = "running", .where = place::server, .specs = {sums}}};
  }
  [[nodiscard]] bool sends_model() const override { return false; }
  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return reconstruction_examples(count, settings) + examples_in(count, sums_loop_);
  }
  [[nodiscard]] std::uint64_t most_weight(const run_settings&, std::uint64_t count) const override {
    return examples_in(count, sums_loop_);
  }

  void train(local_task& task) const override {
    task.split_support(false);
    task.count_unweighted(task.reconstruct(task.parts().private_tensors));
    const solved_rows solved(task.parts());
    const std::span x(task.scratch(0).data, solved.values);
    const auto sums = task.tensor(of_round);
    task.count(task.each_batch(sums_loop_, [&](const models::examples_view& example) {
      float offset = 0.0F;
      task.affine_design(example, solved.tensors, x, {&offset, 1});
      models::add_example({sums.row(example.features[0]), sums.cols}, x, example.labels[0] - offset);
      task.affine_design(example, {}, {}, {&offset, 1});  // nothing is free: the prediction
      const double error = example.labels[0] - offset;
      return error * error;
    }));
  }

  void step(server_view& server, const aggregate& of) const override {
    const auto sums = server.tensor(running);
    const auto reported = server.reported(of, of_round);
    const double others = 1.0 - static_cast<double>(of.count) / static_cast<double>(server.training_clients());
    const auto gamma = static_cast<float>(options_.has("gamma") ? options_.number("gamma") : std::max(others, 0.0));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = gamma * sums[i] + reported[i];

    const auto& parts = server.e.parts;
    const solved_rows solved(parts);
    const auto size = models::normal_equations_size(solved.values);
    const auto solve = server.e.settings.privacy->noise > 0 ? models::solve_noisy : models::solve;
    models::normal_equations_scratch scratch;
    for (std::size_t item = 0; item < solved.items; ++item) {
      const auto row = solve(sums.subspan(item * size, size), solved.values, options_.number("ridge"),
                             options_.number("ridge_per_rating"), scratch);
      if (row.empty()) continue;
      const double* value = row.data();
      for (const auto t : solved.tensors) {
        const std::size_t cols = (*parts.model)[t].cols;
        for (auto& to : server.model.tensor(parts.slots[t].tensor).subspan(item * cols, cols))
          to = static_cast<float>(*value++);
      }
    }
  }

 private:
  option_values options_;
  std::uint32_t rows_ = static_cast<std::uint32_t>(options_.integer("rows"));
  local_loop sums_loop_ = {.max_steps = rows_, .batch_size = 1, .shuffle = rows_ > 0};
};

constexpr auto ridge_doc = "Ridge of an item's row, against summed squared errors.";
constexpr auto per_rating_doc = "Added to `ridge` for each rating of the item, decayed by `gamma`.";
constexpr auto rows_doc = "Most examples of a client in its sums, drawn at random; 0: all.";
constexpr auto gamma_doc = "Factor of earlier sums in each round. Default: 1 - the share of clients that reported.";

void check(scenario_view& of) {
  of.note("anyone who sees a single update of als can compute the client's ratings and private values from it");
  if (of.is_changed("algorithm.aggregation.max_norm"))
    of.note("algorithm.aggregation.max_norm has no effect: the sums of als have a bound of their own");
  if (const std::string noise = "algorithm.aggregation.noise"; of.is_good(noise) && of.given().number(noise) > 0.0)
    of.report(noise, "would be added to equations, which then may have no solution", "use privacy.noise");
}

}  // namespace

algorithm_entry als_entry() {
  return {
      .kind = "als",
      .doc = "Alternating least squares: clients solve for private tensors, the server for items (Chien et al. 2021).",
      .options = {{.name = "ridge", .fallback = 2.0, .doc = ridge_doc, .at_least = 0, .above = true},
                  {.name = "ridge_per_rating", .fallback = 0.05, .doc = per_rating_doc, .at_least = 0},
                  {"rows", option_type::integer, std::int64_t{0}, rows_doc, 0, 1e9},
                  {.name = "gamma", .doc = gamma_doc, .at_least = 0, .at_most = 1}},
      .traits = {.private_tensors = private_use::required,
                 .start = private_start::per_task,
                 .reconstructs = true,
                 .affine_rows = true,
                 .steps = false,
                 .mixes = false,
                 .own_loop = own_loop_use::refused,
                 .defaults = {{"algorithm.reconstruction.solver", std::string("least-squares")},
                              {"algorithm.reconstruction.ridge", 5.0},
                              {"network.upload", std::string("sparse")}}},
      .fixed = {{"algorithm.aggregation.rule", "uniform-mean", "the sums of als have a rule of their own"}},
      .check = check,
      .build = [](const option_values& options) -> result<std::shared_ptr<const algorithm>> {
        return std::make_shared<const als>(options);
      }};
}

}  // namespace furlong::federated
