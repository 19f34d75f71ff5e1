#include "federated/processes/uplink.hpp"

#include <memory>
#include <utility>
#include <variant>

#include "base/narrow_variant.hpp"
#include "federated/processes/kernel_choice.hpp"
#include "federated/processes/seconds_text.hpp"

namespace furlong::federated::processes {

namespace {

/// Messages that may wait while a run is prepared: as long as no node is ready a parent has little to say.
constexpr std::size_t most_unread_messages = 1024;

/// An aggregator that is rejected during the run has failed, and so has one whose run has.
std::optional<error> refusal(const protocol::close_notice& notice) {
  if (notice.failed) return error{error::kind::runtime, "the parent", notice.why, notice.remedy};
  if (!notice.unwanted) return std::nullopt;
  return error{error::kind::usage, "the parent rejects this aggregator", notice.why, notice.remedy};
}

}  // namespace

// ---- the session ---------------------------------------------------------------------------------------------------

void uplink::start() {
  without_relay_since_ = host_.now();
  if (settings_.give_up > 0) host_.wake(without_relay_since_ + settings_.give_up);
  connect();
}

void uplink::connect() {
  state_ = session_state::opening;
  host_.connect(++session_, address_);
}

void uplink::on_opened(session_number session) {
  if (over_ || session != session_ || state_ != session_state::opening) return host_.close(session);
  state_ = session_state::open;
  auto hello = settings_.hello;
  auto own = own_kernels();
  hello.kernel_level = std::move(own.level);
  hello.kernel_levels = std::move(own.levels);
  host_.send(session_, std::move(hello));
}

void uplink::on_closed(session_number session, const session_end& end) {
  if (over_ || session != session_ || state_ == session_state::none) return;
  state_ = session_state::none;
  if (end.denied) return finish(end.why, false, refusal({end.why, true, true}));
  leave_parent(end.why);
}

void uplink::end_session() {
  if (state_ == session_state::open) host_.close(session_);
  state_ = session_state::none;
  welcome_.reset();
  unread_.clear();
}

/// Connects again after a pause, at the first address.
void uplink::leave_parent(const std::string& why, bool violates) {
  if (leaving_) return finish(leaving_->why, true, refusal(*leaving_));
  if (own_failure_) return finish(why, false, own_failure_);
  if (violates)
    host_.violated(why);
  else
    host_.log(log_level::warning, "the parent: " + why);
  end_relay({"the aggregator lost its parent", false});
  end_session();
  address_ = settings_.server;
  connect_at_ = host_.now() + pause_.next();
  host_.wake(connect_at_);
}

/// The same for a failure that a new session may not cure. The aggregator ends if the failure repeats.
void uplink::leave_for(const std::string& why) {
  if (!failure_.is_permanent(why)) return leave_parent(why);
  finish("every session ended so: " + why, false, error{error::kind::runtime, "the parent", why, same_build_remedy});
}

void uplink::finish(const std::string& why, bool is_final, const std::optional<error>& failure) {
  over_ = true;
  end_relay({why, is_final});
  if (state_ == session_state::open && !is_final) host_.send(session_, protocol::close_notice{why, false});
  end_session();
  host_.over({why, failure});
}

void uplink::on_stop() {
  if (!over_) finish("the aggregator was stopped", false);
}

void uplink::on_wake() {
  if (over_) return;
  const auto without_relay = host_.now() - without_relay_since_;
  if (settings_.give_up > 0 && !has_relay_ && without_relay >= settings_.give_up)
    return finish("the aggregator gave up", false,
                  error{error::kind::runtime, "--server", "no parent for " + seconds_text(without_relay) + " s",
                        "check that it runs and accepts this aggregator, or wait longer with --give-up"});
  if (state_ == session_state::none && host_.now() >= connect_at_) connect();
}

// ---- messages of the parent ----------------------------------------------------------------------------------------

void uplink::on_message(session_number session, protocol::control&& message) {
  if (!is_current(session)) return;
  if (welcome_ && !has_relay_) return keep_unread(std::move(message));
  receive(std::move(message));
}

void uplink::keep_unread(protocol::control&& message) {
  if (unread_.size() < most_unread_messages) return unread_.push_back(std::move(message));
  leave_parent("sent more than " + std::to_string(most_unread_messages) + " messages before this aggregator was ready",
               true);
}

void uplink::on_model(session_number session, broadcast_ptr model) {
  if (!is_current(session)) return;
  if (welcome_) return models_.add(std::move(model));
  leave_parent("sent a model before its welcome", true);
}

void uplink::on_unexpected(session_number session) {
  if (is_current(session)) leave_parent("sent a message that parents do not send", true);
}

void uplink::on_undecodable(session_number session, const error& reason) {
  if (is_current(session)) leave_for(reason.text());
}

void uplink::receive(protocol::control&& message) {
  if (const auto* notice = std::get_if<protocol::close_notice>(&message)) return receive(*notice);
  if (const auto* content = std::get_if<protocol::welcome>(&message)) return welcomed(*content);
  if (const auto* target = std::get_if<protocol::redirect>(&message)) return receive(*target);
  if (!has_relay_) return leave_parent("sent another message before its welcome", true);
  if (auto* tasks = std::get_if<protocol::assignment>(&message)) return receive(std::move(*tasks));
  if (auto* request = std::get_if<protocol::evaluation_request>(&message)) return receive(std::move(*request));
  auto content = narrow_variant<protocol::downward>(std::move(message));
  if (!content) return on_unexpected(session_);
  host_.tell_relay(std::move(*content));
}

void uplink::receive(const protocol::redirect& target) {
  if (has_relay_) return leave_parent("redirected this aggregator after its welcome", true);
  host_.log(log_level::info, "the parent redirects this aggregator to " + target.address);
  end_session();
  address_ = target.address;
  connect();
}

/// Ends the session at the end of the run, which tells the parent that the nodes know it.
void uplink::receive(const protocol::close_notice& notice) {
  if (!notice.final) return leave_parent(notice.why);
  if (!has_relay_) return finish(notice.why, true, refusal(notice));
  if (leaving_) return;
  leaving_ = notice;
  host_.close_relay(notice);
}

void uplink::receive(protocol::assignment&& message) {
  auto share = models_.share_of(message);
  if (!share) return leave_parent("assigned tasks on a model that it has not sent", true);
  host_.tell_relay(std::move(*share));
}

void uplink::receive(protocol::evaluation_request&& message) {
  auto request = models_.request_of(std::move(message));
  if (!request) return leave_parent("requested scores of a model that it has not sent", true);
  host_.tell_relay(std::move(*request));
}

// ---- the run and its relay -----------------------------------------------------------------------------------------

void uplink::welcomed(const protocol::welcome& content) {
  if (has_relay_) return leave_parent("welcomed this aggregator twice", true);
  welcome_ = content;
  ++preparing_;
  host_.prepare(content);
}

void uplink::on_prepared(const result<void>& prepared) {
  if (--preparing_ > 0 || over_ || !welcome_) return;  // of a session that has ended
  if (!prepared) return finish("cannot run the scenario: " + prepared.error().text(), false, prepared.error());
  pause_.reset();
  host_.admitted(session_);
  host_.log(log_level::info, "the parent accepted this aggregator, as number " + std::to_string(welcome_->aggregator));
  has_relay_ = true;
  host_.open_relay(*welcome_);
  const auto session = session_;
  for (auto& message : std::exchange(unread_, {}))
    if (is_current(session)) receive(std::move(message));
}

void uplink::end_relay(const protocol::close_notice& notice) {
  models_.clear();
  if (!std::exchange(has_relay_, false)) return;
  host_.close_relay(notice);
  without_relay_since_ = host_.now();
  if (settings_.give_up > 0) host_.wake(without_relay_since_ + settings_.give_up);
}

void uplink::on_upward(protocol::upward&& content) {
  if (!has_relay_ || state_ != session_state::open) return;
  if (auto report = narrow_variant<protocol::control>(std::move(content)))
    return host_.send(session_, std::move(*report));
  host_.send(session_, std::make_shared<const partial_aggregate>(std::move(std::get<partial_aggregate>(content))));
  failure_.reset();
}

void uplink::on_relay_ended(const std::string& reason) {
  if (over_ || !has_relay_) return;
  if (!leaving_) return leave_for("an actor of this aggregator ended: " + reason);
  has_relay_ = false;
  finish(leaving_->why, true, refusal(*leaving_));
}

/// At the end of a run it ends before the relay.
void uplink::on_gateway_ended(const std::string& reason) {
  if (!over_ && has_relay_ && !leaving_) leave_for("an actor of this aggregator ended: " + reason);
}

void uplink::on_run_failure(const error& reason) {
  if (over_ || own_failure_) return;
  own_failure_ = reason;
  if (state_ != session_state::open) return finish(reason.text(), false, reason);
  host_.send(session_, protocol::close_notice{reason.text(), false, false, {}, true});
}

}  // namespace furlong::federated::processes
