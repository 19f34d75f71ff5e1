#include "federated/privacy/secure_aggregation/secure_server.hpp"

#include <algorithm>
#include <optional>

#include "federated/privacy/secure_aggregation/detail/keys.hpp"
#include "federated/privacy/secure_aggregation/shamir.hpp"

namespace furlong::federated::privacy {

using detail::byte_reader;
using detail::byte_writer;
using detail::public_keys;

/// What is known of a client of the cohort.
struct secure_server::client {
  task_id task;
  bool gone = false;  ///< it sends no more letters
  bool has_keys = false;
  bool has_shares = false;
  bool survives = false;
  bool revealed = false;
  digest received = {};  ///< of its newest letter
  secure_step step = secure_step::abandon;
  public_keys keys = {};
  crypto::bytes certificate = {};
  crypto::bytes signature = {};
  std::vector<std::uint32_t> neighbours = {};          ///< ascending
  std::map<std::uint32_t, crypto::bytes> sealed = {};  ///< by the neighbour that they are for
  std::vector<std::uint32_t> holders = {};             ///< of the shares that were revealed of its secret
  std::vector<secret_share> shares = {};
};

secure_server::secure_server(const std::vector<task_id>& cohort, adversary_kind against, crypto::random_source random)
    : against_(against), random_(std::move(random)) {
  for (const auto& id : cohort) clients_.emplace(id.client, client{id});
}

secure_server::~secure_server() = default;

secure_server::client* secure_server::find(const task_id& task) {
  const auto at = clients_.find(task.client);
  return at != clients_.end() && at->second.task == task ? &at->second : nullptr;
}

bool secure_server::on_letter(const secure_letter& letter, secure_letters& out) {
  auto* from = find(letter.task);
  if (from == nullptr || from->gone || at_ == stage::failed || at_ == stage::open) return true;
  const auto content = sha256(std::as_bytes(std::span(letter.content)));
  if (from->step == letter.step && from->received == content) {  // it has not got the answer, or there is none yet
    if (letter.step == secure_step::keys && at_ == stage::shares) out.push_back(neighbours_of(*from));
    if (letter.step == secure_step::shares && at_ == stage::masking) out.push_back(peers_of(*from));
    return true;
  }
  const bool sound = letter.step == secure_step::keys     ? at_ == stage::keys && take_keys(*from, letter.content)
                     : letter.step == secure_step::shares ? at_ == stage::shares && take_shares(*from, letter.content)
                     : letter.step == secure_step::reveal
                         ? at_ == stage::unmasking && take_reveal(*from, letter.content)
                         : false;
  if (!sound) {
    on_gone(letter.task, out);
    return false;
  }
  from->step = letter.step;
  from->received = content;
  advance(out);
  return true;
}

void secure_server::on_gone(const task_id& task, secure_letters& out) {
  auto* of = find(task);
  if (of == nullptr || std::exchange(of->gone, true)) return;
  advance(out);
}

void secure_server::fail(std::string why, secure_letters& out) {
  if (at_ == stage::failed) return;
  at_ = stage::failed;
  failure_ = std::move(why);
  removal_ = {};
  for (auto& [number, of] : clients_) {
    of.sealed.clear();
    of.shares.clear();
    if (!of.gone) out.push_back({of.task, secure_step::abandon, {}});
  }
}

/// Goes on when nobody is waited for any more.
void secure_server::advance(secure_letters& out) {
  const auto all = [&](auto&& done) {
    return std::ranges::all_of(clients_, [&](const auto& one) { return one.second.gone || done(one.second); });
  };
  if (at_ == stage::keys && all([](const client& of) { return of.has_keys; })) return send_neighbours(out);
  if (at_ == stage::shares && all([](const client& of) { return of.has_shares; })) return send_peers(out);
  if (at_ == stage::unmasking) open_if_possible(out);
}

// ---- keys and shares -----------------------------------------------------------------------------------------------

bool secure_server::take_keys(client& from, crypto::bytes_view content) {
  byte_reader in(content);
  from.keys.read(in);
  const auto certificate = in.text();
  const auto signature = in.text();
  from.certificate.assign(certificate.begin(), certificate.end());
  from.signature.assign(signature.begin(), signature.end());
  return from.has_keys = in.done();
}

void secure_server::send_neighbours(secure_letters& out) {
  std::vector<client*> present;
  for (auto& [number, of] : clients_)
    if (of.has_keys && !of.gone) present.push_back(&of);
  parameters_ = parameters_for(static_cast<std::uint32_t>(present.size()), against_);
  if (present.size() < fewest_clients)
    return fail(std::to_string(present.size()) + " clients sent keys, and secure aggregation needs " +
                    std::to_string(fewest_clients),
                out);
  at_ = stage::shares;
  const auto graph = draw_graph(parameters_.clients, parameters_.degree, random_);
  for (std::size_t i = 0; i < present.size(); ++i)
    for (const auto position : graph[i]) present[i]->neighbours.push_back(present[position]->task.client);
  for (const auto* of : present) out.push_back(neighbours_of(*of));
}

secure_letter secure_server::neighbours_of(const client& of) const {
  byte_writer list;
  std::vector<const crypto::bytes*> certificates;  // clients of a node have one
  for (const auto number : of.neighbours) {
    const auto& one = clients_.at(number);
    auto known = std::ranges::find(certificates, one.certificate, [](const auto* text) { return *text; });
    if (known == certificates.end()) known = certificates.insert(certificates.end(), &one.certificate);
    list.number(number).number(one.task.attempt);
    one.keys.write(list);
    list.number(static_cast<std::uint32_t>(known - certificates.begin())).text(one.signature);
  }
  byte_writer out;
  out.number(parameters_.clients).number(static_cast<std::uint32_t>(certificates.size()));
  for (const auto* text : certificates) out.text(*text);
  out.number(static_cast<std::uint32_t>(of.neighbours.size())).raw(list.take());
  return {of.task, secure_step::neighbours, out.take()};
}

bool secure_server::take_shares(client& from, crypto::bytes_view content) {
  byte_reader in(content);
  const auto count = in.count(2 * sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto to = in.number<std::uint32_t>();
    const auto sealed = in.text();
    if (!std::ranges::binary_search(from.neighbours, to) || sealed.empty()) return false;
    from.sealed[to].assign(sealed.begin(), sealed.end());
  }
  return from.has_shares = in.done() && !from.neighbours.empty() && from.sealed.size() == from.neighbours.size();
}

void secure_server::send_peers(secure_letters& out) {
  std::size_t present = 0;
  std::size_t fewest = parameters_.degree;
  for (const auto& [number, of] : clients_) {
    if (!of.has_shares) continue;
    ++present;
    fewest = std::min<std::size_t>(fewest, static_cast<std::size_t>(std::ranges::count_if(
                                               of.neighbours, [&](auto n) { return clients_.at(n).has_shares; })));
  }
  if (present < parameters_.survivors || fewest < parameters_.threshold)
    return fail(std::to_string(present) + " of " + std::to_string(parameters_.clients) +
                    " clients sent shares, and secure aggregation needs " + std::to_string(parameters_.survivors),
                out);
  at_ = stage::masking;
  for (const auto& [number, of] : clients_)
    if (of.has_shares && !of.gone) out.push_back(peers_of(of));
}

secure_letter secure_server::peers_of(const client& of) const {
  byte_writer list;
  std::uint32_t count = 0;
  for (const auto number : of.neighbours) {
    const auto& one = clients_.at(number);
    if (!one.has_shares) continue;
    list.number(number).text(one.sealed.at(of.task.client));
    ++count;
  }
  byte_writer out;
  return {of.task, secure_step::peers, out.number(count).raw(list.take()).take()};
}

// ---- the sum -------------------------------------------------------------------------------------------------------

void secure_server::begin_unmasking(const std::vector<task_id>& survivors, secure_letters& out) {
  if (at_ == stage::failed) return;
  if (at_ != stage::masking) return fail("the round ended before its clients had exchanged keys", out);
  for (const auto& id : survivors) {
    auto* of = find(id);
    if (of == nullptr || !of->has_shares || std::exchange(of->survives, true))
      return fail("the sum has an update of client " + std::to_string(id.client) + ", which exchanged no keys", out);
  }
  if (survivors.size() < parameters_.survivors)
    return fail(std::to_string(survivors.size()) + " updates of " + std::to_string(parameters_.clients) +
                    " clients, and secure aggregation opens the sum of at least " +
                    std::to_string(parameters_.survivors),
                out);
  at_ = stage::unmasking;
  sha256_stream all;
  for (const auto& [number, of] : clients_)
    if (of.survives) all.add(std::uint64_t{number});
  survivors_ = all.finish();
  for (auto& [number, of] : clients_) {
    of.sealed.clear();
    of.gone = !of.survives;
    if (of.survives) out.push_back(request_to(of));
  }
}

secure_letter secure_server::request_to(const client& of) const {
  byte_writer list;
  std::uint32_t count = 0;
  for (const auto number : of.neighbours) {
    const auto& one = clients_.at(number);
    if (!one.has_shares) continue;
    list.number(number).number(static_cast<std::uint8_t>(one.survives));
    ++count;
  }
  byte_writer out;
  return {of.task, secure_step::unmask, out.raw(survivors_).number(count).raw(list.take()).take()};
}

std::optional<secure_letter> secure_server::unanswered(const task_id& task) const {
  const auto at = clients_.find(task.client);
  if (at_ != stage::unmasking || at == clients_.end() || at->second.task != task) return std::nullopt;
  const auto& of = at->second;
  if (!of.survives || of.revealed || of.gone) return std::nullopt;
  return request_to(of);
}

bool secure_server::take_reveal(client& from, crypto::bytes_view content) {
  if (!from.survives || from.revealed) return false;
  byte_reader in(content);
  const auto count = in.count(sizeof(std::uint32_t) + 1 + sizeof(secret_share));
  std::vector<std::pair<client*, secret_share>> given;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = in.number<std::uint32_t>();
    const bool survives = in.number<std::uint8_t>() != 0;
    secret_share share{};
    for (auto& value : share) value = in.number<std::uint64_t>();
    if (!std::ranges::binary_search(from.neighbours, number)) return false;
    auto& of = clients_.at(number);
    if (!of.has_shares || of.survives != survives) return false;
    if (std::ranges::find(given, &of, [](const auto& one) { return one.first; }) != given.end()) return false;
    given.emplace_back(&of, share);
  }
  if (!in.done()) return false;
  for (auto& [of, share] : given) {
    if (of->shares.size() >= parameters_.threshold) continue;
    of->holders.push_back(from.task.client);
    of->shares.push_back(share);
  }
  return from.revealed = true;
}

void secure_server::open_if_possible(secure_letters& out) {
  const auto needed = [&](const client& of) {
    return of.survives || (of.has_shares && std::ranges::any_of(of.neighbours, [&](auto number) {
                             return clients_.at(number).survives;
                           }));
  };
  const auto lacks = [&](const auto& one) {
    return needed(one.second) && one.second.shares.size() < parameters_.threshold;
  };
  if (std::ranges::none_of(clients_, lacks)) {
    if (restore(out)) at_ = stage::open;
    return;
  }
  const bool all_answered =
      std::ranges::all_of(clients_, [](const auto& one) { return one.second.gone || one.second.revealed; });
  if (all_answered) fail("too few clients gave shares of the masks", out);
}

/// Restores the secrets. False, and failed, if shares are false.
bool secure_server::restore(secure_letters& out) {
  for (auto& [number, of] : clients_) {
    if (of.shares.empty()) continue;
    const auto secret = combine_shares(of.holders, of.shares);
    const auto failed = [&, client = number] {
      fail("the shares of client " + std::to_string(client) + " do not restore its secret", out);
      return false;
    };
    if (!secret) return failed();
    if (of.survives) {
      if (sha256(std::as_bytes(std::span(*secret))) != of.keys.commitment) return failed();
      removal_.own_.push_back(*secret);
      continue;
    }
    const auto key = std::make_shared<const crypto::agreement_key>(*secret);
    if (key->public_key() != of.keys.masking) return failed();
    for (const auto peer : of.neighbours)
      if (const auto& one = clients_.at(peer); one.survives)
        removal_.pairs_.push_back({key, of.task, one.task, one.keys.masking});
  }
  return true;
}

void mask_removal::apply(std::span<std::int64_t> words, std::size_t part, std::size_t parts) const {
  for (std::size_t i = part; i < size(); i += parts) {
    if (i < own_.size()) {
      crypto::add_mask(words, own_[i], true);
      continue;
    }
    const auto& of = pairs_[i - own_.size()];
    // What the survivor added is subtracted, and the reverse. Its key was good for the client that is gone.
    if (const auto seed = detail::pair_seed(*of.key, of.gone, of.masking, of.survivor))
      crypto::add_mask(words, *seed, of.survivor.client < of.gone.client);
  }
}

}  // namespace furlong::federated::privacy
