#include "federated/experiment/single_updates.hpp"

#include "federated/experiment/algorithm.hpp"

namespace furlong::federated {

void check_one_process(scenario_view& scenario, const std::string& why) {
  const auto& given = scenario.given();
  if (scenario.is_good("participation.mode") && given.text("participation.mode") == "async")
    scenario.report("participation.mode", "is \"async\", " + why, "write \"sync\"");
  if (scenario.is_good("privacy.secure_aggregation") && given.flag("privacy.secure_aggregation"))
    scenario.report("privacy.secure_aggregation", "is true, " + why, "remove it");
  if (scenario.is_good("topology.nodes") && given.integer("topology.nodes") > 0)
    scenario.report("topology.nodes", "is above 0, " + why, "remove it");
}

void check_single_updates(scenario_view& scenario, const std::string& why) {
  check_one_process(scenario, why);
  for (const std::string key : {"privacy.noise", "algorithm.aggregation.noise"})
    if (scenario.is_good(key) && scenario.given().number(key) > 0)
      scenario.report(key, "is above 0, " + why, "remove it");
}

}  // namespace furlong::federated
