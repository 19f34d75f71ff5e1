#include "tests/federated/rogue_server.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/federated/seeded_source.hpp"

namespace furlong::federated::testing {

using privacy::secure_letter;
using privacy::secure_step;
using privacy::detail::byte_reader;
using privacy::detail::byte_writer;

namespace {

privacy::secret_share read_share(byte_reader& from) {
  privacy::secret_share share{};
  for (auto& value : share) value = from.number<std::uint64_t>();
  return share;
}

std::optional<crypto::key> restored(const std::map<std::uint32_t, privacy::secret_share>& from) {
  std::vector<std::uint32_t> holders;
  std::vector<privacy::secret_share> shares;
  for (const auto& [holder, share] : from) {
    holders.push_back(holder);
    shares.push_back(share);
  }
  return privacy::combine_shares(holders, shares);
}

void add(sum_words& to, const sum_words& from) {
  to.resize(from.size(), 0);
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(to[i]) + static_cast<std::uint64_t>(from[i]));
}

/// The largest squared length of the projection of a unit vector on the span of these rows.
double largest_share(std::vector<std::vector<double>> rows, std::size_t columns) {
  std::vector<double> share(columns, 0.0);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    auto& row = rows[r];
    const auto before = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    for (int twice = 0; twice < 2; ++twice)  // Gram-Schmidt
      for (std::size_t other = 0; other < r; ++other) {
        const auto along = std::inner_product(row.begin(), row.end(), rows[other].begin(), 0.0);
        for (std::size_t i = 0; i < columns; ++i) row[i] -= along * rows[other][i];
      }
    const auto length = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    const double factor = length > 1e-12 * before && length > 0 ? 1.0 / std::sqrt(length) : 0.0;
    for (std::size_t i = 0; i < columns; ++i) {
      row[i] *= factor;
      share[i] += row[i] * row[i];
    }
  }
  return columns == 0 ? 0.0 : *std::ranges::max_element(share);
}

}  // namespace

// ---- letters -------------------------------------------------------------------------------------------------------

std::map<task_id, told> rogue_server::honest(const std::vector<task_id>& tasks, std::uint64_t version) const {
  const auto count = static_cast<std::uint32_t>(tasks.size());
  const auto graph =
      privacy::draw_graph(count, privacy::parameters_for(count, of_.world().against).degree, privacy::seeded(count));
  std::map<task_id, told> made;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    told what{.clients = count, .version = version};
    for (const auto place : graph[i]) {
      what.neighbours.push_back(tasks[place]);
      what.peers.push_back(tasks[place].client);
    }
    for (const auto& one : tasks) what.list.push_back(one.client);
    std::ranges::sort(what.list);
    made.emplace(tasks[i], std::move(what));
  }
  return made;
}

void rogue_server::play(const std::map<task_id, told>& sum) {
  for (const auto& [task, what] : sum) take_keys(task);
  exchange_shares(sum);
  collect_updates(sum);
  ask_for_shares(sum);
}

void rogue_server::take_keys(const task_id& task) {
  const auto letter = of_.enter(task);
  if (letter.step != secure_step::keys) return;
  byte_reader in(letter.content);
  auto& one = known_[task];
  one.keys.read(in);
  const auto certificate = in.text(), signature = in.text();
  one.certificate.assign(certificate.begin(), certificate.end());
  one.signature.assign(signature.begin(), signature.end());
}

void rogue_server::exchange_shares(const std::map<task_id, told>& sum) {
  for (const auto& [task, what] : sum) {
    if (what.clients == 0) continue;
    const auto answer = of_.tell(neighbours_for(task, what));
    if (!answer || answer->step != secure_step::shares) continue;
    known_.at(task).heard = what;
    keep_shares(task, *answer);
  }
  for (const auto& [task, what] : sum) open_shares(task);
  for (const auto& [task, what] : sum)
    if (what.clients > 0) of_.tell(peers_for(task, what));
}

void rogue_server::collect_updates(const std::map<task_id, told>& sum) {
  for (const auto& [task, what] : sum)
    if (what.uploads && !known_.at(task).masked) known_.at(task).masked = of_.upload(task);
}

void rogue_server::ask_for_shares(const std::map<task_id, told>& sum) {
  for (const auto& [task, what] : sum) {
    if (what.list.empty()) continue;
    const auto answer = of_.tell(list_for(task, what));
    if (answer && answer->step == secure_step::confirm) keep_tags(task, *answer);
  }
  const auto secret = restored_keys();  // of other sums
  for (const auto& [task, what] : sum) {
    if (what.list.empty()) continue;
    const auto answer = of_.tell(tags_for(task, what, secret));
    if (answer && answer->step == secure_step::reveal) keep_reveal(task, *answer);
  }
}

secure_letter rogue_server::neighbours_for(const task_id& task, const told& what) const {
  byte_writer certificates, list;
  std::uint32_t count = 0;
  for (const auto& number : what.neighbours) {
    const auto& one = known_.at(number);
    certificates.text(one.certificate);
    list.number(number.client).number(number.version).number(number.attempt);
    one.keys.write(list);
    list.number(count++).text(one.signature);
  }
  byte_writer out;
  out.number(what.version).number(what.clients).number(count).raw(certificates.take()).number(count).raw(list.take());
  return {task, secure_step::neighbours, out.take()};
}

const task_id* rogue_server::neighbour(const task_id& of, std::uint32_t client) const {
  const auto& all = known_.at(of).heard.neighbours;
  const auto at = std::ranges::find(all, client, &task_id::client);
  return at == all.end() ? nullptr : &*at;
}

/// Where a peer has sealed no shares for the client, others of the right length.
secure_letter rogue_server::peers_for(const task_id& task, const told& what) const {
  byte_writer out;
  out.number(static_cast<std::uint32_t>(what.peers.size()));
  for (const auto client : what.peers) {
    crypto::bytes sealed(privacy::detail::sealed_bytes, 0);
    if (const auto* peer = neighbour(task, client); peer != nullptr) {
      const auto& shares = known_.at(*peer).sealed;
      const auto* holder = neighbour(*peer, task.client);
      if (const auto at = shares.find(task.client); at != shares.end() && holder != nullptr && *holder == task)
        sealed = at->second;
    }
    out.number(client).text(sealed);
  }
  return {task, secure_step::peers, out.take()};
}

secure_letter rogue_server::list_for(const task_id& task, const told& what) const {
  byte_writer out;
  out.number(static_cast<std::uint32_t>(what.list.size()));
  std::uint32_t before = 0;
  for (const auto client : what.list) out.short_number(client - std::exchange(before, client));
  return {task, secure_step::unmask, out.take()};
}

/// Of each peer its own tag, the one that the client made for it, and one by its masking key, if that is known.
secure_letter rogue_server::tags_for(const task_id& task, const told& what, const masking_keys& secret) const {
  const auto list = privacy::survivors_of(list_for(task, what));
  byte_writer out;
  std::uint32_t count = 0;
  const auto add_tag = [&](std::uint32_t peer, const tag& of) {
    out.number(peer).raw(of);
    ++count;
  };
  for (const auto client : what.peers) {
    const auto* peer = neighbour(task, client);
    if (peer == nullptr) continue;
    const auto& theirs = known_.at(*peer).tags;
    const auto& own = known_.at(task).tags;
    if (const auto at = theirs.find(task.client); at != theirs.end()) add_tag(client, at->second);
    if (const auto at = own.find(client); at != own.end()) add_tag(client, at->second);
    if (const auto pair = seed_of_pair(secret, task, what, *peer))
      add_tag(client, privacy::detail::tag_of(*pair, list, client, task.client));
    if (const auto colluding = of_.secrets_of(*peer)) {
      const bool first = client < task.client;
      const auto key =
          privacy::detail::derived_key("survivors", *colluding->sealing.agree(known_.at(task).keys.sealing),
                                       context(task, what), side(first ? *peer : task), side(first ? task : *peer));
      add_tag(client, privacy::detail::tag_of(key, list, client, task.client));
    }
  }
  byte_writer all;
  return {task, secure_step::confirmed, all.number(count).raw(out.take()).take()};
}

// ---- what clients answer -------------------------------------------------------------------------------------------

void rogue_server::keep_shares(const task_id& from, const secure_letter& letter) {
  byte_reader in(letter.content);
  for (auto count = in.number<std::uint32_t>(); count > 0; --count) {
    const auto holder = in.number<std::uint32_t>();
    const auto sealed = in.text();
    known_.at(from).sealed[holder].assign(sealed.begin(), sealed.end());
  }
}

/// Both kinds of shares that were sealed for a client that colludes.
void rogue_server::open_shares(const task_id& holder) {
  const auto secrets = of_.secrets_of(holder);
  if (!secrets) return;
  for (auto& [owner, one] : known_) {
    const auto sealed = one.sealed.find(holder.client);
    const auto* named = neighbour(owner, holder.client);
    if (sealed == one.sealed.end() || named == nullptr || *named != holder) continue;
    const auto key = privacy::detail::derived_key("shares", *secrets->sealing.agree(one.keys.sealing),
                                                  context(owner, one.heard), side(owner), side(holder));
    const auto plain = crypto::open(key, {}, {}, sealed->second);
    if (!plain) throw std::logic_error("a share that was sealed for a client is not for it: the test is wrong");
    byte_reader in(*plain);
    one.of_seed.emplace(holder.client, read_share(in));
    one.of_key.emplace(holder.client, read_share(in));
  }
}

void rogue_server::keep_tags(const task_id& from, const secure_letter& letter) {
  byte_reader in(letter.content);
  for (auto count = in.number<std::uint32_t>(); count > 0; --count) {
    const auto to = in.number<std::uint32_t>();
    in.array(known_.at(from).tags[to]);
  }
}

void rogue_server::keep_reveal(const task_id& from, const secure_letter& letter) {
  byte_reader in(letter.content);
  for (auto count = in.number<std::uint32_t>(); count > 0; --count) {
    const auto client = in.number<std::uint32_t>();
    const bool survives = in.number<std::uint8_t>() != 0;
    const auto share = read_share(in);
    const auto* of = neighbour(from, client);
    if (of == nullptr) continue;
    auto& shares = survives ? known_.at(*of).of_seed : known_.at(*of).of_key;
    shares.emplace(from.client, share);
  }
}

// ---- what that shows -----------------------------------------------------------------------------------------------

rogue_server::masking_keys rogue_server::restored_keys() const {
  masking_keys made;
  for (const auto& [task, one] : known_) {
    if (auto colluding = of_.secrets_of(task)) {
      made.emplace(task, std::move(colluding->masking));
      continue;
    }
    const auto secret = restored(one.of_key);
    if (!secret) continue;
    crypto::agreement_key key(*secret);
    if (key.public_key() == one.keys.masking) made.emplace(task, std::move(key));
  }
  return made;
}

/// The seed of the mask that a client shares with another one, as it was told of the sum; nothing if the masking keys
/// of both are secret.
std::optional<crypto::key> rogue_server::seed_of_pair(const masking_keys& secret, const task_id& one, const told& what,
                                                      const task_id& other) const {
  for (const auto& [own, peer] : {std::pair(one, other), std::pair(other, one)})
    if (const auto at = secret.find(own); at != secret.end())
      return privacy::detail::pair_seed(at->second, context(one, what), side(own), known_.at(peer).keys.masking,
                                        side(peer));
  return std::nullopt;
}

/// The updates whose own mask is known, without all masks that are.
std::map<task_id, rogue_server::bare> rogue_server::strip() const {
  std::map<task_id, bare> made;
  const auto secret = restored_keys();
  for (const auto& [task, one] : known_) {
    if (!one.masked) continue;
    const auto own = restored(one.of_seed);
    if (!own || sha256(std::as_bytes(std::span(*own))) != one.keys.commitment) continue;
    bare of{&one, {}, *one.masked};
    crypto::add_mask(of.words, *own, true);
    for (const auto client : one.heard.peers) {
      const auto peer = *neighbour(task, client);
      if (const auto pair = seed_of_pair(secret, task, one.heard, peer))
        crypto::add_mask(of.words, *pair, task.client <= client);
      else
        of.tied.insert(peer);
    }
    made.emplace(task, std::move(of));
  }
  // A mask cancels only if both of its clients are there, and were told the same of the sum.
  const auto cancels = [&](const task_id& task, const bare& of, const task_id& peer) {
    const auto at = made.find(peer);
    return at != made.end() && at->second.tied.contains(task) &&
           at->second.from->heard.clients == of.from->heard.clients &&
           at->second.from->heard.version == of.from->heard.version;
  };
  const auto hidden = [&](const auto& one) {
    return !std::ranges::all_of(one.second.tied,
                                [&](const auto& peer) { return cancels(one.first, one.second, peer); });
  };
  while (std::erase_if(made, hidden) > 0) {
  }
  return made;
}

findings rogue_server::look() {
  auto left = strip();
  findings made;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> columns;  // updates, by client and version
  for (const auto& [task, one] : left) columns.try_emplace({task.client, task.version}, columns.size());
  std::vector<std::vector<double>> rows;
  while (!left.empty()) {  // one after the other all that is tied together
    std::vector<task_id> sum{left.begin()->first};
    sum_words opened, expected;
    std::vector<double> row(columns.size(), 0.0);
    std::size_t updates = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const auto one = left.extract(sum[i]);
      if (one.empty()) continue;
      for (const auto& peer : one.mapped().tied) sum.push_back(peer);
      const auto version = one.mapped().from->heard.version;
      add(opened, one.mapped().words);
      add(expected, of_.plain(one.key(), version));
      const auto part = of_.part_of(one.key(), version);
      row[columns.at({one.key().client, one.key().version})] = part;
      updates += part > 0 ? 1 : 0;
    }
    if (opened != expected) throw std::logic_error("the sum is not that of its updates: the test is wrong");
    if (updates == 0) continue;
    rows.push_back(std::move(row));
    made.fewest = made.sums++ == 0 ? updates : std::min(made.fewest, updates);
  }
  made.largest_share = largest_share(std::move(rows), columns.size());
  return made;
}

}  // namespace furlong::federated::testing
