// The control messages as a variant: they do not depend on a model's layout.
#pragma once

#include <variant>

#include "federated/protocol/messages.hpp"

namespace furlong::federated::protocol {

/// These and all kinds of control message.
template <class... Others>
using with_control =
    std::variant<Others..., hello, branch_hello, welcome, redirect, assignment, task_failures, verdicts, checkpointed,
                 evaluation_request, evaluation_scores, attached, detached, close_request, withdrawal, withdrawn,
                 settled, close_notice, tasks_lost, ready, displaced, letters>;
using control = with_control<>;

}  // namespace furlong::federated::protocol
