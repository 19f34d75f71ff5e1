#include "tests/campaigns/bad_share.hpp"

#include <charconv>

namespace furlong::campaigns {

const std::vector<share>& barred_shares(bool written) {
  static const std::vector<share> defaults{
      {"1", 0.0, 1, 0.01, 0.01, 0.02}, {"1%", 0.01, 0, 0.03, 0.03, 0.05}, {"5%", 0.05, 0, 0.15, 0.40, std::nullopt}};
  static const std::vector<share> robust{
      {"1", 0.0, 1, 0.01, 0.01, 0.02}, {"1%", 0.01, 0, 0.02, 0.02, 0.02}, {"5%", 0.05, 0, 0.05, 0.15, 0.02}};
  return written ? robust : defaults;
}

std::optional<share> share_named(const std::string& name) {
  for (const auto& known : barred_shares(false))
    if (known.name == name) return known;
  double number = 0.0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
  const std::string unit(static_cast<const char*>(end), name.data() + name.size());
  if (failure != std::errc() || !(unit.empty() ? number >= 1.0 : number > 0.0 && unit == "%")) return std::nullopt;
  return unit.empty() ? share{name, 0.0, static_cast<std::uint32_t>(number)} : share{name, number / 100.0};
}

}  // namespace furlong::campaigns
