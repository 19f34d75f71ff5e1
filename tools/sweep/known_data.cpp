#include "tools/sweep/known_data.hpp"

namespace furlong::tools {

result<data_digest> known_data::of(const scenarios::scenario& scenario) {
  auto options = scenario.data.all();
  options.erase("split_seed");  // differs with every seed, and only divides what the files hold
  const key which{scenario.data_source, std::move(options), scenario.settings.devices.availability.trace};
  if (const auto at = known_.find(which); at != known_.end()) return at->second;
  const auto data = scenarios::load_data(scenario);
  if (!data) return tl::unexpected(data.error());
  auto digest = digest_of(*data, scenario.settings);
  if (digest) known_.emplace(which, *digest);
  return digest;
}

}  // namespace furlong::tools
