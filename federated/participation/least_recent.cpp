#include <algorithm>
#include <limits>

#include "base/random.hpp"
#include "federated/participation/policy.hpp"

namespace furlong::federated {

namespace {

/// A doubly linked list through all training clients, longest ago first: who is asked moves to its end. A selection
/// costs O(skipped + chosen). 8 bytes a client number.
class least_recent_policy final : public selection_policy {
 public:
  least_recent_policy(const experiment& e, const participation_ledger& ledger) {
    const auto clients = e.participants->training();
    const std::size_t numbers = clients.empty() ? 0 : std::size_t{clients.back()} + 1;
    links_.resize(numbers + 1);
    end_ = static_cast<std::uint32_t>(numbers);
    links_[end_] = {end_, end_};
    std::vector<std::uint32_t> order(clients.begin(), clients.end());
    // Part 1: not a stream that uniform selections draw from.
    random_stream(e.settings.seed, purpose::cohort, 0, 0, 1).shuffle(std::span(order));
    const auto asked = [&](std::uint32_t client) { return ledger[client].last_selection; };
    const auto never = [&](std::uint32_t client) { return asked(client) == 0; };
    const auto rest = std::stable_partition(order.begin(), order.end(), never);
    std::ranges::sort(rest, order.end(), {}, asked);
    for (const auto client : order) append(client);
  }

  std::vector<std::uint32_t> choose(selection& of, const participation_ledger&) override {
    std::vector<std::uint32_t> chosen;
    of.probed = 0;
    for (auto client = links_[end_].next; client != end_ && chosen.size() < of.count; client = links_[client].next) {
      ++of.probed;
      if (of.eligible(client)) chosen.push_back(client);
    }
    std::ranges::sort(chosen);
    return chosen;
  }

  void asked(const std::vector<std::uint32_t>& clients) override {
    for (const auto client : clients) {
      const auto [before, after] = links_[client];
      links_[before].next = after;
      links_[after].previous = before;
      append(client);
    }
  }

 private:
  struct link {
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
  };

  void append(std::uint32_t client) {
    const auto last = links_[end_].previous;
    links_[client] = {last, end_};
    links_[last].next = client;
    links_[end_].previous = client;
  }

  std::uint32_t end_ = 0;    ///< number of the list's end, past all clients: its next is the first
  std::vector<link> links_;  ///< by client number
};

}  // namespace

policy_entry least_recent_entry() {
  return {.kind = "least-recent",
          .doc = "Those selected longest ago first; those never selected before them, in a drawn order.",
          .build = [](const experiment& e, const participation_ledger& ledger) -> std::unique_ptr<selection_policy> {
            return std::make_unique<least_recent_policy>(e, ledger);
          }};
}

}  // namespace furlong::federated
