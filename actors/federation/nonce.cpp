#include "actors/federation/nonce.hpp"

#include <openssl/rand.h>
#include <stdexcept>

namespace furlong::actors::federation {

std::uint64_t fresh_nonce() {
  std::uint64_t drawn = 0;
  while (drawn == 0)
    if (RAND_bytes(reinterpret_cast<unsigned char*>(&drawn), sizeof drawn) != 1)
      throw std::runtime_error("the operating system's random generator failed");
  return drawn;
}

}  // namespace furlong::actors::federation
