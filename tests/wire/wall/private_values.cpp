// Compiled with -fsyntax-only, once per case. Case 0 must compile, the others must not.
#include <memory>
#include <utility>

#include "wire/encode.hpp"

namespace {

using namespace furlong;

[[maybe_unused]] void attempt(const wire::encoder& encoder, const models::shared_parameters& ours,
                              const models::private_parameters& mine, federated::broadcast& message,
                              federated::client_update& update, const std::shared_ptr<const std::uint64_t[]>& words) {
#if FURLONG_CASE == 0
  message.model = ours;
  (void)encoder.encode(message);
  (void)encoder.encode(update, wire::update_format::dense);
  (void)mine.values();
  (void)words;
#elif FURLONG_CASE == 1
  (void)encoder.encode(mine);
#elif FURLONG_CASE == 2
  message.model = mine;
#elif FURLONG_CASE == 3
  update.change = mine;
#elif FURLONG_CASE == 4
  (void)wire::encoded(std::as_bytes(mine.values()));
#elif FURLONG_CASE == 5
  (void)wire::encoded(words, mine.values().size());
#elif FURLONG_CASE == 6
  const models::shared_parameters disguised = mine;
#endif
}

}  // namespace
