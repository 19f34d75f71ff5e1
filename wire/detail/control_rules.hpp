// Checks of control messages on both sides: before sending, and after receiving.
#pragma once

#include "base/result.hpp"
#include "wire/control.hpp"

namespace furlong::wire::detail {

/// The word by which errors name a kind of message.
template <class Message>
constexpr const char* name_of = nullptr;
template <>
inline constexpr const char* name_of<federated::protocol::hello> = "hello";
template <>
inline constexpr const char* name_of<federated::protocol::branch_hello> = "branch_hello";
template <>
inline constexpr const char* name_of<federated::protocol::welcome> = "welcome";
template <>
inline constexpr const char* name_of<federated::protocol::redirect> = "redirect";
template <>
inline constexpr const char* name_of<federated::protocol::assignment> = "assignment";
template <>
inline constexpr const char* name_of<federated::protocol::task_failures> = "task_failures";
template <>
inline constexpr const char* name_of<federated::protocol::verdicts> = "verdicts";
template <>
inline constexpr const char* name_of<federated::protocol::checkpointed> = "checkpointed";
template <>
inline constexpr const char* name_of<federated::protocol::evaluation_request> = "evaluation_request";
template <>
inline constexpr const char* name_of<federated::protocol::evaluation_scores> = "evaluation_scores";
template <>
inline constexpr const char* name_of<federated::protocol::attached> = "attached";
template <>
inline constexpr const char* name_of<federated::protocol::detached> = "detached";
template <>
inline constexpr const char* name_of<federated::protocol::close_request> = "close_request";
template <>
inline constexpr const char* name_of<federated::protocol::withdrawal> = "withdrawal";
template <>
inline constexpr const char* name_of<federated::protocol::withdrawn> = "withdrawn";
template <>
inline constexpr const char* name_of<federated::protocol::settled> = "settled";
template <>
inline constexpr const char* name_of<federated::protocol::close_notice> = "close_notice";
template <>
inline constexpr const char* name_of<federated::protocol::tasks_lost> = "tasks_lost";
template <>
inline constexpr const char* name_of<federated::protocol::ready> = "ready";
template <>
inline constexpr const char* name_of<federated::protocol::displaced> = "displaced";
template <>
inline constexpr const char* name_of<federated::protocol::letters> = "letters";

/// Lengths, order of ranges, enumerated values, text, and that scores are finite. Errors name the field.
[[nodiscard]] result<void> check(const control& message);

}  // namespace furlong::wire::detail
