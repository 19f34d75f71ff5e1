#include "federated/world/availability.hpp"

namespace furlong::federated {

namespace {

class always final : public availability {
 public:
  bool available(std::uint32_t, virtual_time, std::uint64_t) const override { return true; }
  virtual_time changes(std::uint32_t, virtual_time, std::uint64_t) const override { return never; }
};

}  // namespace

std::unique_ptr<availability> make_always() { return std::make_unique<always>(); }

}  // namespace furlong::federated
