// The furlong command with a selection policy that breaks its contract in the third round, an algorithm that cannot
// train, a rule that cannot add, and if it is told so with a rule that cannot be registered.
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/participation/policy.hpp"
#include "tools/cli/main.hpp"

namespace {

using namespace furlong::federated;

class broken_policy final : public selection_policy {
 public:
  broken_policy(const experiment& e, const participation_ledger& ledger)
      : sound_(find_policy("uniform")->build(e, ledger)) {}

  std::vector<std::uint32_t> choose(selection& of, const participation_ledger& ledger) override {
    auto chosen = sound_->choose(of, ledger);
    if (of.round == 2) chosen.push_back(1'000'000'000);
    return chosen;
  }

 private:
  std::unique_ptr<selection_policy> sound_;
};

/// FURL that does not train, unless it is told so.
class broken_training final : public algorithm {
 public:
  explicit broken_training(std::shared_ptr<const algorithm> sound) : sound_(std::move(sound)) {}

  std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return sound_->plan(settings, count);
  }
  void train(local_task& task) const override {
    if (std::getenv("TRAIN_SOUNDLY") == nullptr) throw std::runtime_error("no idea how to train");
    sound_->train(task);
  }

 private:
  std::shared_ptr<const algorithm> sound_;
};

/// The uniform mean of updates that count one example: those with which a rule is tried when a run is opened.
class broken_sums final : public aggregation_rule {
 public:
  explicit broken_sums(std::unique_ptr<aggregation_rule> sound) : sound_(std::move(sound)) {}

  [[nodiscard]] std::size_t words() const override { return sound_->words(); }
  std::optional<rejection> encode(const furlong::models::delta& change, const fold_context& context,
                                  std::span<std::int64_t> sum) override {
    if (context.weight > 1) throw std::runtime_error("no idea how to add");
    return sound_->encode(change, context, sum);
  }
  void report(std::span<std::int64_t> sum, aggregate& out) override { sound_->report(sum, out); }

 private:
  std::unique_ptr<aggregation_rule> sound_;
};

rule_entry broken_rule() {
  auto entry = *find_rule("uniform-mean");
  entry.kind = "broken";
  entry.build = [sound = entry.build](const aggregation_settings& settings, const furlong::models::layout_ptr& shared,
                                      const std::vector<double>& reference,
                                      const rule_draws& draws) -> std::unique_ptr<aggregation_rule> {
    return std::make_unique<broken_sums>(sound(settings, shared, reference, draws));
  };
  return entry;
}

algorithm_entry broken_algorithm() {
  auto entry = *find_algorithm("furl");
  entry.kind = "broken";
  entry.build = [sound = entry.build](const furlong::option_values& options) {
    return sound(options).map([](const std::shared_ptr<const algorithm>& made) -> std::shared_ptr<const algorithm> {
      return std::make_shared<const broken_training>(made);
    });
  };
  return entry;
}

}  // namespace

int main(int argc, char** argv) {
  return furlong::tools::main(argc, argv, [] {
    register_policy({.kind = "broken",
                     .doc = "A policy of the tests.",
                     .build = [](const experiment& e, const participation_ledger& ledger) {
                       return std::make_unique<broken_policy>(e, ledger);
                     }});
    register_algorithm(broken_algorithm());
    register_rule(broken_rule());
    if (std::getenv("REGISTER_WRONG_RULE") != nullptr) {
      auto rule = *find_rule("mean");
      rule.options = {furlong::number_option("noise", 0.0, "A key that all rules have.")};
      register_rule(rule);
    }
  });
}
