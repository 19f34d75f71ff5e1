// Federated alternating least squares on implicit feedback. Loss: Hu, Koren, Volinsky, ICDM 2008, as in Rendle,
// Krichene, Zhang, Koren: Revisiting the performance of iALS on item recommendation benchmarks, RecSys 2022. With S the
// interactions, U users, I items, n_u and n_i the interactions of a user and of an item:
//
//   sum over S (1 - <x_u, y_i>)^2  +  alpha sum over all (u, i) <x_u, y_i>^2
//     +  ridge sum over u (n_u + alpha I) |x_u|^2  +  ridge sum over i (n_i + alpha U) |y_i|^2
//
// It draws no negatives: the second sum is of all items, and needs of them only their Gram matrix. In a round
//
//   server sends Y and G = Y'Y
//   client u solves    (sum over its items y y' + alpha G + ridge (n_u + alpha I) E) x = sum y
//     and reports of each of its items A_i = x x', b_i = x, n_i = 1, and of itself H = x x', N = 1
//   server adds up     S <- gamma S + the sums of the round, all five alike, and solves for each item
//                      (A_i + alpha H + ridge (n_i + alpha N) E) y_i = b_i
//
// With all clients gamma is 0, and a round is one sweep of the central algorithm. With fewer, S has sums of older
// rounds; as all five decay alike, both sides of the equations scale alike, and nothing is to be corrected by the share
// of clients. An item that nobody has is 0. Under privacy.noise a client's sums are clipped together, and the matrix of
// an item is projected (Chien et al.: Private alternating least squares, ICML 2021).
//
// ials-differences: a client keeps its last x and reports the difference of its sums, so that the server has the exact
// sums over all clients that have reported, each with its newest x.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "federated/aggregation/server_view.hpp"
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/settings.hpp"
#include "models/normal_equations.hpp"

namespace furlong::federated {

namespace {

enum : std::size_t { gram, of_round, running };  // groups
enum : std::size_t { of_items, of_all };         // tensors of the last two: A, b, n by item; H, N

/// Values of the lower half of a symmetric matrix.
constexpr std::size_t half_of(std::size_t p) { return p * (p + 1) / 2; }

/// The tensors that are solved for: the user's vector, private, and the items' rows, shared, of one length.
struct factors {
  std::size_t user = 0;
  std::size_t item = 0;
  std::size_t rank = 0;
  std::uint32_t items = 0;
};

std::optional<factors> factors_of(const models::partition& parts) {
  if (parts.private_tensors.size() != 1 || parts.shared_tensors.size() != 1) return std::nullopt;
  const auto user = parts.private_tensors.front();
  const auto item = parts.shared_tensors.front();
  const auto& own = (*parts.model)[user];
  const auto& shared = (*parts.model)[item];
  if (own.rows != 1 || own.cols != shared.cols || shared.index != models::row_index::by_feature) return std::nullopt;
  return factors{user, item, shared.cols, shared.rows};
}

factors needed_factors(const models::partition& parts) {
  if (const auto found = factors_of(parts)) return *found;
  throw std::logic_error("ials needs a model of a private vector and of shared rows of items, of one length");
}

/// sums += factor x x', the lower half by rows.
void add_square(std::span<float> sums, std::span<const float> x, float factor) {
  auto next = sums.begin();
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t j = 0; j <= k; ++j) *next++ += factor * x[k] * x[j];
}

/// The sums of one item: A += factor x x', b += factor x, n += count.
void add_item(std::span<float> sums, std::span<const float> x, float factor, float count) {
  const auto half = half_of(x.size());
  add_square(sums.first(half), x, factor);
  for (std::size_t k = 0; k < x.size(); ++k) sums[half + k] += factor * x[k];
  sums.back() += count;
}

void write_gram(std::span<const float> rows, std::size_t rank, std::span<float> products) {
  std::vector<double> sums(half_of(rank), 0.0);
  for (std::size_t row = 0; row < rows.size(); row += rank) {
    auto next = sums.begin();
    for (std::size_t k = 0; k < rank; ++k)
      for (std::size_t j = 0; j <= k; ++j) *next++ += static_cast<double>(rows[row + k]) * rows[row + j];
  }
  std::ranges::transform(sums, products.begin(), [](double sum) { return static_cast<float>(sum); });
}

/// The calling thread's memory for a client's equations.
struct user_equations {
  std::vector<float> sums;
  std::vector<float> before;
  models::normal_equations_scratch scratch;
};
user_equations& thread_equations() {
  thread_local user_equations memory;
  return memory;
}

class implicit_als final : public algorithm {
 public:
  implicit_als(const option_values& options, bool differences)
      : alpha_(options.number("alpha")), ridge_(options.number("ridge")), differences_(differences) {
    if (!differences && options.has("gamma")) gamma_ = options.number("gamma");
  }

  [[nodiscard]] std::vector<tensor_group> tensors(const models::model&, const models::partition& parts) const override {
    const auto solved = factors_of(parts);
    if (!solved) return {};
    const auto half = static_cast<std::uint32_t>(half_of(solved->rank));
    const auto size = static_cast<std::uint32_t>(models::normal_equations_size(solved->rank));
    const std::vector<models::tensor_spec> sums = {{"items", solved->items, size, models::row_index::by_feature},
                                                   {"all", 1, half + 1}};
    return {{.name = "gram", .where = place::broadcast, .specs = {{"items", 1, half}}, .exact = true},
            {.name = "round", .where = place::report, .specs = sums, .rule = sum_rule::sum, .max_norm = 65536.0},
            {.name = "running", .where = place::server, .specs = sums}};
  }
  [[nodiscard]] bool sends_model() const override { return false; }
  void set_first_values(const experiment& run, const models::shared_parameters& model,
                        models::shared_parameters& added) const override {
    const auto solved = needed_factors(run.parts);
    write_gram(model.tensor(run.parts.slots[solved.item].tensor), solved.rank,
               added.tensor(run.groups[gram].in_server));
  }
  [[nodiscard]] std::uint64_t plan(const run_settings&, std::uint64_t count) const override { return count; }
  [[nodiscard]] std::uint64_t most_weight(const run_settings&, std::uint64_t count) const override { return count; }

  void train(local_task& task) const override {
    const auto solved = needed_factors(task.parts());
    const bool has_reported = differences_ && task.has_state();
    const auto user = task.weights()[solved.user];
    auto& before = thread_equations().before;
    before.assign(user.data, user.data + user.size());
    solve_user(task, solved);

    const std::span<const float> x(user.data, user.size());
    const float count = has_reported ? 0.0F : 1.0F;
    const auto sums = task.reported(of_round, of_items);
    const auto own = task.reported(of_round, of_all);
    double loss = 0.0;
    for (const auto row : task.examples().features) {
      const std::span item(sums.row(row), sums.cols);
      add_item(item, x, 1.0F, count);
      if (has_reported) add_item(item, before, -1.0F, 0.0F);
      const double miss = 1.0 - product(x, task.weights()[solved.item].row(row));
      loss += miss * miss;
    }
    add_square({own.data, half_of(x.size())}, x, 1.0F);
    if (has_reported) add_square({own.data, half_of(x.size())}, before, -1.0F);
    own.data[half_of(x.size())] += count;
    task.count({.examples = task.examples().size(), .loss_sum = loss});
  }

  void step(server_view& server, const aggregate& round) const override {
    const auto& parts = server.e.parts;
    const auto solved = needed_factors(parts);
    const double absent = 1.0 - static_cast<double>(round.count) / static_cast<double>(server.training_clients());
    const auto gamma = static_cast<float>(differences_ ? 1.0 : gamma_.value_or(std::max(absent, 0.0)));
    for (const auto tensor : {of_items, of_all}) {
      const auto sums = server.tensor(running, tensor);
      const auto reported = server.reported(round, of_round, tensor);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = gamma * sums[i] + reported[i];
    }
    const auto rows = server.model.tensor(parts.slots[solved.item].tensor);
    solve_items(solved, server.tensor(running, of_items), server.tensor(running, of_all),
                server.e.settings.privacy->noise > 0, rows);
    write_gram(rows, solved.rank, server.tensor(gram));
  }

  [[nodiscard]] bool personalizes_from_examples(const experiment&, const client_kind&) const override { return true; }
  /// By the newest items, also of a client that keeps the x of its last report.
  personal_source personalize(personal_task& task, const client_kind& kind) const override {
    if (!task.has_examples()) return kind.has_state ? personal_source::stored : personal_source::initial;
    solve_user(task, needed_factors(task.parts()));
    return personal_source::reconstructed;
  }

 private:
  static double product(std::span<const float> x, const float* row) {
    double sum = 0.0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += static_cast<double>(x[k]) * row[k];
    return sum;
  }

  /// Sets the user's vector to the solution from the task's examples; stays if rounding prevents one.
  void solve_user(local_values& task, const factors& solved) const {
    auto& [sums, before, scratch] = thread_equations();
    sums.assign(models::normal_equations_size(solved.rank), 0.0F);
    const auto items = task.weights()[solved.item];
    for (const auto row : task.examples().features) models::add_example(sums, {items.row(row), items.cols}, 1.0F);
    add_gram(sums, task.tensor(gram).data, solved.rank);
    const auto x = models::solve(sums, solved.rank, ridge_ * alpha_ * solved.items, ridge_, scratch);
    std::ranges::transform(x, task.weights()[solved.user].data, [](double value) { return static_cast<float>(value); });
  }

  /// The matrix of normal equations += alpha times another one.
  void add_gram(std::span<float> sums, const float* of_others, std::size_t rank) const {
    const auto alpha = static_cast<float>(alpha_);
    for (std::size_t i = 0; i < half_of(rank); ++i) sums[i] += alpha * of_others[i];
  }

  void solve_items(const factors& solved, std::span<const float> sums, std::span<const float> of_users, bool noisy,
                   std::span<float> rows) const {
    const auto size = models::normal_equations_size(solved.rank);
    const double users = std::max(static_cast<double>(of_users.back()), 1.0);  // below only with noise
    std::vector<float> equations;
    models::normal_equations_scratch scratch;
    for (std::size_t item = 0; item < solved.items; ++item) {
      const auto own = sums.subspan(item * size, size);
      equations.assign(own.begin(), own.end());
      add_gram(equations, of_users.data(), solved.rank);
      const auto solve = noisy ? models::solve_noisy : models::solve;
      const auto row = solve(equations, solved.rank, ridge_ * alpha_ * users, ridge_, scratch);
      std::ranges::transform(row, rows.subspan(item * solved.rank).begin(),
                             [](double value) { return static_cast<float>(value); });
    }
  }

  double alpha_;
  double ridge_;
  std::optional<double> gamma_;  ///< none: by the share of clients that reported
  bool differences_;
};

void check(scenario_view& scenario) {
  scenario.note(
      "anyone who sees a single update of ials can compute the client's interactions and private vector from it: only "
      "privacy.secure_aggregation hides both");
  for (const std::string name : {"user_bias", "item_bias", "mean", "user_table"})
    if (const auto key = "model." + name; scenario.is_good(key) && scenario.given().flag(key))
      scenario.report(key, "is set, and ials solves for one vector of each user and each item alone", "remove it");
  if (scenario.is_changed("algorithm.aggregation.max_norm"))
    scenario.note("algorithm.aggregation.max_norm has no effect: the sums of ials have a bound of their own");
  if (const std::string noise = "algorithm.aggregation.noise";
      scenario.is_good(noise) && scenario.given().number(noise) > 0.0)
    scenario.report(noise, "would be added to equations, which then may have no solution", "use privacy.noise");
  for (const std::string name : {"solver", "lr", "epochs", "max_steps", "batch_size", "ridge", "ridge_per_example"})
    if (const auto key = "algorithm.reconstruction." + name; scenario.is_changed(key))
      scenario.note(key + " has no effect: ials solves for a user's vector by its own alpha and ridge");
}

algorithm_entry entry_of(std::string kind, std::string doc, bool differences) {
  algorithm_entry entry;
  entry.kind = std::move(kind);
  entry.doc = std::move(doc);
  entry.options = {{.name = "alpha",
                    .fallback = 0.5,
                    .doc = "Weight of the squared score of every item, of all users and items.",
                    .at_least = 0,
                    .above = true},
                   {.name = "ridge",
                    .fallback = 0.003,
                    .doc = "Weight of the squared vectors, times the interactions of the user or item, with alpha for "
                           "each other pair.",
                    .at_least = 0,
                    .above = true}};
  if (!differences)
    entry.options.push_back(
        {.name = "gamma",
         .doc = "Factor of earlier sums in each round. Default: 1 - the share of clients that reported.",
         .at_least = 0,
         .at_most = 1});
  entry.traits = {.private_tensors = private_use::required,
                  .start = private_start::per_task,
                  .keeps_state = differences,
                  .exact_state = differences,
                  .reconstructs = !differences,
                  .affine_rows = true,
                  .implicit = true,
                  .negatives = false,
                  .steps = false,
                  .mixes = false,
                  .own_loop = own_loop_use::refused,
                  .defaults = {{"network.upload", std::string("sparse")}}};
  if (differences) {
    entry.traits.erase_note = entry.kind + "/running still has the sums of its last report";
    entry.traits.defaults.emplace_back("private.commit", std::string("after-ack"));
  }
  entry.fixed = {{"algorithm.aggregation.rule", "uniform-mean", "the sums of ials have a rule of their own"}};
  entry.check = check;
  entry.build = [differences](const option_values& options) -> result<std::shared_ptr<const algorithm>> {
    return std::make_shared<const implicit_als>(options, differences);
  };
  return entry;
}

}  // namespace

algorithm_entry ials_entry() {
  return entry_of("ials",
                  "Alternating least squares on implicit feedback: clients solve for their vectors, the server for the "
                  "items, from decaying sums; no negatives are drawn (Hu et al. 2008).",
                  false);
}

algorithm_entry ials_differences_entry() {
  return entry_of("ials-differences",
                  "ials, and each client keeps its vector and reports the difference of its sums: the server has the "
                  "exact sums over all clients that have reported.",
                  true);
}

}  // namespace furlong::federated
