// A client is available with probability p(local hour) = rate (1 + A cos(2 pi (hour - peak) / 24)), where
// (1 + A) / (1 - A) is the swing. The state is drawn for a slot of `dwell` seconds at the hour of its middle; slots of
// different clients begin at different moments. Where p would exceed 1 it is 1, so that the mean is below the rate.
#include <algorithm>
#include <cmath>

#include "base/exact_math.hpp"
#include "federated/settings/devices.hpp"
#include "federated/world/detail/draws.hpp"

namespace furlong::federated {

namespace {

constexpr std::uint32_t slot_draw = 0;
constexpr std::uint32_t place_draw = 1;
constexpr double hours_per_day = 24.0;

class diurnal final : public availability {
 public:
  diurnal(const availability_settings& of, std::uint64_t seed, availability_score score)
      : rate_(of.rate),
        amplitude_((of.swing - 1.0) / (of.swing + 1.0)),
        peak_(of.peak_hour),
        dwell_(std::max<virtual_time>(from_seconds(of.dwell), 1)),
        zones_(std::max(of.zones, 1U)),
        seed_(seed),
        score_(std::move(score)) {}

  bool available(std::uint32_t client, virtual_time now, std::uint64_t) const override {
    const auto place = place_of(client);
    return drawn(client, place, slot_at(place, now));
  }

  virtual_time changes(std::uint32_t client, virtual_time now, std::uint64_t) const override {
    const auto place = place_of(client);
    if (place.most <= 0.0 || place.least >= 1.0) return never;
    auto slot = slot_at(place, now);
    const auto last = slot_at(place, now + detail::horizon);
    const bool state = drawn(client, place, slot);
    while (++slot <= last)
      if (drawn(client, place, slot) != state) return static_cast<virtual_time>(slot) * dwell_ - place.offset;
    return never;
  }

 private:
  /// What is drawn for a client once.
  struct client_phase {
    double rate;
    double least;  ///< of its probabilities
    double most;
    double zone;          ///< hours that its clocks are ahead
    virtual_time offset;  ///< its slot 0 began so long before the run
  };

  [[nodiscard]] client_phase place_of(std::uint32_t client) const {
    auto stream = detail::availability_stream(seed_, client, place_draw, 0);
    const double zone = stream.below(zones_);
    const auto offset = static_cast<virtual_time>(detail::uniform(stream) * static_cast<double>(dwell_));
    const double rate = detail::client_rate(rate_, score_, client);
    const double span = std::abs(amplitude_);
    return {rate, rate * (1.0 - span), rate * (1.0 + span), zone, offset};
  }

  [[nodiscard]] std::uint64_t slot_at(const client_phase& place, virtual_time now) const {
    return static_cast<std::uint64_t>((now + place.offset) / dwell_);
  }

  [[nodiscard]] bool drawn(std::uint32_t client, const client_phase& place, std::uint64_t slot) const {
    auto stream = detail::availability_stream(seed_, client, slot_draw, slot);
    const double u = detail::uniform(stream);
    if (u < place.least) return true;  // at any hour: no need to know which
    if (u >= place.most) return false;
    const auto middle = static_cast<virtual_time>(slot) * dwell_ - place.offset + dwell_ / 2;
    const double hour = to_seconds(middle) / 3600.0 + place.zone;
    return u < place.rate * (1.0 + amplitude_ * exact::cos_of_turns((hour - peak_) / hours_per_day));
  }

  double rate_;
  double amplitude_;
  double peak_;
  virtual_time dwell_;
  std::uint32_t zones_;
  std::uint64_t seed_;
  availability_score score_;
};

}  // namespace

std::unique_ptr<availability> make_diurnal(const availability_settings& of, std::uint64_t seed,
                                           availability_score score) {
  return std::make_unique<diurnal>(of, seed, std::move(score));
}

}  // namespace furlong::federated
