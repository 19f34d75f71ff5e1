// The evaluator actor: scores the clients of a shared evaluation.
#pragma once

#include "actors/interfaces.hpp"

namespace furlong::actors {

evaluator_actor::behavior_type evaluator_behavior(evaluator_actor::pointer self, evaluation_client parent);

}  // namespace furlong::actors
