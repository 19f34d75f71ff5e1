#include "federated/participation/checked_policy.hpp"

#include <algorithm>
#include <exception>

#include "federated/settings/participation.hpp"

namespace furlong::federated {

namespace {

std::size_t client_numbers(const experiment& e) {
  const auto clients = e.participants->training();
  return clients.empty() ? 0 : std::size_t{clients.back()} + 1;
}

tl::unexpected<error> broken_policy(const experiment& e, const std::string& why, const std::string& fix) {
  return fail(error::kind::runtime, "participation.policy",
              "the policy \"" + e.settings.participation->policy.kind + "\" " + why, "correct the policy: " + fix);
}

}  // namespace

checked_policy::checked_policy(const experiment& e, const participation_ledger& ledger)
    : e_(e), looked_at_(client_numbers(e)), eligible_(client_numbers(e)) {
  try {
    policy_ = make_policy(e, ledger);
    if (!policy_) failure_ = broken_policy(e, "was not built", "its build returns null").value();
  } catch (const std::exception& thrown) {
    failure_ = broken_policy(e, std::string("was not built: ") + thrown.what(), "its build must not throw").value();
  }
}

tl::unexpected<error> checked_policy::broken(const selection& of, const std::string& why,
                                             const std::string& fix) const {
  return broken_policy(e_, "selected for round " + std::to_string(of.round + 1) + " " + why, fix);
}

result<std::vector<std::uint32_t>> checked_policy::choose(selection& of, const participation_ledger& ledger) {
  if (failure_) return tl::unexpected(*failure_);
  looked_at_.clear();
  eligible_.clear();
  auto noted = of;
  noted.eligible = [&, numbers = client_numbers(e_)](std::uint32_t client) {
    if (client >= numbers) return false;
    looked_at_.take(client);
    return of.eligible(client) && (eligible_.take(client), true);
  };
  try {
    auto chosen = policy_->choose(noted, ledger);
    of.probed = noted.probed;
    if (auto sound = check(of, chosen); !sound) return tl::unexpected(sound.error());
    return chosen;
  } catch (const std::exception& thrown) {
    return broken_policy(e_, std::string("failed: ") + thrown.what(), "choose() must not throw");
  }
}

void checked_policy::asked(const std::vector<std::uint32_t>& clients) {
  try {
    policy_->asked(clients);
  } catch (const std::exception& thrown) {
    failure_ = broken_policy(e_, std::string("failed: ") + thrown.what(), "asked() must not throw").value();
  }
}

result<void> checked_policy::check(const selection& of, const std::vector<std::uint32_t>& chosen) const {
  const auto clients = e_.participants->training();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto client = "client " + std::to_string(chosen[i]);
    if (!std::ranges::binary_search(clients, chosen[i]))
      return broken(of, client + ", which does not train: it is held out, or there is none with this number",
                    "choose() may only name clients of participants->training()");
    if (i > 0 && chosen[i] == chosen[i - 1]) return broken(of, client + " twice", "choose() names a client once");
    if (i > 0 && chosen[i] < chosen[i - 1])
      return broken(of, client + " after client " + std::to_string(chosen[i - 1]), "sort what choose() returns");
    if (!eligible_.has(chosen[i]) && (looked_at_.has(chosen[i]) || !of.eligible(chosen[i])))
      return broken(of, client + ", which cannot be asked now",
                    "choose() may only name clients for which eligible() is true");
  }
  return check_number(of, chosen);
}

result<void> checked_policy::check_number(const selection& of, const std::vector<std::uint32_t>& chosen) const {
  const auto counts = std::to_string(chosen.size()) + " of " + std::to_string(of.count) + " clients";
  if (chosen.size() > of.count) return broken(of, counts, "choose() may name as many as are wanted, and no more");
  const auto& traits = e_.settings.participation->policy.traits;
  const auto clients = e_.participants->training();
  if (chosen.size() == of.count || traits.draws_cohort) return {};
  if (looked_at_.taken() == clients.size() && eligible_.taken() == chosen.size()) return {};
  for (const auto client : clients) {
    if (std::ranges::binary_search(chosen, client)) continue;
    if (traits.needs_examples && e_.participants->count(client, part::train) == 0) continue;
    if (looked_at_.has(client) ? eligible_.has(client) : of.eligible(client))
      return broken(of, counts + ", and client " + std::to_string(client) + " could be asked too",
                    "choose() names fewer only when no more are eligible, or sets draws_cohort in its traits");
  }
  return {};
}

}  // namespace furlong::federated
