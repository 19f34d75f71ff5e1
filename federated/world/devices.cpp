#include "federated/world/devices.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/exact_math.hpp"
#include "base/random.hpp"
#include "federated/settings/devices.hpp"

namespace furlong::federated {

namespace {

constexpr double training_per_forward = 3.0;

/// Slowest first, whatever the order in the table.
void sort_by_speed(std::vector<device_class>& classes) {
  std::stable_sort(classes.begin(), classes.end(), [](const device_class& a, const device_class& b) {
    if (a.ms_per_example != b.ms_per_example) return a.ms_per_example > b.ms_per_example;
    return a.mbit < b.mbit;
  });
}

double seconds_of_training(double ms_per_example) { return training_per_forward * ms_per_example / 1e3; }
double bytes_of(double mbit) { return mbit * 1e6 / 8.0; }

/// The score of availability before the correlations.
double drawn_availability(std::uint64_t seed, std::uint32_t client) {
  random_stream stream(seed, purpose::device_correlation, 0, client);
  return static_cast<double>(stream.normal());
}

}  // namespace

bool can_hold(double speed_availability, double speed_taste, double availability_taste) {
  const double a = speed_availability;
  const double b = speed_taste;
  const double c = availability_taste;
  const bool in_range = std::abs(a) <= 1.0 && std::abs(b) <= 1.0 && std::abs(c) <= 1.0;
  return in_range && 1.0 + 2.0 * a * b * c - a * a - b * b - c * c >= -1e-12;
}

device_park::device_park(const device_settings& settings, std::uint64_t seed, const population& clients,
                         std::shared_ptr<const device_table> recorded)
    : settings_(settings), seed_(seed), clients_(&clients), recorded_(std::move(recorded)) {
  sort_by_speed(settings_->classes);
  for (const auto& one : settings_->classes) total_share_ += one.share;
  a_taste_ = settings_->availability_taste;
  a_residual_ = std::sqrt(std::max(0.0, 1.0 - a_taste_ * a_taste_));
  s_taste_ = settings_->speed_taste;
  if (a_residual_ > 0.0) s_availability_ = (settings_->speed_availability - s_taste_ * a_taste_) / a_residual_;
  s_residual_ = std::sqrt(std::max(0.0, 1.0 - s_taste_ * s_taste_ - s_availability_ * s_availability_));
}

// The first normal number of a client's stream makes its speed, the second its network.
device_park::scores device_park::scores_of(std::uint32_t client) const {
  random_stream own(seed_, purpose::device, 0, client);
  const double taste = a_taste_ != 0.0 || s_taste_ != 0.0 ? clients_->taste(client) : 0.0;
  const double availability = drawn_availability(seed_, client);
  return {s_taste_ * taste + s_availability_ * availability + s_residual_ * static_cast<double>(own.normal()),
          a_taste_ * taste + a_residual_ * availability};
}

device device_park::of(std::uint32_t client) const {
  auto made = draw(client);
  if (recorded_ == nullptr) return made;
  const auto& table = *recorded_;
  if (const auto speed = table.value(table.ms_per_example, client))
    made.seconds_per_example = seconds_of_training(*speed);
  if (const auto mbit = table.value(table.mbit, client)) made.bytes_per_second = bytes_of(*mbit);
  for (std::size_t stage = 0; stage < drop_stage_count; ++stage)
    if (const auto rate = table.value(table.dropout[stage], client)) made.dropout[stage] = rate;
  return made;
}

device device_park::draw(std::uint32_t client) const {
  random_stream own(seed_, purpose::device, 0, client);
  double speed = s_residual_ * static_cast<double>(own.normal());
  if (s_taste_ != 0.0) speed += s_taste_ * clients_->taste(client);
  if (s_availability_ != 0.0) speed += s_availability_ * drawn_availability(seed_, client);
  if (settings_->classes.empty())
    return {seconds_of_training(settings_->ms_per_example * exact::exp(-settings_->speed_sigma * speed)),
            bytes_of(settings_->mbit * exact::exp(settings_->network_sigma * static_cast<double>(own.normal())))};
  double left = 0.5 * exact::erfc(-speed / std::numbers::sqrt2) * total_share_;
  std::size_t chosen = 0;
  while (chosen + 1 < settings_->classes.size() && left >= settings_->classes[chosen].share)
    left -= settings_->classes[chosen++].share;
  const auto& its_class = settings_->classes[chosen];
  return {seconds_of_training(its_class.ms_per_example),
          bytes_of(its_class.mbit),
          {its_class.download, its_class.train, its_class.upload}};
}

}  // namespace furlong::federated
