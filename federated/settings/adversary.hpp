// What the server is assumed to do to secure aggregation.
#pragma once

#include <cstdint>

namespace furlong::federated::privacy {

/// In both cases 5 % of the clients tell the server all that they know, and up to a third of the clients drop out.
enum class adversary_kind : std::uint8_t {
  semi_honest,    ///< it follows the protocol, and looks at everything
  semi_malicious  ///< it may ask for both kinds of shares of a client. No defence if it tells clients different lists
                  ///< of survivors: clients do not compare them.
};

}  // namespace furlong::federated::privacy
