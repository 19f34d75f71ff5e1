#include "federated/protocol/secure_round.hpp"

#include <algorithm>
#include <iterator>

#include "federated/privacy/secure_aggregation/secure_server.hpp"

namespace furlong::federated::protocol {

using privacy::secure_letter;
using privacy::secure_letters;
using stage = privacy::secure_server::stage;

secure_round::secure_round() = default;
secure_round::~secure_round() = default;

void secure_round::reset() {
  end();
  letters_.clear();
  excluded_.clear();
}

void secure_round::begin(std::unique_ptr<privacy::secure_server> server) { server_ = std::move(server); }

void secure_round::end() {
  server_.reset();
  phase_ = phase::exchange;
}

bool secure_round::has(const task_id& task) const { return server_ && server_->has(task); }

bool secure_round::has_all(std::size_t updates) const {
  return server_ && server_->at() == stage::masking && updates >= server_->present();
}

bool secure_round::exchanges_keys() const { return server_ && server_->at() == stage::keys; }

std::size_t secure_round::sent_keys() const { return server_ ? server_->parameters().clients : 0; }

bool secure_round::receive(const secure_letter& letter) { return !server_ || server_->on_letter(letter, letters_); }

std::vector<task_id> secure_round::stop_waiting() {
  return server_ ? server_->stop_waiting(letters_) : std::vector<task_id>{};
}

void secure_round::leave(const task_id& task) {
  std::erase_if(waiting_, [&](const secure_letter& keys) { return keys.task == task; });
  if (server_) server_->on_gone(task, letters_);
}

bool secure_round::is_excluded(const task_id& task) const {
  return std::ranges::find(excluded_, task) != excluded_.end();
}

void secure_round::add_waiting(const secure_letter& keys) {
  if (keys.content.size() > privacy::longest_keys) return exclude(keys.task);
  const auto known = std::ranges::find(waiting_, keys.task, &secure_letter::task);
  if (known == waiting_.end())
    waiting_.push_back(keys);
  else
    known->content = keys.content;
}

secure_letters secure_round::take_waiting(std::size_t clients) {
  const auto last = waiting_.begin() + static_cast<std::ptrdiff_t>(clients);
  secure_letters keys(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(last));
  waiting_.erase(waiting_.begin(), last);
  return keys;
}

bool secure_round::begin_unmasking(const std::vector<task_id>& survivors) {
  phase_ = phase::unmasking;
  server_->begin_unmasking(survivors, letters_);
  return server_->at() == stage::unmasking;
}

void secure_round::ask_again(const task_id& survivor, bool holds_task) {
  if (!is_unmasking()) return;
  if (!holds_task)
    server_->on_gone(survivor, letters_);
  else if (auto request = server_->unanswered(survivor))
    letters_.push_back(std::move(*request));
}

std::shared_ptr<const privacy::mask_removal> secure_round::removal() {
  if (!server_ || is_removing() || server_->at() != stage::open) return nullptr;
  phase_ = phase::removal;
  return std::make_shared<const privacy::mask_removal>(server_->removal());
}

void secure_round::fail(std::string reason) {
  phase_ = phase::unmasking;
  server_->fail(std::move(reason), letters_);
}

bool secure_round::has_failed() const { return server_ && !is_removing() && server_->at() == stage::failed; }

const std::string& secure_round::failure() const { return server_->failure(); }

}  // namespace furlong::federated::protocol
