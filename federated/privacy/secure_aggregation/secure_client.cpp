#include "federated/privacy/secure_aggregation/secure_client.hpp"

#include <algorithm>
#include <set>

#include "federated/privacy/secure_aggregation/detail/keys.hpp"
#include "federated/privacy/secure_aggregation/shamir.hpp"

namespace furlong::federated::privacy {

using detail::byte_reader;
using detail::byte_writer;
using detail::public_keys;

struct secure_client::state {
  struct neighbour {
    task_id task;
    public_keys keys;
    crypto::bytes sealed;     ///< shares that it sealed for this client; empty: it is no peer
    crypto::key unsealing{};  ///< opens them
    crypto::key pair{};       ///< seed of the mask shared with it
    crypto::key tagging{};    ///< of the tags that both make for each other
  };

  task_id task;
  sum_terms terms;
  sum_inputs inputs;
  crypto::random_source random;
  key_identity_ptr identity;
  crypto::agreement_key sealing;
  crypto::agreement_key masking;
  crypto::key seed;  ///< of the own mask
  std::map<std::uint32_t, neighbour> neighbours = {};
  std::uint64_t version = 0;  ///< of the server
  graph_parameters graph = {};
  std::vector<std::uint32_t> survivors = {};  ///< as the server said; ascending
  digest list = {};                           ///< of the letter that said it
  secure_letter last = {};
  std::map<secure_step, digest> received = {};  ///< digests of the server's letters
  bool peers_known = false;
  bool masked = false;
  bool failed = false;

  ~state() {
    crypto::wipe(seed);
    for (auto& [client, entry] : neighbours) {
      crypto::wipe(entry.unsealing);
      crypto::wipe(entry.pair);
      crypto::wipe(entry.tagging);
    }
  }

  [[nodiscard]] public_keys keys() const {
    return {sealing.public_key(), masking.public_key(), sha256(std::as_bytes(std::span(seed))), inputs.model};
  }
  [[nodiscard]] detail::sum_context context() const { return {inputs.terms, version, graph.clients}; }
  [[nodiscard]] detail::pair_side self() const { return {task, inputs.model}; }
  [[nodiscard]] bool survives(std::uint32_t client) const { return std::ranges::binary_search(survivors, client); }
  [[nodiscard]] secure_letter letter(secure_step step, crypto::bytes content) const {
    return {task, step, std::move(content)};
  }
  [[nodiscard]] tl::unexpected<error> refuse(std::string why) {
    failed = true;
    return fail(error::kind::runtime, "secure aggregation of client " + std::to_string(task.client), std::move(why));
  }
  [[nodiscard]] std::size_t peers() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(neighbours, [](const auto& entry) { return !entry.second.sealed.empty(); }));
  }

  [[nodiscard]] std::size_t surviving_peers() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        neighbours, [&](const auto& entry) { return !entry.second.sealed.empty() && survives(entry.first); }));
  }
  [[nodiscard]] std::uint32_t fewest_survivors() const { return std::max(terms.fewest, graph.survivors); }

  secure_letter make_keys();
  result<void> read_neighbours(byte_reader& from);
  result<void> check_neighbour(const neighbour& entry, crypto::bytes_view certificate, crypto::bytes_view signature);
  result<secure_letter> make_shares();
  result<void> read_peers(byte_reader& from);
  result<void> read_survivors(byte_reader& from);
  [[nodiscard]] secure_letter make_tags() const;
  result<void> read_tags(byte_reader& from);
  [[nodiscard]] secure_letter reveal() const;
  [[nodiscard]] std::optional<std::pair<secret_share, secret_share>> unseal(const neighbour& from) const;
};

namespace {

void write_share(byte_writer& to, const secret_share& share) {
  for (const auto value : share) to.number(value);
}
secret_share read_share(byte_reader& from) {
  secret_share share{};
  for (auto& value : share) value = from.number<std::uint64_t>();
  return share;
}

}  // namespace

secure_client::secure_client(const task_id& task, const sum_terms& terms, const sum_inputs& inputs,
                             crypto::random_source random, key_identity_ptr identity) {
  state_.reset(new state{task, terms, inputs, random, std::move(identity),
                         crypto::agreement_key(crypto::random_key(random)),
                         crypto::agreement_key(crypto::random_key(random)), crypto::random_key(random)});
  state_->last = state_->make_keys();
}

secure_client::~secure_client() = default;
secure_client::secure_client(secure_client&&) noexcept = default;
secure_client& secure_client::operator=(secure_client&&) noexcept = default;

const task_id& secure_client::task() const { return state_->task; }
const digest& secure_client::model() const { return state_->inputs.model; }
const secure_letter& secure_client::last() const { return state_->last; }
std::uint64_t secure_client::version() const { return state_->version; }
digest secure_client::commitment() const { return state_->keys().commitment; }
bool secure_client::has_masked() const { return state_->masked; }
bool secure_client::can_mask() const { return state_->peers_known && !state_->masked && !state_->failed; }

secure_letter secure_client::state::make_keys() {
  byte_writer out;
  const auto own = keys();
  own.write(out);
  out.text(identity ? crypto::bytes_view(identity->certificate) : crypto::bytes_view());
  out.text(identity ? identity->sign(detail::key_statement(task, own, inputs.terms)) : crypto::bytes());
  return letter(secure_step::keys, out.take());
}

result<std::optional<secure_letter>> secure_client::on_letter(const secure_letter& letter) {
  auto& inner = *state_;
  if (letter.task != inner.task) return inner.refuse("a letter of another task");
  if (inner.failed) return fail(error::kind::runtime, "secure aggregation", "the client takes no further part");
  const auto content = sha256(std::as_bytes(std::span(letter.content)));
  if (const auto [at, is_new] = inner.received.emplace(letter.step, content); !is_new) {
    if (at->second != content) return inner.refuse("the server sent another letter for the same step");
    const bool asks = letter.step == secure_step::unmask || letter.step == secure_step::confirmed;
    const bool answers = (letter.step == secure_step::neighbours && inner.last.step == secure_step::shares) ||
                         (asks && inner.last.step == secure_step::reveal) ||
                         (letter.step == secure_step::unmask && inner.last.step == secure_step::confirm);
    return answers ? std::optional(inner.last) : std::nullopt;
  }
  byte_reader from(letter.content);
  switch (letter.step) {
    case secure_step::neighbours: {
      if (auto read = inner.read_neighbours(from); !read) return tl::unexpected(read.error());
      auto made = inner.make_shares();
      if (!made) return tl::unexpected(made.error());
      inner.last = std::move(*made);
      return std::optional(inner.last);
    }
    case secure_step::peers: {
      if (auto read = inner.read_peers(from); !read) return tl::unexpected(read.error());
      return std::optional<secure_letter>();
    }
    case secure_step::unmask: {
      inner.list = content;
      if (auto read = inner.read_survivors(from); !read) return tl::unexpected(read.error());
      inner.last = inner.make_tags();
      return std::optional(inner.last);
    }
    case secure_step::confirmed: {
      if (auto read = inner.read_tags(from); !read) return tl::unexpected(read.error());
      inner.last = inner.reveal();
      return std::optional(inner.last);
    }
    case secure_step::abandon: return inner.refuse("the round was abandoned");
    default: return inner.refuse("a letter that only clients send");
  }
}

/// The server's version, number of clients, certificates, and each neighbour's task, keys, certificate and signature.
result<void> secure_client::state::read_neighbours(byte_reader& from) {
  version = from.number<std::uint64_t>();
  graph = parameters_for(from.number<std::uint32_t>(), terms.against);
  std::vector<crypto::bytes_view> certificates(from.count(sizeof(std::uint32_t)));
  for (auto& entry : certificates) entry = from.text();
  const auto count = from.count(detail::public_keys_bytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    neighbour entry{.task = task, .keys = {}, .sealed = {}};
    entry.task.client = from.number<std::uint32_t>();
    entry.task.version = from.number<std::uint64_t>();
    entry.task.attempt = from.number<std::uint32_t>();
    entry.keys.read(from);
    const auto certificate = from.number<std::uint32_t>();
    const auto signature = from.text();
    const auto text = certificate < certificates.size() ? certificates[certificate] : crypto::bytes_view();
    if (auto sound = check_neighbour(entry, text, signature); !sound) return sound;
    neighbours.emplace(entry.task.client, std::move(entry));
  }
  if (!from.done()) return refuse("the list of neighbours is damaged");
  if (version < task.version || (terms.one_version && version != task.version))
    return refuse("the sum would be applied to version " + std::to_string(version) + ", and the task is of " +
                  std::to_string(task.version));
  if (version >= terms.rounds)
    return refuse("the sum would be applied to version " + std::to_string(version) + ", and the run has " +
                  std::to_string(terms.rounds) + " rounds");
  if (graph.clients < terms.fewest)
    return refuse("the sum has " + std::to_string(graph.clients) + " clients, and should have at least " +
                  std::to_string(terms.fewest));
  if (graph.clients > terms.most)
    return refuse("the sum has " + std::to_string(graph.clients) + " clients, and should have at most " +
                  std::to_string(terms.most));
  if (neighbours.size() != graph.degree)
    return refuse(std::to_string(neighbours.size()) + " neighbours among " + std::to_string(graph.clients) +
                  " clients, where the protocol has " + std::to_string(graph.degree));
  return {};
}

result<void> secure_client::state::check_neighbour(const neighbour& entry, crypto::bytes_view certificate,
                                                   crypto::bytes_view signature) {
  if (entry.task.client == task.client || neighbours.contains(entry.task.client))
    return refuse("client " + std::to_string(entry.task.client) + " is listed twice as neighbour");
  if (!detail::is_short(certificate, signature))
    return refuse("the certificate of client " + std::to_string(entry.task.client) + " is too long");
  // The secrets of earlier keys may have been restored since.
  if (terms.one_version && entry.task.version != task.version)
    return refuse("the keys of client " + std::to_string(entry.task.client) + " are of version " +
                  std::to_string(entry.task.version) + ", and the task is of " + std::to_string(task.version));
  if (entry.task.version == task.version && entry.keys.model != inputs.model)
    return refuse("client " + std::to_string(entry.task.client) + " was sent another model of version " +
                  std::to_string(task.version) + " than this client");
  if (!identity) return {};
  const auto why = identity->check(entry.task.client, certificate,
                                   detail::key_statement(entry.task, entry.keys, inputs.terms), signature);
  if (why.empty()) return {};
  return refuse("the keys of client " + std::to_string(entry.task.client) + " are not its own: " + why);
}

result<secure_letter> secure_client::state::make_shares() {
  std::vector<std::uint32_t> holders;
  for (const auto& [client, entry] : neighbours) holders.push_back(client);
  const auto of_seed = split_secret(seed, holders, graph.threshold, random);
  const auto of_key = split_secret(masking.secret(), holders, graph.threshold, random);
  const auto in = context();
  byte_writer out;
  out.number(static_cast<std::uint32_t>(holders.size()));
  for (std::size_t i = 0; i < holders.size(); ++i) {
    auto& to = neighbours.at(holders[i]);
    auto shared = sealing.agree(to.keys.sealing);
    const detail::pair_side other{to.task, to.keys.model};
    const auto pair = detail::pair_seed(masking, in, self(), to.keys.masking, other);
    if (!shared || !pair) return refuse("the keys of client " + std::to_string(holders[i]) + " are invalid");
    to.pair = *pair;
    to.unsealing = detail::derived_key("shares", *shared, in, other, self());
    const bool first = task.client < to.task.client;
    to.tagging = detail::derived_key("survivors", *shared, in, first ? self() : other, first ? other : self());
    byte_writer plain;
    write_share(plain, of_seed[i]);
    write_share(plain, of_key[i]);
    auto shares = plain.take();
    // The key is of this message alone, so its nonce is zero.
    const auto sealing_key = detail::derived_key("shares", *shared, in, self(), other);
    out.number(holders[i]).text(crypto::seal(sealing_key, {}, {}, shares));
    crypto::wipe(shares);
    crypto::wipe(*shared);
  }
  return letter(secure_step::shares, out.take());
}

result<void> secure_client::state::read_peers(byte_reader& from) {
  // Without neighbours the update would get its own mask only, which shares of one kind remove.
  if (neighbours.empty()) return refuse("the peers came before the neighbours");
  const auto count = from.count(2 * sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto client = from.number<std::uint32_t>();
    const auto sealed = from.text();
    const auto at = neighbours.find(client);
    if (at == neighbours.end() || !at->second.sealed.empty() || sealed.size() != detail::sealed_bytes)
      return refuse("shares of client " + std::to_string(client) +
                    ", which are damaged, of no neighbour, or came before");
    at->second.sealed.assign(sealed.begin(), sealed.end());
  }
  if (!from.done()) return refuse("the list of peers is damaged");
  if (peers() < graph.threshold)
    return refuse(std::to_string(peers()) + " neighbours are left, and the threshold is " +
                  std::to_string(graph.threshold));
  peers_known = true;
  return {};
}

result<void> secure_client::mask(std::span<std::int64_t> words) {
  auto& inner = *state_;
  if (!can_mask())
    return fail(error::kind::runtime, "secure aggregation of client " + std::to_string(inner.task.client),
                inner.masked ? "has masked an update" : "has no peers");
  inner.masked = true;
  for (const auto& [client, peer] : inner.neighbours) {
    if (peer.sealed.empty()) continue;
    crypto::add_mask(words, peer.pair, inner.task.client > client);
  }
  crypto::add_mask(words, inner.seed, false);
  return {};
}

std::optional<std::pair<secret_share, secret_share>> secure_client::state::unseal(const neighbour& from) const {
  auto plain = crypto::open(from.unsealing, {}, {}, from.sealed);
  if (!plain) return std::nullopt;
  byte_reader in(*plain);
  const auto of_seed = read_share(in);
  const auto of_key = read_share(in);
  crypto::wipe(*plain);
  if (!in.done()) return std::nullopt;
  return std::pair(of_seed, of_key);
}

/// Clients by number, as differences. The update of this client is among them, those of enough peers to open secrets,
/// and as many as the run demands: later nothing can be checked any more.
result<void> secure_client::state::read_survivors(byte_reader& from) {
  if (!masked) return refuse("the server asks for shares before the update was masked");
  std::uint64_t last_client = 0;
  for (auto count = from.count(1); count > 0; --count) {
    const auto step = from.short_number();
    if (step == 0 && !survivors.empty()) return refuse("the list of updates in the sum names a client twice");
    last_client += step;
    survivors.push_back(static_cast<std::uint32_t>(last_client));
  }
  if (!from.done() || last_client > UINT32_MAX) return refuse("the list of updates in the sum is damaged");
  if (!survives(task.client)) return refuse("the sum is without the update of this client");
  const auto fewest = fewest_survivors();
  if (survivors.size() < fewest || survivors.size() > graph.clients)
    return refuse("the sum has " + std::to_string(survivors.size()) + " updates of " + std::to_string(graph.clients) +
                  " clients, and should have at least " + std::to_string(fewest));
  const auto in_sum = surviving_peers();
  if (in_sum < graph.threshold)
    return refuse(std::to_string(in_sum) + " peers are in the sum, and the threshold is " +
                  std::to_string(graph.threshold));
  const bool others = std::ranges::any_of(
      neighbours, [&](const auto& entry) { return entry.second.sealed.empty() && survives(entry.first); });
  if (others) return refuse("the sum has an update of a neighbour that sent no shares");
  const auto strangers = survivors.size() - 1 - in_sum;
  if (strangers > graph.clients - 1 - graph.degree)
    return refuse("the sum has " + std::to_string(strangers) +
                  " updates of clients that are no neighbours, and there are " +
                  std::to_string(graph.clients - 1 - graph.degree));
  return {};
}

secure_letter secure_client::state::make_tags() const {
  byte_writer out;
  std::uint32_t count = 0;
  for (const auto& [client, peer] : neighbours) {
    if (peer.sealed.empty() || !survives(client)) continue;
    out.number(client).raw(detail::tag_of(peer.tagging, list, task.client, client));
    ++count;
  }
  byte_writer all;
  return letter(secure_step::confirm, all.number(count).raw(out.take()).take());
}

result<void> secure_client::state::read_tags(byte_reader& from) {
  if (last.step != secure_step::confirm) return refuse("the peers' confirmations came before the list of survivors");
  std::set<std::uint32_t> agreeing;
  for (auto count = from.count(sizeof(std::uint32_t) + sizeof(detail::list_tag)); count > 0; --count) {
    const auto client = from.number<std::uint32_t>();
    detail::list_tag tag{};
    from.array(tag);
    const auto at = neighbours.find(client);
    if (at == neighbours.end() || at->second.sealed.empty() || !survives(client)) continue;
    if (tag == detail::tag_of(at->second.tagging, list, client, task.client)) agreeing.insert(client);
  }
  const auto fewest =
      detail::fewest_confirmations(peers(), surviving_peers(), survivors.size() - fewest_survivors(), graph.threshold);
  if (!from.done() || agreeing.size() < fewest)
    return refuse("of " + std::to_string(peers()) + " peers " + std::to_string(agreeing.size()) +
                  " were sent the same list of updates in the sum, and " + std::to_string(fewest) + " must have been");
  return {};
}

/// Each peer, and whether its update is in the sum. Shares that a peer sealed wrongly are left out.
secure_letter secure_client::state::reveal() const {
  byte_writer out;
  std::uint32_t given = 0;
  for (const auto& [client, peer] : neighbours) {
    if (peer.sealed.empty()) continue;
    const auto shares = unseal(peer);
    if (!shares) continue;
    const bool in_sum = survives(client);
    out.number(client).number(static_cast<std::uint8_t>(in_sum));
    write_share(out, in_sum ? shares->first : shares->second);
    ++given;
  }
  byte_writer all;
  return letter(secure_step::reveal, all.number(given).raw(out.take()).take());
}

}  // namespace furlong::federated::privacy
