// Groups of clients, such as regions, that a run's figures are divided by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace furlong::federated {

/// Every client is in one group.
struct client_groups {
  std::vector<std::string> names;        ///< by number of the group
  std::vector<std::uint32_t> of_client;  ///< the group's number, by client
};

}  // namespace furlong::federated
