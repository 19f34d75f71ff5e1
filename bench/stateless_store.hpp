// A store for algorithms without private state: it has no values and rejects commits.
#pragma once

#include "federated/experiment/private_store.hpp"

namespace furlong::bench {

class stateless_store final : public federated::private_store {
 public:
  result<bool> load(std::uint32_t, models::private_parameters&) override { return false; }
  result<void> commit(std::uint32_t client, std::uint64_t, const models::private_parameters&) override {
    return fail(error::kind::runtime, "client " + std::to_string(client),
                "a stateless algorithm stored private values");
  }
  result<void> sync() override { return {}; }
  void covered(std::uint64_t) override {}
  result<bool> erase(std::uint32_t) override { return false; }
  result<void> visit(
      const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>&) override {
    return {};
  }
};

}  // namespace furlong::bench
