// The private store of runs that need not outlive their process, and the reference in tests of the durable store.
#pragma once

#include <array>
#include <memory>

#include "federated/experiment/private_store.hpp"

namespace furlong::storage {

/// Keeps two values per client in memory, by the same rules as rocks_store. sync() has nothing to do.
class memory_store : public federated::private_store {
 public:
  explicit memory_store(models::layout_ptr private_layout, const federated::run_history& history = {});
  ~memory_store() override;

  result<bool> load(std::uint32_t client, models::private_parameters& out) override;
  result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override;
  result<void> sync() override { return {}; }
  void covered(std::uint64_t version) override;
  result<bool> erase(std::uint32_t client) override;
  result<void> visit(
      const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) override;
  result<void> stage(const federated::task_id& task, const models::private_parameters& value) override;
  result<void> discard(const federated::task_id& task) override;
  result<void> visit_pending(
      const std::function<void(const federated::task_id&, const models::private_parameters&)>& each) override;

  /// Resumes as a store that is reopened after a crash: values that `history` does not contain are discarded.
  void resume(const federated::run_history& history);

 private:
  struct content;
  std::unique_ptr<content> content_;
};

}  // namespace furlong::storage
