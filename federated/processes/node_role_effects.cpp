// What a node does for node_machine, and how it opens a run.
#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "federated/client/client_work.hpp"
#include "federated/processes/kernel_choice.hpp"
#include "federated/processes/node_role.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"

namespace furlong::federated::processes {

/// Effects of effects follow those that are there.
void node_role::perform(protocol::node_effects effects) {
  std::ranges::move(effects, std::back_inserter(effects_));
  if (std::exchange(performing_, true)) return;
  while (!effects_.empty() && !over_) {
    auto effect = std::move(effects_.front());
    effects_.pop_front();
    std::visit([this](auto&& content) { perform_one(std::move(content)); }, std::move(effect));
  }
  effects_.clear();
  performing_ = false;
}

void node_role::send(protocol::control message) {
  if (is_open_) host_.send(session_, std::move(message));
}

void node_role::perform_one(protocol::connect&& effect) {
  to_open_ = std::move(effect.address);
  // The first attempt, and one after a redirection, are immediate.
  open_at_ = host_.now() + (std::exchange(lost_, false) ? pause_.next() : 0);
  host_.wake(open_at_);
}

void node_role::perform_one(protocol::say_hello&& effect) {
  auto own = own_kernels();
  effect.content.kernel_level = std::move(own.level);
  effect.content.kernel_levels = std::move(own.levels);
  send(std::move(effect.content));
}

void node_role::perform_one(const protocol::say_ready& effect) {
  send(protocol::ready{effect.run, machine_.claim(), run_->sizes});
}

void node_role::perform_one(const protocol::send_update& effect) {
  const auto found = held_.find(effect.task);
  if (found == held_.end()) return;
  auto& held = found->second;
  if (!held.update && !mask(effect.task, held)) return;
  if (is_open_) host_.send(session_, held.update);
}

bool node_role::mask(const task_id& task, held_update& held) {
  const auto give_up = [&](const std::string& why) {
    host_.log(log_level::warning, "client " + std::to_string(task.client) + " failed: " + why);
    perform(machine_.on_unmaskable(task));
    return false;
  };
  if (!masked_) return false;
  try {
    auto [made, update] = masked_->report(task);
    if (made.what == masking::kind::never) return give_up(made.why);
    if (made.what == masking::kind::waits) {
      if (made.letter) send(protocol::letters{{std::move(*made.letter)}});
      return false;
    }
    auto encoded = host_.encode(*run_, std::move(update));
    if (!encoded) return give_up(encoded.error().text());
    held.update = std::move(*encoded);
    return true;
  } catch (const models::broken_part& broken) {  // the rule, which makes the words that are masked
    finish({"the aggregation rule failed", broken.why});
    return false;
  }
}

void node_role::perform_one(const protocol::send_failure& effect) {
  const auto dropped = dropped_.find(effect.task);
  if (dropped == dropped_.end()) return send(protocol::task_failures{{effect.task}});
  if (is_open_) host_.send_dropped(session_, effect.task, dropped->second);
}

void node_role::perform_one(const protocol::keep& effect) {
  const auto found = held_.find(effect.task);
  if (found != held_.end()) store_values(effect.task, found->second, effect.version);
}

void node_role::perform_one(const protocol::release& effect) {
  if (masked_) masked_->forget(effect.task);
  plain_.erase(effect.task);
  auto released = held_.extract(effect.task);
  if (released.empty()) return;
  if (effect.in_model) store_values(effect.task, released.mapped(), effect.task.version);
  if (run_ && stages_values(run_->e->settings)) discard_values(effect.task);
}

void node_role::perform_one(const protocol::cover& effect) {
  work_.then({store_action::need::own_store, 0, [this, version = effect.version] {
                if (!run_) return;
                run_->store->covered(version);
                static_cast<void>(save(version));
              }});
}

void node_role::perform_one(const protocol::send_close_notice& effect) {
  if (!is_open_) return perform(machine_.on_disconnected());
  send(protocol::close_notice{effect.why, false});
  // After that the server does not wait for the updates either.
  const auto wait = run_ ? run_->e->settings.network->task_timeout : network_settings{}.task_timeout;
  close_until_ = host_.now() + from_seconds(wait);
  host_.wake(*close_until_);
}

void node_role::perform_one(const protocol::close_session&) {
  end_session();
  if (std::exchange(is_open_, false)) host_.close(session_);
  ++session_;  // a session that is being opened is not wanted either
}

void node_role::perform_one(const protocol::stop_node& effect) {
  if (ending_) return;
  const auto remedy = [&](const char* usual) { return effect.remedy.empty() ? usual : effect.remedy; };
  node_end end{effect.why, {}, true};
  if (effect.failed)
    end.failure = error{error::kind::runtime, "the server", effect.why, effect.remedy};
  else if (effect.refused)
    end.failure = error{error::kind::usage, "the gateway rejects this node", effect.why,
                        remedy("correct --clients, --server or --tls")};
  else if (effect.unwanted)
    end.failure = error{error::kind::usage, "the gateway ended the session for good", effect.why,
                        remedy("host every client on one node only, with a certificate that is not denied")};
  ending_ = std::move(end);  // once the workers are done: values of updates in the model are stored and durable
  to_open_.reset();
}

// ---- the run
// ---------------------------------------------------------------------------------------------------------

void node_role::perform_one(protocol::open_run&& effect) {
  ++opening_;
  work_.cancel_scorings();
  work_.then({store_action::need::no_wave, 0, [this, content = std::move(effect.content)] { prepare(content); }});
}

void node_role::prepare(const protocol::welcome& content) {
  sync_values();
  if (over_ || ending_) return;
  if (masked_) plain_ = masked_->take_waiting();
  masked_.reset();
  run_ = nullptr;                                      // closes the store of the previous run
  for (auto& [task, held] : held_) held.kept = false;  // the server may have resumed from an earlier checkpoint
  covered_ = content.covered;
  work_.hold();
  host_.prepare(content);
}

void node_role::on_prepared(result<node_run_ptr> prepared) {
  if (over_) return;
  if (!prepared) return finish({"cannot run the scenario", prepared.error()});
  run_ = std::move(*prepared);
  const auto& e = *run_->e;
  work_.begin(run_->work);
  run_->store->covered(covered_);
  machine_.set_claim(run_->claim);
  if (e.settings.privacy->secure_aggregation) {
    for (auto& [task, held] : held_) held.update.reset();  // masked for sums of another life of the server
    masked_.emplace(e, run_->identity, run_->confirmed.lists, std::exchange(plain_, {}));
  }
  if (is_open_) host_.admitted(session_);
  const auto pending = restore_pending();
  if (!pending) return finish({"its store failed", pending.error()});
  --opening_;
  perform(machine_.on_run_opened(*pending));
  for (auto& unread : std::exchange(unread_, {})) {
    if (!is_open_ || over_) break;
    if (opening_ > 0)
      keep_unread(std::move(unread.content), unread.bytes);
    else
      receive(std::move(unread.content));
  }
  advance();
}

/// The tasks of pending values in the store that the node does not hold; from now on it does.
result<std::vector<task_id>> node_role::restore_pending() {
  std::vector<task_id> found;
  if (!stages_values(run_->e->settings)) return found;
  return run_->store
      ->visit_pending([&](const task_id& task, const models::private_parameters& own) {
        if (!settings_.clients.contains(task.client) || held_.contains(task) || machine_.counts(task)) return;
        held_[task] = {nullptr, std::make_shared<const models::packed_private>(own), host_.now()};
        found.push_back(task);
      })
      .map([&] { return found; });
}

}  // namespace furlong::federated::processes
