// The fields of control messages: one list for each kind, in the order in which they are written. It serves whoever
// measures, writes, reads or checks a message (a "side"), which has these functions:
//
//   number(value, field)             a number, a flag or an enumeration
//   text(text, field, limit, lines)  of at most `limit` bytes
//   claim(claim, field)
//   column(list, field)              Data with the entries as they lie in memory
//   each(list, field, of, rule)      Data with a part of each entry
//
// What a message has besides, lists inside of its entries, each side handles by a function of its own: odds(),
// metrics(), distances(), contents().
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>

#include "wire/control.hpp"
#include "wire/detail/frame.hpp"

namespace furlong::wire::detail {

using namespace federated::protocol;

/// A field of the schema: its name in errors, and the functions of builder and reader.
template <class Put, class Get>
struct control_field {
  std::string_view upper_name;
  Put put;
  Get get;

  [[nodiscard]] std::string name() const {
    std::string lower(upper_name);
    lower.front() = static_cast<char>(lower.front() - 'A' + 'a');
    return lower;
  }
};
template <class Put, class Get>
control_field(std::string_view, Put, Get) -> control_field<Put, Get>;  // clang 14 does not deduce it

#define FURLONG_FIELD(type, field) \
  detail::control_field { #field, &schema::type::Builder::set##field, &schema::type::Reader::get##field }
/// Of fields with a length: columns, and structs.
#define FURLONG_PART(type, field) \
  detail::control_field { #field, &schema::type::Builder::init##field, &schema::type::Reader::get##field }

/// How the Message of a frame holds a kind of control message, and the word by which errors name it.
template <class Message>
struct content_of;

#define FURLONG_CONTROL(message, type, field, number)                              \
  template <>                                                                      \
  struct content_of<message> {                                                     \
    using schema_type = schema::type;                                              \
    static constexpr const char* name = #message;                                  \
    static constexpr auto kind = schema::Message::number;                          \
    static auto init(schema::Message::Builder root) { return root.init##field(); } \
    static bool is_in(schema::Message::Reader root) { return root.has##field(); }  \
    static auto get(schema::Message::Reader root) { return root.get##field(); }    \
  };
FURLONG_CONTROL(hello, Hello, Hello, HELLO)
FURLONG_CONTROL(branch_hello, BranchHello, BranchHello, BRANCH_HELLO)
FURLONG_CONTROL(welcome, Welcome, Welcome, WELCOME)
FURLONG_CONTROL(redirect, Redirect, Redirect, REDIRECT)
FURLONG_CONTROL(assignment, Assignment, Assignment, ASSIGNMENT)
FURLONG_CONTROL(task_failures, TaskList, TaskFailures, TASK_FAILURES)
FURLONG_CONTROL(verdicts, Verdicts, Verdicts, VERDICTS)
FURLONG_CONTROL(checkpointed, Checkpointed, Checkpointed, CHECKPOINTED)
FURLONG_CONTROL(evaluation_request, EvaluationRequest, EvaluationRequest, EVALUATION_REQUEST)
FURLONG_CONTROL(evaluation_scores, EvaluationScores, EvaluationScores, EVALUATION_SCORES)
FURLONG_CONTROL(attached, Attached, Attached, ATTACHED)
FURLONG_CONTROL(detached, Detached, Detached, DETACHED)
FURLONG_CONTROL(close_request, CloseRequest, CloseRequest, CLOSE_REQUEST)
FURLONG_CONTROL(withdrawal, TaskList, Withdrawal, WITHDRAWAL)
FURLONG_CONTROL(withdrawn, TaskList, Withdrawn, WITHDRAWN)
FURLONG_CONTROL(settled, Settled, Settled, SETTLED)
FURLONG_CONTROL(close_notice, CloseNotice, CloseNotice, CLOSE_NOTICE)
FURLONG_CONTROL(tasks_lost, TasksLost, TasksLost, TASKS_LOST)
FURLONG_CONTROL(ready, Ready, Ready, READY)
FURLONG_CONTROL(displaced, Displaced, Displaced, DISPLACED)
FURLONG_CONTROL(letters, Letters, Letters, LETTERS)
#undef FURLONG_CONTROL

/// A message to be read, or one that is written.
template <class Message, class Kind>
concept like = std::same_as<std::remove_const_t<Message>, Kind>;

/// What `of`, a member or a function, makes of an entry.
template <class Of, class Entry>
using part_of_entry = std::remove_cvref_t<std::invoke_result_t<Of, Entry&>>;

// Data lies as it lies in memory.
template <class T>
concept column_entry = std::has_unique_object_representations_v<T> || std::floating_point<T>;
static_assert(sizeof(federated::task_id) == 24 && column_entry<federated::task_id>);
static_assert(sizeof(client_sizes) == 16 && column_entry<client_sizes>);
static_assert(sizeof(federated::member) == 8 && column_entry<federated::member>);

constexpr std::size_t group_count = 3;
constexpr std::size_t outcome_count = 6;
constexpr std::size_t verdict_kind_count = 4;

enum text_lines : bool { one_line, any_lines };

struct column_rule {
  bool is_key = false;           ///< it says how many entries there are
  bool or_zeros = false;         ///< it may be empty when all its values are zero
  std::size_t below = SIZE_MAX;  ///< of enumerated values
};

/// A member of entries that has no meaning unless their `what` is this: written as zero then.
template <class What, class Member>
struct only_if {
  What what;
  Member member;

  auto& operator()(auto& one) const { return one.*member; }
  auto operator()(const auto& content) const {
    return content.what == what ? content.*member : std::remove_cvref_t<decltype(content.*member)>{};
  }
};
template <class What, class Member>
only_if(What, Member) -> only_if<What, Member>;

void fields(auto& visitor, like<federated::store_claim> auto& claim) {
  visitor.number(claim.store, FURLONG_FIELD(StoreClaim, Store));
  visitor.number(claim.openings, FURLONG_FIELD(StoreClaim, Openings));
  visitor.number(claim.served, FURLONG_FIELD(StoreClaim, Served));
  visitor.number(claim.accepts_loss, FURLONG_FIELD(StoreClaim, AcceptsLoss));
}

void fields(auto& visitor, like<hello> auto& message) {
  visitor.text(message.software, FURLONG_FIELD(Hello, Software), longest_name, one_line);
  visitor.number(message.clients.first, FURLONG_FIELD(Hello, First));
  visitor.number(message.clients.last, FURLONG_FIELD(Hello, Last));
  visitor.number(message.run, FURLONG_FIELD(Hello, Run));
  visitor.column(message.holding, FURLONG_PART(Hello, Holding));
  visitor.text(message.avoid, FURLONG_FIELD(Hello, Avoid), longest_name, one_line);
  visitor.number(message.instance, FURLONG_FIELD(Hello, Instance));
  visitor.text(message.kernel_level, FURLONG_FIELD(Hello, KernelLevel), longest_name, one_line);
  visitor.claim(message.claim, FURLONG_PART(Hello, Claim));
  visitor.text(message.kernel_levels, FURLONG_FIELD(Hello, KernelLevels), longest_name, one_line);
}

void fields(auto& visitor, like<branch_hello> auto& message) {
  visitor.text(message.software, FURLONG_FIELD(BranchHello, Software), longest_name, one_line);
  visitor.text(message.name, FURLONG_FIELD(BranchHello, Name), longest_name, one_line);
  visitor.text(message.gateway, FURLONG_FIELD(BranchHello, Gateway), longest_name, one_line);
  visitor.text(message.operators, FURLONG_FIELD(BranchHello, Operators), longest_name, one_line);
  visitor.text(message.kernel_level, FURLONG_FIELD(BranchHello, KernelLevel), longest_name, one_line);
  visitor.text(message.kernel_levels, FURLONG_FIELD(BranchHello, KernelLevels), longest_name, one_line);
}

void fields(auto& visitor, like<welcome> auto& message) {
  visitor.number(message.run, FURLONG_FIELD(Welcome, Run));
  visitor.text(message.scenario, FURLONG_FIELD(Welcome, Scenario), longest_scenario, any_lines);
  visitor.column(message.history.resumed_at, FURLONG_PART(Welcome, ResumedAt));
  visitor.column(message.history.ids, FURLONG_PART(Welcome, Lives));
  visitor.number(message.covered, FURLONG_FIELD(Welcome, Covered));
  visitor.number(message.facts.features, FURLONG_FIELD(Welcome, Features));
  visitor.number(message.facts.clients, FURLONG_FIELD(Welcome, Clients));
  visitor.number(message.facts.labels, FURLONG_FIELD(Welcome, Labels));
  visitor.number(message.aggregator, FURLONG_FIELD(Welcome, Aggregator));
  visitor.number(message.start_id, FURLONG_FIELD(Welcome, StartId));
  visitor.number(message.facts.classes, FURLONG_FIELD(Welcome, Classes));
  visitor.number(message.facts.words, FURLONG_FIELD(Welcome, Words));
  visitor.text(message.kernel_level, FURLONG_FIELD(Welcome, KernelLevel), longest_name, one_line);
  visitor.text(message.parts, FURLONG_FIELD(Welcome, Parts), longest_parts, any_lines);
}

void fields(auto& visitor, like<ready> auto& message) {
  visitor.number(message.run, FURLONG_FIELD(Ready, Run));
  visitor.claim(message.claim, FURLONG_PART(Ready, Claim));
  visitor.column(message.sizes, FURLONG_PART(Ready, Sizes));
}

void fields(auto& visitor, like<displaced> auto& message) {
  visitor.number(message.instance, FURLONG_FIELD(Displaced, Instance));
  visitor.text(message.why, FURLONG_FIELD(Displaced, Why), longest_why, one_line);
  visitor.text(message.remedy, FURLONG_FIELD(Displaced, Remedy), longest_why, one_line);
}

void fields(auto& visitor, like<redirect> auto& message) {
  visitor.text(message.address, FURLONG_FIELD(Redirect, Address), longest_name, one_line);
}

void fields(auto& visitor, like<assignment> auto& message) {
  visitor.number(message.run, FURLONG_FIELD(Assignment, Run));
  visitor.number(message.version, FURLONG_FIELD(Assignment, Version));
  visitor.number(message.begins, FURLONG_FIELD(Assignment, Begins));
  visitor.column(message.tasks, FURLONG_PART(Assignment, Tasks));
}

template <class Message>
concept task_list = like<Message, task_failures> || like<Message, withdrawal> || like<Message, withdrawn>;
void fields(auto& visitor, task_list auto& message) { visitor.column(message.tasks, FURLONG_PART(TaskList, Tasks)); }

void fields(auto& visitor, like<verdicts> auto& message) {
  const auto why = only_if{verdict_kind::rejected, &verdict::why};
  visitor.number(message.version, FURLONG_FIELD(Verdicts, Version));
  visitor.each(message.each, FURLONG_PART(Verdicts, Tasks), &verdict::task, {.is_key = true});
  visitor.each(message.each, FURLONG_PART(Verdicts, Kinds), &verdict::what, {.below = verdict_kind_count});
  visitor.each(message.each, FURLONG_PART(Verdicts, Reasons), why, {.below = federated::rejection_count});
}

void fields(auto& visitor, like<checkpointed> auto& message) {
  visitor.number(message.version, FURLONG_FIELD(Checkpointed, Version));
}

void fields(auto& visitor, like<evaluation_request> auto& message) {
  using entry = std::pair<federated::group, std::uint32_t>;
  visitor.number(message.version, FURLONG_FIELD(EvaluationRequest, Version));
  visitor.each(message.clients, FURLONG_PART(EvaluationRequest, Groups), &entry::first, {.below = group_count});
  visitor.each(message.clients, FURLONG_PART(EvaluationRequest, Clients), &entry::second, {.is_key = true});
}

void fields(auto& visitor, like<evaluation_scores> auto& message) {
  using federated::client_score;
  using federated::scored_client;
  const auto score = [](auto member) {
    return [member](auto& one) -> auto& { return one.score.*member; };
  };
  auto& entries = message.each;
  visitor.number(message.version, FURLONG_FIELD(EvaluationScores, Version));
  visitor.each(entries, FURLONG_PART(EvaluationScores, Groups), &scored_client::in, {.below = group_count});
  visitor.each(entries, FURLONG_PART(EvaluationScores, Clients), &scored_client::client, {.is_key = true});
  visitor.each(entries, FURLONG_PART(EvaluationScores, SquaredErrors), score(&client_score::squared_error));
  visitor.each(entries, FURLONG_PART(EvaluationScores, Losses), score(&client_score::loss));
  visitor.each(entries, FURLONG_PART(EvaluationScores, Correct), score(&client_score::correct));
  visitor.each(entries, FURLONG_PART(EvaluationScores, Examples), score(&client_score::examples));
  odds(visitor, message);
  metrics(visitor, message);
  visitor.each(entries, FURLONG_PART(EvaluationScores, Words), score(&client_score::words), {.or_zeros = true});
  visitor.each(entries, FURLONG_PART(EvaluationScores, WordsCorrect), score(&client_score::words_correct),
               {.or_zeros = true});
  visitor.each(entries, FURLONG_PART(EvaluationScores, Inside), score(&client_score::inside), {.or_zeros = true});
  visitor.each(entries, FURLONG_PART(EvaluationScores, InsideCorrect), score(&client_score::inside_correct),
               {.or_zeros = true});
  visitor.each(entries, FURLONG_PART(EvaluationScores, Spreads), score(&client_score::spread), {.or_zeros = true});
  visitor.number(message.unscored, FURLONG_FIELD(EvaluationScores, Unscored));
}

void fields(auto& visitor, like<attached> auto& message) {
  visitor.number(message.clients.first, FURLONG_FIELD(Attached, First));
  visitor.number(message.clients.last, FURLONG_FIELD(Attached, Last));
  visitor.column(message.holding, FURLONG_PART(Attached, Holding));
  visitor.text(message.node, FURLONG_FIELD(Attached, Node), longest_name, one_line);
  visitor.number(message.instance, FURLONG_FIELD(Attached, Instance));
  visitor.text(message.kernel_level, FURLONG_FIELD(Attached, KernelLevel), longest_name, one_line);
  visitor.claim(message.claim, FURLONG_PART(Attached, Claim));
  visitor.column(message.sizes, FURLONG_PART(Attached, Sizes));
}

void fields(auto& visitor, like<detached> auto& message) {
  visitor.number(message.clients.first, FURLONG_FIELD(Detached, First));
  visitor.number(message.clients.last, FURLONG_FIELD(Detached, Last));
  visitor.number(message.strayed, FURLONG_FIELD(Detached, Strayed));
  visitor.text(message.failure, FURLONG_FIELD(Detached, Failure), longest_why, one_line);
}

void fields(auto& visitor, like<close_request> auto& message) {
  visitor.number(message.version, FURLONG_FIELD(CloseRequest, Version));
  visitor.number(message.enough, FURLONG_FIELD(CloseRequest, Enough));
}

void fields(auto& visitor, like<settled> auto& message) {
  using federated::outcome;
  using federated::settlement;
  using federated::update_size;
  const auto why = only_if{outcome::rejected, &settlement::why};
  const auto stage = only_if{outcome::dropped, &settlement::stage};
  const auto level = [](auto member) {
    return [member](auto& one) -> auto& { return one.size.*member; };
  };
  auto& entries = message.each;
  visitor.each(entries, FURLONG_PART(Settled, Tasks), &settlement::id, {.is_key = true});
  visitor.each(entries, FURLONG_PART(Settled, Outcomes), &settlement::what, {.below = outcome_count});
  visitor.each(entries, FURLONG_PART(Settled, Reasons), why, {.below = federated::rejection_count});
  visitor.each(entries, FURLONG_PART(Settled, Stages), stage, {.below = federated::drop_stage_count});
  visitor.each(entries, FURLONG_PART(Settled, Examples), &settlement::examples);
  visitor.each(entries, FURLONG_PART(Settled, Bytes), &settlement::bytes);
  visitor.each(entries, FURLONG_PART(Settled, Losses), &settlement::loss);
  distances(visitor, message);
  visitor.each(entries, FURLONG_PART(Settled, NormLevels), level(&update_size::norm), {.or_zeros = true});
  visitor.each(entries, FURLONG_PART(Settled, RowLevels), level(&update_size::row), {.or_zeros = true});
  visitor.each(entries, FURLONG_PART(Settled, WeightLevels), level(&update_size::weight), {.or_zeros = true});
}

void fields(auto& visitor, like<close_notice> auto& message) {
  visitor.text(message.why, FURLONG_FIELD(CloseNotice, Why), longest_why, one_line);
  visitor.number(message.final, FURLONG_FIELD(CloseNotice, Final));
  visitor.number(message.unwanted, FURLONG_FIELD(CloseNotice, Unwanted));
  visitor.text(message.remedy, FURLONG_FIELD(CloseNotice, Remedy), longest_why, one_line);
  visitor.number(message.failed, FURLONG_FIELD(CloseNotice, Failed));
}

void fields(auto& visitor, like<tasks_lost> auto& message) {
  visitor.column(message.folded, FURLONG_PART(TasksLost, Folded));
  visitor.column(message.open, FURLONG_PART(TasksLost, Open));
}

void fields(auto& visitor, like<letters> auto& message) {
  using federated::privacy::secure_letter;
  visitor.each(message.each, FURLONG_PART(Letters, Tasks), &secure_letter::task, {.is_key = true});
  visitor.each(message.each, FURLONG_PART(Letters, Steps), &secure_letter::step,
               {.below = federated::privacy::secure_step_count});
  contents(visitor, message);
}

}  // namespace furlong::wire::detail
