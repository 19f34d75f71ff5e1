// The furlong command with a selection policy that breaks its contract in the third round, and if it is told so with a
// rule that cannot be registered.
#include <cstdlib>
#include <memory>

#include "federated/aggregation/rule.hpp"
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

}  // namespace

int main(int argc, char** argv) {
  return furlong::tools::main(argc, argv, [] {
    register_policy({.kind = "broken",
                     .doc = "A policy of the tests.",
                     .build = [](const experiment& e, const participation_ledger& ledger) {
                       return std::make_unique<broken_policy>(e, ledger);
                     }});
    if (std::getenv("REGISTER_WRONG_RULE") != nullptr) {
      auto rule = *find_rule("mean");
      rule.options = {furlong::number_option("noise", 0.0, "A key that all rules have.")};
      register_rule(rule);
    }
  });
}
