#include "federated/processes/node_role.hpp"

#include <algorithm>
#include <variant>

#include "federated/processes/seconds_text.hpp"

namespace furlong::federated::processes {

namespace {

constexpr std::size_t clients_per_scoring = 64;  // per worker and per message
/// Bytes of messages that may wait while a run is being opened: until a node is ready a gateway sends no model.
constexpr std::size_t most_unread = std::size_t{1} << 20U;

}  // namespace

node_role::node_role(node_surroundings& host, node_settings settings, backoff pause)
    : host_(host),
      settings_(std::move(settings)),
      pause_(std::move(pause)),
      machine_(settings_.server, settings_.software, settings_.clients, settings_.instance),
      work_([this](const task_id& task) { return machine_.counts(task); }) {
  machine_.set_claim(settings_.claim);
}

void node_role::start() {
  without_session_since_ = host_.now();
  if (settings_.give_up > 0) host_.wake(without_session_since_ + settings_.give_up);
  perform(machine_.start());
}

std::vector<task_id> node_role::holding() const {
  std::vector<task_id> tasks;
  for (const auto& [task, held] : held_) tasks.push_back(task);
  return tasks;
}

void node_role::lose_values(const std::function<bool(std::uint32_t)>& is_lost) {
  for (auto& [task, held] : held_)
    if (is_lost(task.client)) held.value.reset();
}

// ---- the session
// -----------------------------------------------------------------------------------------------------

void node_role::on_opened(session_number session) {
  if (over_ || session != session_) return host_.close(session);
  is_open_ = true;
  perform(machine_.on_connected());
  advance();
}

void node_role::on_closed(session_number session, const session_end& end) {
  if (over_ || session != session_) return;
  host_.log(log_level::info, "session: " + end.why);
  if (end.denied) {
    perform(machine_.on_close_notice({end.why, true, true}));
  } else {
    last_failure_ = end.why;
    lose_session();
  }
  advance();
}

void node_role::lose_session() {
  end_session();
  is_open_ = false;
  lost_ = true;
  unread_.clear();
  perform(machine_.on_disconnected());
}

/// Requests of the session need no answer any more.
void node_role::end_session() {
  work_.cancel_scorings();
  if (!std::exchange(welcomed_, false)) return;
  without_session_since_ = host_.now();
  if (settings_.give_up > 0) host_.wake(without_session_since_ + settings_.give_up);
}

/// Leaves a gateway that violates the protocol, and connects again; ends if that always comes of it.
void node_role::leave_gateway(const std::string& why) {
  host_.violated(why);
  if (over_) return;
  if (violation_.is_permanent(why))
    return finish(
        {"every session ended so: " + why, error{error::kind::runtime, "the gateway", why, same_build_remedy}});
  host_.close(session_);
  ++session_;  // what came behind is not read: it would hide that this violation is repeated
  last_failure_ = "the gateway " + why;
  lose_session();
}

void node_role::on_wake() {
  if (over_) return;
  check_waits();
  if (over_) return;
  if (to_open_ && host_.now() >= open_at_) {
    const auto address = *std::exchange(to_open_, std::nullopt);
    host_.connect(++session_, address);
  }
  advance();
}

/// Ends a node that has taken leave and whose gateway neither reads nor times out, and one without a session for too
/// long, whose unreported updates are lost.
void node_role::check_waits() {
  const auto now = host_.now();
  if (close_until_ && !ending_ && now >= *close_until_) {
    host_.log(log_level::warning, "the gateway does not end the session");
    perform(machine_.drain());
  }
  const auto without_session = now - without_session_since_;
  if (over_ || settings_.give_up == 0 || welcomed_ || without_session < settings_.give_up) return;
  if (ending_) return finish(*ending_);
  finish({"gave up", error{error::kind::runtime, settings_.server,
                           "no session for " + seconds_text(without_session) + " s; last: " + last_failure_,
                           "check that the server runs and accepts this node, or wait longer with --give-up"}});
}

void node_role::on_stop() {
  if (over_) return;
  perform(machine_.drain());
  advance();
}

// ---- messages
// --------------------------------------------------------------------------------------------------------

void node_role::on_message(session_number session, protocol::control&& message, std::size_t bytes) {
  if (!is_current(session)) return;
  if (opening_ > 0)
    keep_unread(std::move(message), bytes);
  else
    receive(std::move(message));
  advance();
}

void node_role::on_model(session_number session, broadcast_ptr model) {
  if (!is_current(session)) return;
  if (opening_ == 0 && run_) return machine_.on_broadcast(std::move(model));
  on_unreadable(session, "sent a model before this node was ready");
}

void node_role::on_unreadable(session_number session, const std::string& why) {
  if (!is_current(session)) return;
  leave_gateway(why);
  advance();
}

void node_role::keep_unread(protocol::control&& message, std::size_t bytes) {
  auto waiting = bytes;
  for (const auto& unread : unread_) waiting += unread.bytes;
  if (waiting <= most_unread) return unread_.push_back({std::move(message), bytes});
  leave_gateway("sent more than " + std::to_string(most_unread) + " bytes before this node was ready");
}

void node_role::receive(protocol::control&& message) {
  if (const auto* elsewhere = std::get_if<protocol::redirect>(&message))
    return perform(machine_.on_redirect(*elsewhere));
  if (const auto* notice = std::get_if<protocol::close_notice>(&message)) {
    host_.log(log_level::info, "the gateway says: " + notice->why);
    last_failure_ = notice->why;
    return perform(machine_.on_close_notice(*notice));
  }
  if (const auto* content = std::get_if<protocol::welcome>(&message)) return receive(*content);
  if (const auto* given = std::get_if<protocol::assignment>(&message)) return receive(*given);
  if (const auto* received = std::get_if<protocol::letters>(&message)) return receive(*received);
  if (const auto* judged = std::get_if<protocol::verdicts>(&message)) {
    host_.heard(*judged);
    return perform(machine_.on_verdicts(*judged));
  }
  if (const auto* durable = std::get_if<protocol::checkpointed>(&message))
    return perform(machine_.on_checkpointed(durable->version));
  if (auto* asked = std::get_if<protocol::evaluation_request>(&message)) return receive(std::move(*asked));
  leave_gateway("sent a message that gateways do not send");
}

void node_role::receive(const protocol::welcome& content) {
  pause_.reset();
  welcomed_ = true;
  host_.log(log_level::info, "the gateway accepted this node, which waits for tasks");
  if (run_) host_.admitted(session_);
  perform(machine_.on_welcome(content));
}

void node_role::receive(const protocol::assignment& given) {
  auto effects = machine_.on_assignment(given);
  if (!effects) return leave_gateway(effects.error().text());
  violation_.reset();
  perform(std::move(*effects));
  if (!masked_ || over_ || masked_->secrets().enters_trained()) return;
  protocol::letters keys;
  const auto from = machine_.model(given.version);
  for (const auto& chosen : given.tasks)
    if (const task_id id{given.run, given.version, chosen.client, chosen.attempt}; from && machine_.wants(id))
      keys.each.push_back(masked_->secrets().enter(id, from));
  if (!keys.each.empty()) send(std::move(keys));
}

void node_role::receive(const protocol::letters& received) {
  if (!masked_) return leave_gateway("sent letters of secure aggregation, which this run does not use");
  protocol::letters answers;
  for (const auto& letter : received.each) {
    auto answer = masked_->secrets().on_letter(letter);
    if (!answer.refused.empty()) host_.log(log_level::warning, "secure aggregation: " + answer.refused);
    if (answer.letter) answers.each.push_back(std::move(*answer.letter));
    if (answer.ready && masked_->waits(letter.task) && machine_.wants(letter.task))
      perform({protocol::send_update{letter.task}});
    if (answer.over) perform(machine_.on_unmaskable(letter.task));
    if (over_) return;
  }
  const auto& confirmed = run_->confirmed;
  if (confirmed.lists && confirmed.keep)
    if (auto kept = confirmed.keep(confirmed.lists->take_new()); !kept)
      return finish({"its store failed", kept.error()});
  if (!answers.each.empty()) send(std::move(answers));
}

void node_role::receive(protocol::evaluation_request&& asked) {
  const auto from = machine_.model(asked.version);
  if (!from) return leave_gateway("asked for scores on a model that it did not send");
  for (std::size_t first = 0; first < asked.clients.size(); first += clients_per_scoring) {
    const auto begin = asked.clients.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = std::min(clients_per_scoring, asked.clients.size() - first);
    work_.add(scoring{session_, from, {begin, begin + static_cast<std::ptrdiff_t>(count)}});
  }
}

}  // namespace furlong::federated::processes
