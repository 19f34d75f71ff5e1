#include "federated/experiment/pooled_population.hpp"

#include <array>

namespace furlong::federated {

namespace {

class pooled_population final : public population {
 public:
  explicit pooled_population(std::shared_ptr<const population> all) : all_(std::move(all)) {
    models::examples scratch;
    for (const auto client : all_->training()) {
      const auto own = all_->load(client, part::train, scratch);
      pooled_.append(own);
      pooled_.owners.resize(pooled_.labels.size(), client);
    }
  }

  models::data_facts facts() const override { return all_->facts(); }
  std::span<const std::uint32_t> training() const override { return only_; }
  std::span<const std::uint32_t> unseen_validation() const override { return {}; }
  std::span<const std::uint32_t> unseen_test() const override { return {}; }
  models::examples_view load(std::uint32_t, part which, models::examples&) const override {
    return which == part::train ? pooled_.view() : models::examples_view{};
  }
  std::string client_name(std::uint32_t) const override { return "all clients"; }
  std::string feature_name(std::uint32_t feature) const override { return all_->feature_name(feature); }

 private:
  std::shared_ptr<const population> all_;
  models::examples pooled_;
  std::array<std::uint32_t, 1> only_{0};
};

}  // namespace

std::shared_ptr<const population> pool_clients(std::shared_ptr<const population> all) {
  return std::make_shared<pooled_population>(std::move(all));
}

}  // namespace furlong::federated
