#include "federated/privacy/secure_aggregation/secure_server.hpp"

#include <algorithm>

#include "federated/privacy/secure_aggregation/detail/secure_server_client.hpp"

namespace furlong::federated::privacy {

using detail::byte_reader;
using detail::byte_writer;
using detail::public_keys;

secure_server::secure_server(const std::vector<task_id>& cohort, std::uint64_t version, adversary_kind against,
                             known_inputs inputs, crypto::random_source random, key_check check)
    : version_(version),
      against_(against),
      inputs_(std::move(inputs)),
      random_(std::move(random)),
      check_(std::move(check)) {
  for (const auto& id : cohort) clients_.emplace(id.client, client{id});
  waited_for_ = clients_.size();
}

secure_server::~secure_server() = default;

secure_server::client* secure_server::find(const task_id& task) {
  const auto found = clients_.find(task.client);
  return found != clients_.end() && found->second.task == task ? &found->second : nullptr;
}

bool secure_server::on_letter(const secure_letter& letter, secure_letters& out) {
  auto* sender = find(letter.task);
  if (sender == nullptr || sender->gone || at_ == stage::failed || at_ == stage::open) return true;
  const auto content = sha256(std::as_bytes(std::span(letter.content)));
  if (const auto seen = sender->received.find(letter.step); seen != sender->received.end() && seen->second == content) {
    // It has not got the answer, or there is none yet.
    if (letter.step == secure_step::keys && at_ == stage::shares) out.push_back(neighbours_of(*sender));
    if (letter.step == secure_step::shares && at_ == stage::masking) out.push_back(peers_of(*sender));
    if (letter.step == secure_step::confirm && sender->was_answered) out.push_back(confirmations_of(*sender));
    return true;
  }
  const auto take = [&] {
    if (sender->received.contains(letter.step)) return false;
    if (letter.step == secure_step::keys) return at_ == stage::keys && take_keys(*sender, letter.content);
    if (letter.step == secure_step::shares) return at_ == stage::shares && take_shares(*sender, letter.content);
    if (letter.step == secure_step::confirm) return at_ == stage::unmasking && take_tags(*sender, letter.content);
    return letter.step == secure_step::reveal && at_ == stage::unmasking && take_reveal(*sender, letter.content);
  };
  if (!take()) {
    on_gone(letter.task, out);
    return false;
  }
  sender->received[letter.step] = content;
  if (letter.step == secure_step::confirm) {
    answer_tags(*sender, out);
    for (const auto number : sender->neighbours) answer_tags(clients_.at(number), out);
    return true;
  }
  --waited_for_;
  advance(out);
  return true;
}

/// Whether the client has done its part of this stage.
bool secure_server::is_done(const client& member) const {
  return at_ == stage::keys ? member.has_keys : at_ == stage::shares ? member.has_shares : member.revealed;
}

bool secure_server::has(const task_id& task) const {
  const auto found = clients_.find(task.client);
  return found != clients_.end() && found->second.task == task;
}

std::size_t secure_server::present() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(clients_, [](const auto& entry) { return !entry.second.gone; }));
}

/// A new stage begins.
void secure_server::enter(stage next) {
  at_ = next;
  waited_for_ = static_cast<std::size_t>(
      std::ranges::count_if(clients_, [&](const auto& entry) { return !entry.second.gone && !is_done(entry.second); }));
}

void secure_server::on_gone(const task_id& task, secure_letters& out) {
  auto* member = find(task);
  if (member == nullptr || std::exchange(member->gone, true)) return;
  if (!is_done(*member)) --waited_for_;
  if (at_ == stage::unmasking) leave_out_unconfirmed(*member);
  advance(out);
}

std::vector<task_id> secure_server::stop_waiting(secure_letters& out) {
  std::vector<task_id> silent;
  if (at_ != stage::keys && at_ != stage::shares) return silent;
  for (auto& [number, member] : clients_) {
    if (member.gone || is_done(member)) continue;
    member.gone = true;
    silent.push_back(member.task);
  }
  waited_for_ = 0;
  advance(out);
  return silent;
}

void secure_server::fail(std::string why, secure_letters& out) {
  if (at_ == stage::failed) return;
  at_ = stage::failed;
  failure_ = std::move(why);
  removal_ = {};
  for (auto& [number, member] : clients_) {
    member.sealed.clear();
    member.shares.clear();
    if (!member.gone) out.push_back({member.task, secure_step::abandon, {}});
  }
}

/// Continues when all clients have done their part of the stage.
void secure_server::advance(secure_letters& out) {
  if (at_ == stage::unmasking) return open_if_possible(out);
  if (waited_for_ > 0) return;
  if (at_ == stage::keys) return send_neighbours(out);
  if (at_ == stage::shares) send_peers(out);
}

// ---- keys and shares -----------------------------------------------------------------------------------------------

bool secure_server::take_keys(client& sender, crypto::bytes_view content) {
  // A client whose keys its neighbours would refuse drops out, not they. Any secret key finds the points of low
  // order.
  static const crypto::agreement_key any(crypto::key{1});
  byte_reader in(content);
  sender.keys.read(in);
  const auto certificate = in.text();
  const auto signature = in.text();
  if (!in.done() || !detail::is_short(certificate, signature)) return false;
  if (!any.agree(sender.keys.sealing) || !any.agree(sender.keys.masking)) return false;
  if (const auto known = inputs_.models.find(sender.task.version);
      known != inputs_.models.end() && known->second != sender.keys.model)
    return false;
  if (check_) {
    const auto statement = detail::key_statement(sender.task, sender.keys, inputs_.terms);
    if (!check_(sender.task.client, certificate, statement, signature).empty()) return false;
  }
  sender.certificate.assign(certificate.begin(), certificate.end());
  sender.signature.assign(signature.begin(), signature.end());
  return sender.has_keys = true;
}

void secure_server::send_neighbours(secure_letters& out) {
  std::vector<client*> present;
  for (auto& [number, member] : clients_)
    if (member.has_keys && !member.gone) present.push_back(&member);
  parameters_ = parameters_for(static_cast<std::uint32_t>(present.size()), against_);
  if (present.size() < fewest_clients)
    return fail(std::to_string(present.size()) + " clients sent keys, and secure aggregation needs " +
                    std::to_string(fewest_clients),
                out);
  enter(stage::shares);
  const auto graph = draw_graph(parameters_.clients, parameters_.degree, random_);
  for (std::size_t i = 0; i < present.size(); ++i)
    for (const auto position : graph[i]) present[i]->neighbours.push_back(present[position]->task.client);
  for (const auto* member : present) out.push_back(neighbours_of(*member));
}

secure_letter secure_server::neighbours_of(const client& member) const {
  byte_writer list;
  std::vector<const crypto::bytes*> certificates;  // clients of a node have one
  for (const auto number : member.neighbours) {
    const auto& entry = clients_.at(number);
    auto known = std::ranges::find(certificates, entry.certificate, [](const auto* text) { return *text; });
    if (known == certificates.end()) known = certificates.insert(certificates.end(), &entry.certificate);
    list.number(number).number(entry.task.version).number(entry.task.attempt);
    entry.keys.write(list);
    list.number(static_cast<std::uint32_t>(known - certificates.begin())).text(entry.signature);
  }
  byte_writer out;
  out.number(version_).number(parameters_.clients).number(static_cast<std::uint32_t>(certificates.size()));
  for (const auto* text : certificates) out.text(*text);
  out.number(static_cast<std::uint32_t>(member.neighbours.size())).raw(list.take());
  return {member.task, secure_step::neighbours, out.take()};
}

bool secure_server::take_shares(client& sender, crypto::bytes_view content) {
  byte_reader in(content);
  const auto count = in.count(2 * sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto recipient = in.number<std::uint32_t>();
    const auto sealed = in.text();
    if (!std::ranges::binary_search(sender.neighbours, recipient) || sealed.size() != detail::sealed_bytes)
      return false;
    sender.sealed[recipient].assign(sealed.begin(), sealed.end());
  }
  return sender.has_shares =
             in.done() && !sender.neighbours.empty() && sender.sealed.size() == sender.neighbours.size();
}

void secure_server::send_peers(secure_letters& out) {
  std::size_t present = 0;
  std::size_t fewest = parameters_.degree;
  for (const auto& [number, member] : clients_) {
    if (!member.has_shares) continue;
    ++present;
    fewest = std::min<std::size_t>(fewest, static_cast<std::size_t>(std::ranges::count_if(
                                               member.neighbours, [&](auto n) { return clients_.at(n).has_shares; })));
  }
  if (present < parameters_.survivors || fewest < parameters_.threshold)
    return fail(std::to_string(present) + " of " + std::to_string(parameters_.clients) +
                    " clients sent shares, and secure aggregation needs " + std::to_string(parameters_.survivors),
                out);
  enter(stage::masking);
  for (const auto& [number, member] : clients_)
    if (member.has_shares && !member.gone) out.push_back(peers_of(member));
}

secure_letter secure_server::peers_of(const client& member) const {
  byte_writer list;
  std::uint32_t count = 0;
  for (const auto number : member.neighbours) {
    const auto& entry = clients_.at(number);
    if (!entry.has_shares) continue;
    list.number(number).text(entry.sealed.at(member.task.client));
    ++count;
  }
  byte_writer out;
  return {member.task, secure_step::peers, out.number(count).raw(list.take()).take()};
}

// ---- the survivors -------------------------------------------------------------------------------------------------

void secure_server::begin_unmasking(const std::vector<task_id>& survivors, secure_letters& out) {
  if (at_ == stage::failed) return;
  if (at_ != stage::masking) return fail("the round ended before its clients had exchanged keys", out);
  for (const auto& id : survivors) {
    auto* member = find(id);
    if (member == nullptr || !member->has_shares || std::exchange(member->survives, true))
      return fail("the sum has an update of client " + std::to_string(id.client) + ", which exchanged no keys", out);
  }
  if (survivors.size() < parameters_.survivors)
    return fail(std::to_string(survivors.size()) + " updates of " + std::to_string(parameters_.clients) +
                    " clients, and secure aggregation opens the sum of at least " +
                    std::to_string(parameters_.survivors),
                out);
  byte_writer list;
  list.number(static_cast<std::uint32_t>(survivors.size()));
  std::uint32_t before = 0;
  for (const auto& [number, member] : clients_)
    if (member.survives) list.short_number(number - std::exchange(before, number));
  survivors_ = list.take();
  const auto spare =
      survivors.size() - std::min<std::size_t>(survivors.size(), std::max(inputs_.fewest, parameters_.survivors));
  for (auto& [number, member] : clients_) {
    member.sealed.clear();
    member.gone = !member.survives;
    const auto count = [this, &neighbours = member.neighbours](auto what) {
      return static_cast<std::size_t>(
          std::ranges::count_if(neighbours, [&](auto peer) { return clients_.at(peer).*what; }));
    };
    member.fewest_tags = detail::fewest_confirmations(count(&client::has_shares), count(&client::survives), spare,
                                                      parameters_.threshold);
    if (needs_shares(member)) ++lacking_;
    if (member.survives) out.push_back(request_to(member));
  }
  enter(stage::unmasking);
}

/// Masks that only shares of this client's secret remove are in the sum.
bool secure_server::needs_shares(const client& member) const {
  return member.survives || (member.has_shares && std::ranges::any_of(member.neighbours, [&](auto number) {
                               return clients_.at(number).survives;
                             }));
}

secure_letter secure_server::request_to(const client& member) const {
  return {member.task, secure_step::unmask, survivors_};
}

// ---- confirmations -------------------------------------------------------------------------------------------------

bool secure_server::take_tags(client& sender, crypto::bytes_view content) {
  if (!sender.survives) return false;
  byte_reader in(content);
  const auto count = in.count(sizeof(std::uint32_t) + sizeof(detail::list_tag));
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = in.number<std::uint32_t>();
    detail::list_tag tag{};
    in.array(tag);
    if (!std::ranges::binary_search(sender.neighbours, number)) return false;
    auto& recipient = clients_.at(number);
    if (!recipient.survives) return false;
    if (!recipient.was_answered) recipient.tags.emplace(sender.task.client, tag);
  }
  return sender.has_confirmed = in.done();
}

secure_letter secure_server::confirmations_of(const client& member) const {
  byte_writer out;
  out.number(static_cast<std::uint32_t>(member.tags.size()));
  for (const auto& [sender, tag] : member.tags) out.number(sender).raw(tag);
  return {member.task, secure_step::confirmed, out.take()};
}

/// Once it and enough of its peers have confirmed: nobody waits for a client that is silent.
void secure_server::answer_tags(client& member, secure_letters& out) {
  if (!member.has_confirmed || member.was_answered || member.gone || member.tags.size() < member.fewest_tags) return;
  member.was_answered = true;
  out.push_back(confirmations_of(member));
}

/// Survivors of which too many peers are gone will never reveal anything.
void secure_server::leave_out_unconfirmed(const client& gone) {
  std::vector<const client*> next{&gone};
  while (!next.empty()) {
    const auto* sender = next.back();
    next.pop_back();
    for (const auto number : sender->neighbours) {
      auto& member = clients_.at(number);
      if (!member.survives || member.gone || member.was_answered) continue;
      const auto possible = std::ranges::count_if(member.neighbours, [&](auto peer) {
        const auto& entry = clients_.at(peer);
        return member.tags.contains(peer) || (entry.survives && !entry.gone && !entry.has_confirmed);
      });
      if (static_cast<std::size_t>(possible) >= member.fewest_tags) continue;
      member.gone = true;
      --waited_for_;
      next.push_back(&member);
    }
  }
}

}  // namespace furlong::federated::privacy
