// What the server of secure aggregation keeps of a client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "federated/privacy/secure_aggregation/secure_server.hpp"
#include "federated/privacy/secure_aggregation/shamir.hpp"

namespace furlong::federated::privacy {

/// What is known of a client of the cohort.
struct secure_server::client {
  task_id task;
  bool gone = false;  ///< it sends no more letters
  bool has_keys = false;
  bool has_shares = false;
  bool survives = false;
  bool has_confirmed = false;
  bool was_answered = false;  ///< the confirmations of its peers were sent to it, and do not change any more
  bool revealed = false;
  std::map<secure_step, digest> received = {};  ///< digests of its letters
  detail::public_keys keys = {};
  crypto::bytes certificate = {};
  crypto::bytes signature = {};
  std::vector<std::uint32_t> neighbours = {};           ///< ascending
  std::map<std::uint32_t, crypto::bytes> sealed = {};   ///< by the neighbour that they are for
  std::map<std::uint32_t, detail::list_tag> tags = {};  ///< by the peer that made them for it
  std::size_t fewest_tags = 0;                          ///< that it needs
  std::vector<std::uint32_t> holders = {};              ///< of the shares that were revealed of its secret
  std::vector<secret_share> shares = {};
};

}  // namespace furlong::federated::privacy
