// A model of availability: people who work in shifts. A day has as many shifts as the scenario says; each client's
// device is available in one of them, drawn by the run's seed, every day.
#include <memory>

#include "base/random.hpp"
#include "federated/world/availability.hpp"
#include "parts.hpp"

namespace parts {

namespace {

using namespace furlong::federated;

constexpr virtual_time day = 86'400LL * microseconds_per_second;

class shifts final : public availability {
 public:
  shifts(std::uint32_t count, std::uint64_t seed) : count_(count), seed_(seed) {}

  bool available(std::uint32_t client, virtual_time now, std::uint64_t /*round*/) const override {
    return now % day * count_ / day == shift_of(client);
  }
  virtual_time changes(std::uint32_t client, virtual_time now, std::uint64_t /*round*/) const override {
    if (count_ == 1) return never;  // the whole day
    const auto start = begin(shift_of(client));
    const auto end = begin(shift_of(client) + 1);
    const auto midnight = now - now % day;
    for (const auto change : {midnight + start, midnight + end})
      if (change > now) return change;
    return midnight + day + start;
  }

 private:
  [[nodiscard]] std::uint32_t shift_of(std::uint32_t client) const {
    return furlong::random_stream(seed_, furlong::purpose::availability, 0, client).below(count_);
  }
  /// The first moment of the day that belongs to a shift.
  [[nodiscard]] virtual_time begin(virtual_time shift) const { return (shift * day + count_ - 1) / count_; }

  std::uint32_t count_;
  std::uint64_t seed_;
};

}  // namespace

availability_entry shifts_entry() {
  return {.kind = "shifts",
          .doc = "Each client is available in one shift of every day.",
          .options = {furlong::integer_option("count", 3, "Shifts of a day.", {1, 24})},
          .build = [](const availability_source& source) -> std::unique_ptr<availability> {
            return std::make_unique<shifts>(source.settings.options.integer("count"), source.seed);
          },
          .version = "1"};
}

}  // namespace parts
