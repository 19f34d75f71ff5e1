// Parts of a run that need the updates of single clients: an algorithm that sees them, a rule that holds them.
#pragma once

#include <string>

namespace furlong::federated {

class scenario_view;

/// Reports the keys under which no process has all updates of a version at some moment.
/// @param why of the part: "and the rule median needs the updates of single clients"
void check_one_process(scenario_view& scenario, const std::string& why);
/// The same, and the keys of noise that hides single clients.
void check_single_updates(scenario_view& scenario, const std::string& why);

}  // namespace furlong::federated
