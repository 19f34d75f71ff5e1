#include "federated/processes/kernel_choice.hpp"

#include <algorithm>

#include "models/kernels/levels.hpp"

namespace furlong::federated::processes {

namespace {

bool is_in(const std::string& levels, std::string_view level) {
  return ("," + levels + ",").find("," + std::string(level) + ",") != std::string::npos;
}

}  // namespace

kernel_offer own_kernels() {
  kernel_offer own{std::string(models::kernels().level), {}};
  for (const auto level : models::usable_levels()) own.levels.append(own.levels.empty() ? "" : ",").append(level);
  return own;
}

std::string level_of_run(kernel_rule rule, const std::string& own) {
  return rule == kernel_rule::common ? models::kernels().level : own;
}

std::optional<std::string> unlike_kernels(kernel_rule rule, const kernel_offer& offer) {
  const std::string here(models::kernels().level);
  switch (rule) {
    case kernel_rule::any: return std::nullopt;
    case kernel_rule::common:
      if (is_in(offer.levels, here)) return std::nullopt;
      return "it has kernels of the levels " + (offer.levels.empty() ? "unknown" : offer.levels) +
             " only, and the run computes with those of level " + here;
    case kernel_rule::same:
      if (offer.level == here) return std::nullopt;
      return "its kernels are of level " + (offer.level.empty() ? "unknown" : offer.level) +
             ", the server's of level " + here + ": the last bits of the model would depend on which process trains";
  }
  return std::nullopt;
}

result<void> follow_kernels(kernel_rule rule, const std::string& level) {
  if (rule != kernel_rule::common || models::use_kernels(level)) return {};
  return fail(error::kind::runtime, "network.kernel_levels",
              "the run computes with kernels of level " + level + ", which this process has not",
              "unset FURLONG_KERNEL_LEVEL here, or begin the run with this node connected");
}

kernel_choice::kernel_choice() {
  for (const auto level : models::usable_levels()) levels_.emplace_back(level);
}

kernel_choice::answer kernel_choice::on_arrival(kernel_rule rule, const kernel_offer& offer, bool fixed) {
  if (rule != kernel_rule::common || fixed) return {unlike_kernels(rule, offer)};
  auto rest = levels_;
  std::erase_if(rest, [&](const auto& level) { return !is_in(offer.levels, level); });
  if (rest.empty()) return {unlike_kernels(rule, offer)};
  levels_ = std::move(rest);
  if (levels_.back() == models::kernels().level) return {};
  static_cast<void>(models::use_kernels(levels_.back()));  // one of this process's
  return {std::nullopt, true};
}

}  // namespace furlong::federated::processes
