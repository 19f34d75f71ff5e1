// Mistakes of selection policies that a run does not see, each found by its law.
#include <algorithm>
#include <functional>
#include <memory>

#include "federated/participation/policy.hpp"
#include "tests/tools/conformance/planted_parts.hpp"

BOOST_AUTO_TEST_SUITE(planted_policies)

using namespace furlong;
using namespace furlong::federated;
using clients = std::vector<std::uint32_t>;
/// What choose() does. It is given the training clients.
using choice = std::function<clients(const clients& training, selection& wanted, const participation_ledger& ledger)>;

namespace {

class choosing_policy final : public selection_policy {
 public:
  choosing_policy(const experiment& setup, choice answer)
      : training_(setup.participants->training().begin(), setup.participants->training().end()),
        answer_(std::move(answer)) {}
  clients choose(selection& wanted, const participation_ledger& ledger) override {
    return answer_(training_, wanted, ledger);
  }

 private:
  clients training_;
  choice answer_;
};

/// Registers a policy. `make` is called for each instance.
void plant(const policy_traits& traits, const std::function<choice()>& make) {
  register_policy({.kind = "planted",
                   .doc = "A policy of this test.",
                   .traits = traits,
                   .build = [make](const experiment& setup, const participation_ledger&) {
                     return std::make_unique<choosing_policy>(setup, make());
                   }});
}

void check_broken(const policy_traits& traits, const std::function<choice()>& make, const std::string& law,
                  const std::string& reason) {
  plant(traits, make);
  tests::check_broken(tools::part_kind::policy, law, reason);
}

/// The first ones of an order that can be asked.
clients first_eligible(const clients& order, const selection& wanted) {
  clients chosen;
  for (const auto client : order)
    if (chosen.size() < wanted.count && wanted.eligible(client)) chosen.push_back(client);
  std::ranges::sort(chosen);
  return chosen;
}

/// The same from the one at a position on.
clients rotated(clients order, std::uint64_t position) {
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(position % order.size()), order.end());
  return order;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_policy_is_none_of_these) {
  plant({}, [] {
    return [](const clients& training, const selection& wanted, const participation_ledger&) {
      return first_eligible(rotated(training, 3 * wanted.round), wanted);
    };
  });
  tests::check_sound(tools::part_kind::policy);
}

BOOST_AUTO_TEST_CASE(a_client_that_cannot_be_asked_where_nobody_can) {
  check_broken(
      {},
      [] {
        return [](const clients& training, const selection& wanted, const participation_ledger&) {
          auto chosen = first_eligible(training, wanted);
          if (chosen.empty()) chosen.push_back(training.front());
          return chosen;
        };
      },
      "answers", "which cannot be asked now");
}

BOOST_AUTO_TEST_CASE(a_client_that_is_asked_about_twice) {
  check_broken(
      {},
      [] {
        return [](const clients& training, const selection& wanted, const participation_ledger&) {
          static_cast<void>(wanted.eligible(training.front()));
          return first_eligible(training, wanted);
        };
      },
      "calls", "eligible() was called twice for client ");
}

BOOST_AUTO_TEST_CASE(a_choice_that_depends_on_an_earlier_run) {
  const auto runs = std::make_shared<std::uint64_t>(0);
  check_broken(
      {},
      [runs] {
        return [run = ++*runs](const clients& training, const selection& wanted, const participation_ledger&) {
          return first_eligible(rotated(training, run), wanted);
        };
      },
      "repetition", "selected for round ");
}

BOOST_AUTO_TEST_CASE(a_turn_that_a_resumed_run_forgets) {
  const auto make = []() -> choice {
    return [turn = std::uint64_t{0}](const clients& training, const selection& wanted,
                                     const participation_ledger&) mutable {
      return first_eligible(rotated(training, ++turn), wanted);
    };
  };
  check_broken({}, make, "restoration", " if the run is resumed before it");
  BOOST_TEST((tests::examined(tools::part_kind::policy).about("repetition")->found.result ==
              tools::conformance::outcome::kept));
}

BOOST_AUTO_TEST_CASE(losses_that_the_traits_do_not_name) {
  const auto make = [] {
    return [](const clients& training, const selection& wanted, const participation_ledger& ledger) {
      auto order = training;
      std::ranges::stable_sort(order, std::greater(), [&](std::uint32_t client) { return ledger[client].loss; });
      return first_eligible(order, wanted);
    };
  };
  check_broken({}, make, "losses", "selected for round ");
  plant({.sees_losses = true}, make);
  tests::check_sound(tools::part_kind::policy);
}

BOOST_AUTO_TEST_CASE(draws_that_are_not_alike) {
  check_broken(
      {.draws_alike = true},
      [] {
        return [](const clients& training, const selection& wanted, const participation_ledger&) {
          return first_eligible(training, wanted);
        };
      },
      "draws", " of 400 cohorts, and all clients in ");
}

BOOST_AUTO_TEST_SUITE_END()
