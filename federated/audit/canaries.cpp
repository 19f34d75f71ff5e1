#include "federated/audit/canaries.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "federated/aggregation/server_view.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/privacy/run_account.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated::privacy {

namespace {

/// Of purpose::canaries: the draws of the canaries, their coins, and the directions of a round.
enum stream_part : std::uint32_t { drawn_clients, coins, coordinates, signs };

constexpr std::size_t fewest_canaries = 8;
constexpr std::uint64_t most_coordinates = 64;  ///< of a direction
constexpr double times_too_long = 16.0;         ///< before it is clipped

/// A bijection of the numbers below `size`, keyed by the seed and a round: x -> factor x + shift.
class scattered {
 public:
  scattered(std::uint64_t seed, std::uint64_t round, std::uint64_t size) : size_(size) {
    random_stream stream(seed, purpose::canaries, static_cast<std::uint32_t>(round), 0, coordinates);
    const auto below = static_cast<std::uint32_t>(size);
    shift_ = stream.below(below);
    do factor_ = 1 + stream.below(below);
    while (std::gcd(factor_, size) != 1);
  }
  [[nodiscard]] std::uint64_t operator()(std::uint64_t x) const { return (factor_ * (x % size_) + shift_) % size_; }

 private:
  std::uint64_t size_;
  std::uint64_t factor_ = 1;
  std::uint64_t shift_ = 0;
};

/// A shared tensor of the model, of which every client can change every value.
struct summed_tensor {
  models::tensor_spec spec;
  std::size_t in_model = 0;   ///< its number
  std::size_t in_shared = 0;  ///< and there
  std::uint64_t begin = 0;    ///< of its values among those of all
};

std::vector<summed_tensor> summed_tensors(const models::partition& parts) {
  std::vector<summed_tensor> all;
  std::uint64_t begin = 0;
  for (const auto t : parts.shared_tensors) {
    const auto& spec = (*parts.model)[t];
    if (spec.index == models::row_index::by_client) continue;  // a client has its own row alone
    all.push_back({spec, t, parts.slots[t].tensor, begin});
    begin += spec.size();
  }
  return all;
}

class canary_algorithm final : public algorithm, public canaries {
 public:
  canary_algorithm(const experiment& e, const mechanism& claim, std::vector<std::uint32_t> clients)
      : real_(e.settings.algorithm->does),
        claim_(claim),
        seed_(e.settings.seed),
        clip_(e.settings.privacy->clip),
        bound_(clip_),
        rate_(claim.rate),
        clients_(std::move(clients)),
        judged_(clients_.size()),
        tensors_(summed_tensors(e.parts)),
        size_(tensors_.back().begin + tensors_.back().spec.size()) {
    each_ = std::clamp<std::uint64_t>(size_ / clients_.size(), 1, most_coordinates);
    if (claim.how == sampling::none)
      rate_ = std::min(1.0, static_cast<double>(
                                even_participations(e.settings, e.participants->training().size(), e.settings.rounds)) /
                                static_cast<double>(std::max<std::uint64_t>(e.settings.rounds, 1)));
    random_stream stream(seed_, purpose::canaries, 0, 0, coins);
    for (auto& one : judged_) one.in = stream.below(2) == 1;
  }

  const std::vector<std::uint32_t>& clients() const override { return clients_; }
  const std::vector<judged_canary>& judged() const override { return judged_; }

  std::vector<tensor_group> tensors(const models::model& model, const models::partition& parts) const override {
    return real_->tensors(model, parts);
  }
  bool sends_model() const override { return real_->sends_model(); }
  std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return real_->plan(settings, count);
  }
  std::uint64_t most_weight(const run_settings& settings, std::uint64_t count) const override {
    return real_->most_weight(settings, count);
  }
  bool personalizes_from_examples(const experiment& e, const client_kind& who) const override {
    return real_->personalizes_from_examples(e, who);
  }
  personal_source personalize(personal_task& task, const client_kind& who) const override {
    return real_->personalize(task, who);
  }
  bool score(personal_task& task, const client_kind& who, const models::examples_view& asked,
             models::class_scores& to) const override {
    return real_->score(task, who, asked, to);
  }

  void train(local_task& task) const override {
    const auto at = std::ranges::lower_bound(clients_, task.id().client);
    if (at == clients_.end() || *at != task.id().client) return real_->train(task);
    const auto canary = static_cast<std::size_t>(at - clients_.begin());
    task.count({.examples = task.weights().of->data().size(), .loss_sum = 0.0, .steps = 1});
    if (judged_[canary].in)
      move(task, canary, 1.0);
    else if (claim_.how == sampling::fixed_size)
      move(task, canary, -1.0);
  }

  void step(server_view& server, const aggregate& of) const override {
    judge(server, of);
    bound_ = clip_bound_of(server.e, server.added);  // an adaptive one has moved
    real_->step(server, of);
  }

 private:
  /// Calls each(tensor, row, column, value) for the coordinates of a canary's direction, whose length is 1.
  template <class Each>
  void walk(std::uint64_t round, std::size_t canary, const scattered& place, const Each& each) const {
    random_stream stream(seed_, purpose::canaries, static_cast<std::uint32_t>(round), clients_[canary], signs);
    const double length = 1.0 / std::sqrt(static_cast<double>(each_));
    for (std::uint64_t c = 0; c < each_; ++c) {
      const auto at = place(canary * each_ + c);
      const auto& tensor =
          *std::prev(std::ranges::upper_bound(tensors_, at, {}, [](const summed_tensor& one) { return one.begin; }));
      const auto within = at - tensor.begin;
      each(tensor, static_cast<std::size_t>(within / tensor.spec.cols),
           static_cast<std::size_t>(within % tensor.spec.cols), stream.below(2) == 0 ? length : -length);
    }
  }

  void move(local_task& task, std::size_t canary, double sign) const {
    const auto weights = task.weights();
    const auto rows = weights.of->rows(models::row_index::by_feature);
    std::vector<std::uint32_t> gathered(rows.size());  // global -> local: all rows are gathered
    for (std::uint32_t r = 0; r < rows.size(); ++r) gathered[rows[r]] = r;
    const double length = sign * times_too_long * clip_;
    walk(task.id().version, canary, {seed_, task.id().version, size_},
         [&](const summed_tensor& of, std::size_t row, std::size_t column, double value) {
           if (of.spec.index == models::row_index::by_feature) row = gathered[row];
           weights[of.in_model].row(row)[column] += static_cast<float>(length * value);
         });
  }

  void judge(const server_view& server, const aggregate& of) const {
    const scattered place(seed_, server.version, size_);
    for (std::size_t canary = 0; canary < clients_.size(); ++canary) {
      double along = 0.0;
      walk(server.version, canary, place,
           [&](const summed_tensor& from, std::size_t row, std::size_t column, double value) {
             along += value * of.change.tensor(from.in_shared)[row * from.spec.cols + column];
           });
      along *= static_cast<double>(of.count) / bound_;
      judged_[canary].log_odds += log_odds_of(claim_, rate_, along);
    }
  }

  std::shared_ptr<const algorithm> real_;
  mechanism claim_;
  std::uint64_t seed_;
  double clip_;
  mutable double bound_;  ///< of the round under way
  double rate_;
  std::vector<std::uint32_t> clients_;
  mutable std::vector<judged_canary> judged_;  ///< the server alone writes log odds, step by step
  std::vector<summed_tensor> tensors_;
  std::uint64_t size_;      ///< values of all of them
  std::uint64_t each_ = 1;  ///< coordinates of a direction
};

}  // namespace

double log_odds_of(const mechanism& claim, double rate, double along) {
  const double variance = claim.noise * claim.noise;
  const auto mixed = [&](double exponent) {  // log(1 - rate + rate e^exponent)
    if (rate >= 1.0) return exponent;
    return exponent > 0 ? exponent + std::log(rate + (1.0 - rate) * std::exp(-exponent))
                        : std::log1p(rate * std::expm1(exponent));
  };
  const double in = mixed((2.0 * along - 1.0) / (2.0 * variance));
  return claim.how == sampling::fixed_size ? in - mixed((-2.0 * along - 1.0) / (2.0 * variance)) : in;
}

result<std::shared_ptr<const canaries>> plant_canaries(experiment& e, const mechanism& claim, std::size_t count) {
  const auto refuse = [](std::string where, std::string why, std::string fix) {
    return fail(error::kind::usage, std::move(where), std::move(why), std::move(fix));
  };
  if (!e.settings.algorithm->traits.sends || !e.parts.sends_model || summed_tensors(e.parts).empty())
    return refuse(
        "algorithm.kind",
        "is \"" + e.settings.algorithm->kind + "\": clients send no change of a model that canaries could make",
        "choose an algorithm whose clients do");
  if (e.settings.participation->mode == participation_mode::async)
    return refuse("participation.mode", "is \"async\": a sum mixes updates of several versions, which no canary fits",
                  "audit the scenario with mode = \"sync\"");
  const auto shared = summed_tensors(e.parts);
  if (count == 0) {
    const auto values = shared.back().begin + shared.back().spec.size();
    count = std::min<std::size_t>(e.participants->training().size() / 2, values);
  }
  if (count < fewest_canaries)
    return refuse("--canaries",
                  "is " + std::to_string(count) + ", and fewer than " + std::to_string(fewest_canaries) +
                      " canaries show nothing",
                  "raise it, or audit a scenario with more clients");
  std::vector<std::uint32_t> able;
  for (const auto client : e.participants->training())
    if (e.participants->count(client, part::train) > 0) able.push_back(client);
  if (able.size() < count)
    return refuse("--canaries",
                  "is " + std::to_string(count) + ", and " + std::to_string(able.size()) +
                      " clients train and have examples: canaries take their places",
                  "lower it, or audit a scenario with more clients");
  random_stream stream(e.settings.seed, purpose::canaries, 0, 0, drawn_clients);
  stream.shuffle(std::span(able));
  able.resize(count);
  std::ranges::sort(able);
  auto made = std::make_shared<const canary_algorithm>(e, claim, std::move(able));
  e.settings.algorithm->traits.needs_all_rows = true;
  e.settings.algorithm->does = made;
  e.settings.aggregation->norm_bound = norm_bound_kind::fixed;
  return made;
}

}  // namespace furlong::federated::privacy
