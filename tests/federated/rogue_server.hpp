// A server that lies. It writes the letters of secure aggregation as it likes, keeps all that clients answer, and adds
// up what that shows of their updates.
#pragma once

#include <set>

#include "federated/privacy/secure_aggregation/detail/keys.hpp"
#include "tests/federated/rogue_cohort.hpp"

namespace furlong::federated::testing {

/// What a sum's server tells one client. Clients of a sum are named by their tasks.
struct told {
  std::vector<task_id> neighbours = {};
  std::uint32_t clients = 0;              ///< of the sum
  std::uint64_t version = 0;              ///< that it is applied to
  std::vector<std::uint32_t> peers = {};  ///< neighbours
  std::vector<std::uint32_t> list = {};   ///< survivors; empty: it is not asked
  bool uploads = true;                    ///< it is asked for its update
};

/// What a server has found out.
struct findings {
  std::size_t sums = 0;        ///< that were opened
  std::size_t fewest = 0;      ///< updates in the smallest of them
  double largest_share = 0.0;  ///< of one update in what the opened sums give together: 1: it is known exactly
};

/// Clients that collude tell it all that they know.
class rogue_server {
 public:
  explicit rogue_server(rogue_cohort& of) : of_(of) {}

  /// Plays a sum with these clients, as far as they answer.
  void play(const std::map<task_id, told>& sum);
  /// The steps of play(), which can be mixed with those of another sum.
  void take_keys(const task_id& task);
  void exchange_shares(const std::map<task_id, told>& sum);
  void collect_updates(const std::map<task_id, told>& sum);
  void ask_for_shares(const std::map<task_id, told>& sum);

  /// What an honest server would tell the clients of a sum, all of which survive. A complete graph, or one by chance.
  [[nodiscard]] std::map<task_id, told> honest(const std::vector<task_id>& tasks, std::uint64_t version) const;

  [[nodiscard]] findings look();

 private:
  using tag = privacy::detail::list_tag;
  struct victim {
    privacy::detail::public_keys keys;
    crypto::bytes certificate, signature;
    told heard;                                                      ///< what it was told, once it has answered
    std::map<std::uint32_t, crypto::bytes> sealed;                   ///< its shares, by their holders
    std::map<std::uint32_t, privacy::secret_share> of_seed, of_key;  ///< revealed, by their holders
    std::map<std::uint32_t, tag> tags;                               ///< for its peers
    std::optional<sum_words> masked;
  };
  /// An update that only masks hide which others of the sum have too.
  struct bare {
    const victim* from = nullptr;
    std::set<task_id> tied;  ///< clients with which it shares a mask that is not known
    sum_words words;
  };

  [[nodiscard]] privacy::secure_letter neighbours_for(const task_id& task, const told& what) const;
  [[nodiscard]] privacy::secure_letter peers_for(const task_id& task, const told& what) const;
  [[nodiscard]] privacy::secure_letter list_for(const task_id& task, const told& what) const;
  void keep_shares(const task_id& from, const privacy::secure_letter& letter);
  void open_shares(const task_id& holder);
  void keep_tags(const task_id& from, const privacy::secure_letter& letter);
  void keep_reveal(const task_id& from, const privacy::secure_letter& letter);
  [[nodiscard]] const task_id* neighbour(const task_id& of, std::uint32_t client) const;
  using masking_keys = std::map<task_id, crypto::agreement_key>;
  [[nodiscard]] masking_keys restored_keys() const;
  [[nodiscard]] privacy::secure_letter tags_for(const task_id& task, const told& what,
                                                const masking_keys& secret) const;
  [[nodiscard]] privacy::detail::pair_side side(const task_id& of) const { return {of, known_.at(of).keys.model}; }
  [[nodiscard]] privacy::detail::sum_context context(const task_id& of, const told& what) const {
    return {of_.terms_of(of.client), what.version, what.clients};
  }
  [[nodiscard]] std::map<task_id, bare> strip() const;
  [[nodiscard]] std::optional<crypto::key> seed_of_pair(const masking_keys& secret, const task_id& one,
                                                        const told& what, const task_id& other) const;

  rogue_cohort& of_;
  std::map<task_id, victim> known_;
};

}  // namespace furlong::federated::testing
