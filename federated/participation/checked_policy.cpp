#include "federated/participation/checked_policy.hpp"

#include <algorithm>
#include <exception>

#include "federated/settings/participation.hpp"

namespace furlong::federated {

namespace {

std::size_t client_numbers(const experiment& setup) {
  const auto clients = setup.participants->training();
  return clients.empty() ? 0 : std::size_t{clients.back()} + 1;
}

tl::unexpected<error> broken_policy(const experiment& setup, const std::string& why, const std::string& fix) {
  return fail(error::kind::runtime, "participation.policy",
              "the policy \"" + setup.settings.participation->policy.kind + "\" " + why, "correct the policy: " + fix);
}

}  // namespace

checked_policy::checked_policy(const experiment& setup, const participation_ledger& ledger)
    : setup_(setup), looked_at_(client_numbers(setup)), eligible_(client_numbers(setup)) {
  try {
    policy_ = make_policy(setup, ledger);
    if (!policy_) failure_ = broken_policy(setup, "was not built", "its build returns null").value();
  } catch (const std::exception& thrown) {
    failure_ = broken_policy(setup, std::string("was not built: ") + thrown.what(), "its build must not throw").value();
  }
}

tl::unexpected<error> checked_policy::broken(const selection& wanted, const std::string& why,
                                             const std::string& fix) const {
  return broken_policy(setup_, "selected for round " + std::to_string(wanted.round + 1) + " " + why, fix);
}

result<std::vector<std::uint32_t>> checked_policy::choose(selection& wanted, const participation_ledger& ledger) {
  if (failure_) return tl::unexpected(*failure_);
  looked_at_.clear();
  eligible_.clear();
  auto noted = wanted;
  noted.eligible = [&, numbers = client_numbers(setup_)](std::uint32_t client) {
    if (client >= numbers) return false;
    looked_at_.take(client);
    return wanted.eligible(client) && (eligible_.take(client), true);
  };
  try {
    auto chosen = policy_->choose(noted, ledger);
    wanted.probed = noted.probed;
    if (auto sound = check(wanted, chosen); !sound) return tl::unexpected(sound.error());
    return chosen;
  } catch (const models::broken_part&) {  // the model of availability
    throw;
  } catch (const std::exception& thrown) {
    return broken_policy(setup_, std::string("failed: ") + thrown.what(), "choose() must not throw");
  }
}

void checked_policy::asked(const std::vector<std::uint32_t>& clients) {
  try {
    policy_->asked(clients);
  } catch (const std::exception& thrown) {
    failure_ = broken_policy(setup_, std::string("failed: ") + thrown.what(), "asked() must not throw").value();
  }
}

result<void> checked_policy::check(const selection& wanted, const std::vector<std::uint32_t>& chosen) const {
  const auto clients = setup_.participants->training();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto client = "client " + std::to_string(chosen[i]);
    if (!std::ranges::binary_search(clients, chosen[i]))
      return broken(wanted, client + ", which does not train: it is held out, or there is none with this number",
                    "choose() may only name clients of participants->training()");
    if (i > 0 && chosen[i] == chosen[i - 1]) return broken(wanted, client + " twice", "choose() names a client once");
    if (i > 0 && chosen[i] < chosen[i - 1])
      return broken(wanted, client + " after client " + std::to_string(chosen[i - 1]), "sort what choose() returns");
    if (!eligible_.has(chosen[i]) && (looked_at_.has(chosen[i]) || !wanted.eligible(chosen[i])))
      return broken(wanted, client + ", which cannot be asked now",
                    "choose() may only name clients for which eligible() is true");
  }
  return check_number(wanted, chosen);
}

result<void> checked_policy::check_number(const selection& wanted, const std::vector<std::uint32_t>& chosen) const {
  const auto counts = std::to_string(chosen.size()) + " of " + std::to_string(wanted.count) + " clients";
  if (chosen.size() > wanted.count)
    return broken(wanted, counts, "choose() may name as many as are wanted, and no more");
  const auto& traits = setup_.settings.participation->policy.traits;
  const auto clients = setup_.participants->training();
  if (chosen.size() == wanted.count || traits.draws_cohort) return {};
  if (looked_at_.taken() == clients.size() && eligible_.taken() == chosen.size()) return {};
  for (const auto client : clients) {
    if (std::ranges::binary_search(chosen, client)) continue;
    if (traits.needs_examples && setup_.participants->count(client, part::train) == 0) continue;
    if (looked_at_.has(client) ? eligible_.has(client) : wanted.eligible(client))
      return broken(wanted, counts + ", and client " + std::to_string(client) + " could be asked too",
                    "choose() names fewer only when no more are eligible, or sets draws_cohort in its traits");
  }
  return {};
}

}  // namespace furlong::federated
