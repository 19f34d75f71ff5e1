// How many of the training clients are bad, and the harm that they may do.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace furlong::campaigns {

struct share {
  std::string name;  ///< as on the command line: "1", "5%"
  double of_all = 0.0;
  std::uint32_t clients = 0;  ///< if `of_all` is 0
  std::optional<double> rmse = {};
  std::optional<double> rmse_minus_mean = {};
  std::optional<double> promotion = {};

  [[nodiscard]] std::uint32_t count(std::size_t all) const {
    if (of_all == 0.0) return clients;
    return std::max(1U, static_cast<std::uint32_t>(std::lround(of_all * static_cast<double>(all))));
  }
};

/// Those with bars: of the defaults, or of the settings of docs/robustness.md.
[[nodiscard]] const std::vector<share>& barred_shares(bool written);
/// One of the first, or another number or percentage without bars; nothing if it is neither.
[[nodiscard]] std::optional<share> share_named(const std::string& name);

}  // namespace furlong::campaigns
