// Keys of secure aggregation, signed by nodes' certificates.
#pragma once

#include "actors/tls/credentials.hpp"
#include "federated/privacy/secure_aggregation/secure_client.hpp"

namespace furlong::actors::federation {

/// Signs with a node's certificate, and accepts signatures of certificates of the same authority that are valid now and
/// name the client. Fails (kind data) as the files are read. The result belongs to one thread.
[[nodiscard]] result<federated::privacy::key_identity_ptr> make_key_identity(const tls::node_credentials& of);

/// What a server checks clients' keys by: the authority of its gateway. Fails as the file is read. The result belongs
/// to one thread.
[[nodiscard]] result<federated::privacy::key_check> make_key_check(const tls::tier_credentials& gateway);

}  // namespace furlong::actors::federation
