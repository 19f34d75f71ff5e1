#include "federated/settings/devices.hpp"
#include "federated/world/detail/draws.hpp"

namespace furlong::federated {

namespace {

class bernoulli final : public availability {
 public:
  bernoulli(double rate, std::uint64_t seed, availability_score score)
      : rate_(rate), seed_(seed), score_(std::move(score)) {}

  bool available(std::uint32_t client, virtual_time, std::uint64_t round) const override {
    auto stream = detail::availability_stream(seed_, client, 0, round);
    return detail::uniform(stream) < detail::client_rate(rate_, score_, client);
  }
  /// Only another round changes anything.
  virtual_time changes(std::uint32_t, virtual_time, std::uint64_t) const override { return never; }
  bool by_round() const override { return true; }

 private:
  double rate_;
  std::uint64_t seed_;
  availability_score score_;
};

}  // namespace

std::unique_ptr<availability> make_bernoulli(const availability_settings& of, std::uint64_t seed,
                                             availability_score score) {
  return std::make_unique<bernoulli>(of.rate, seed, std::move(score));
}

}  // namespace furlong::federated
