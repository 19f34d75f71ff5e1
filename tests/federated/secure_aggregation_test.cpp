// Secure aggregation without a network: random cohorts whose clients drop out in every phase.
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <numeric>

#include "base/random.hpp"
#include "federated/privacy/secure_aggregation/secure_client.hpp"
#include "federated/privacy/secure_aggregation/secure_server.hpp"
#include "tests/federated/seeded_source.hpp"

namespace furlong::federated::privacy {

BOOST_AUTO_TEST_SUITE(secure_aggregation)

namespace {

using words = std::vector<std::int64_t>;

/// The phase in which a client drops out: it answers the letters before.
enum class lost_in { keys, shares, upload, reveal, never };

/// One round: server, clients, and their plain updates.
class round_of {
 public:
  round_of(std::uint64_t seed, std::uint32_t clients, adversary_kind against = adversary_kind::semi_honest,
           std::size_t size = 33)
      : draws_(seed, purpose::test, 1) {
    for (std::uint32_t i = 0; i < clients; ++i) {
      const task_id id{7, 3 + i % 2, 10 * i + 1, i % 3};
      cohort_.push_back(id);
      clients_.emplace(id.client, secure_client(id, {against}, {}, seeded(seed, i + 1)));
      words update(size);
      for (auto& value : update) value = static_cast<std::int32_t>(draws_());
      plain_.emplace(id.client, std::move(update));
      fate_[id.client] = lost_in::never;
    }
    server_.emplace(cohort_, 5, against, known_inputs{}, seeded(seed));
    sum_.assign(size, 0);
    expected_.assign(size, 0);
  }

  void lose(std::size_t index, lost_in phase) { fate_[cohort_.at(index).client] = phase; }
  void lose_at_random(double share) {
    for (const auto& id : cohort_)
      if (static_cast<double>(draws_.uniform()) < share) fate_[id.client] = static_cast<lost_in>(draws_.below(4));
  }

  /// All phases up to the answer to whether the sum can be opened.
  secure_server::stage run() {
    secure_letters out;
    for (const auto& id : cohort_) say(id, lost_in::keys, clients_.at(id.client).last(), out);
    deliver(out);
    if (server_->at() == secure_server::stage::failed) return server_->at();
    std::vector<task_id> survivors;
    for (const auto& id : cohort_) {
      auto& client = clients_.at(id.client);
      if (fate_[id.client] <= lost_in::upload || !client.can_mask()) continue;
      auto update = plain_.at(id.client);
      for (std::size_t i = 0; i < sum_.size(); ++i) expected_[i] += update[i];
      BOOST_REQUIRE(client.mask(update));
      BOOST_TEST((update != plain_.at(id.client)));
      masked_[id.client] = update;
      add(sum_, update);
      survivors.push_back(id);
    }
    server_->begin_unmasking(survivors, out);
    deliver(out);
    return server_->at();
  }

  static void add(words& to, const words& from) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = std::bit_cast<std::int64_t>(std::bit_cast<std::uint64_t>(to[i]) + std::bit_cast<std::uint64_t>(from[i]));
  }

  [[nodiscard]] words opened(std::size_t parts = 1) const {
    auto whole = sum_;
    server_->removal().apply(whole, 0, parts);
    for (std::size_t part = 1; part < parts; ++part) {
      words rest(whole.size(), 0);
      server_->removal().apply(rest, part, parts);
      add(whole, rest);
    }
    return whole;
  }

  std::vector<task_id> cohort_;
  std::map<std::uint32_t, secure_client> clients_;
  std::map<std::uint32_t, words> plain_, masked_;
  std::map<std::uint32_t, lost_in> fate_;
  std::optional<secure_server> server_;
  words sum_, expected_;
  secure_letters sent_;  ///< by the server, all
  std::function<void(secure_letter&)> on_way_up = [](secure_letter&) {};

 private:
  void say(const task_id& id, lost_in phase, secure_letter letter, secure_letters& out) {
    if (fate_[id.client] <= phase) return server_->on_gone(id, out);
    on_way_up(letter);
    static_cast<void>(server_->on_letter(letter, out));
  }

  void deliver(secure_letters& out) {
    while (!out.empty()) {
      for (const auto& letter : std::exchange(out, {})) {
        sent_.push_back(letter);
        const bool opens = letter.step == secure_step::unmask || letter.step == secure_step::confirmed;
        const auto phase = letter.step == secure_step::neighbours ? lost_in::shares
                           : opens                                ? lost_in::reveal
                                                                  : lost_in::never;
        if (phase == lost_in::never) {
          if (letter.step == secure_step::peers && fate_[letter.task.client] > lost_in::shares)
            BOOST_TEST(clients_.at(letter.task.client).on_letter(letter).has_value());
          continue;
        }
        auto answer = clients_.at(letter.task.client).on_letter(letter);
        if (!answer) {
          server_->on_gone(letter.task, out);
          continue;
        }
        say(letter.task, phase, **answer, out);
      }
    }
  }

  random_stream draws_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_opened_sum_is_the_plain_sum) {
  for (const std::uint32_t clients : {3U, 4U, 10U, 28U, 60U, 130U}) {
    round_of round(clients, clients);
    BOOST_TEST((round.run() == secure_server::stage::open));
    BOOST_TEST((round.opened() == round.expected_));
    BOOST_TEST((round.opened(4) == round.expected_));
    BOOST_TEST((round.sum_ != round.expected_));
  }
}

BOOST_AUTO_TEST_CASE(clients_that_drop_out_in_any_phase_leave_the_sum_of_the_others) {
  std::size_t opened = 0;
  std::size_t failed = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const auto clients = static_cast<std::uint32_t>(3 + seed % 47);
    round_of round(seed, clients, seed % 2 == 0 ? adversary_kind::semi_honest : adversary_kind::semi_malicious);
    round.lose_at_random(seed % 4 == 3 ? 0.5 : 0.2);
    if (round.run() == secure_server::stage::open) {
      ++opened;
      BOOST_TEST((round.opened() == round.expected_));
      BOOST_TEST(round.masked_.size() >= round.server_->parameters().survivors);
    } else {
      ++failed;
      BOOST_TEST(!round.server_->failure().empty());
      BOOST_TEST(round.server_->removal().size() == 0U);
    }
  }
  BOOST_TEST(opened > 60U);
  BOOST_TEST(failed > 10U);
}

BOOST_AUTO_TEST_CASE(each_phase_can_lose_clients) {
  for (const auto phase : {lost_in::keys, lost_in::shares, lost_in::upload, lost_in::reveal}) {
    round_of round(5, 40);
    for (std::size_t i = 0; i < 9; ++i) round.lose(4 * i, phase);
    BOOST_TEST((round.run() == secure_server::stage::open));
    BOOST_TEST((round.opened() == round.expected_));
    BOOST_TEST(round.masked_.size() == (phase == lost_in::reveal ? 40U : 31U));
  }
}

BOOST_AUTO_TEST_CASE(a_round_below_its_threshold_opens_nothing) {
  for (const auto phase : {lost_in::shares, lost_in::upload}) {
    round_of round(6, 30);
    for (std::size_t i = 0; i < 11; ++i) round.lose(i, phase);  // 19 of 30 are left, and 20 are needed
    BOOST_TEST((round.run() == secure_server::stage::failed));
    // Nobody was asked for a share of anything.
    BOOST_TEST(std::ranges::none_of(round.sent_, [](const auto& one) { return one.step == secure_step::unmask; }));
    BOOST_TEST(round.server_->removal().size() == 0U);
  }
  round_of few(6, 4);
  few.lose(0, lost_in::keys);
  few.lose(1, lost_in::keys);
  BOOST_TEST((few.run() == secure_server::stage::failed));
}

/// The server's list says of each peer which kind of share is asked for.
BOOST_AUTO_TEST_CASE(a_client_gives_one_kind_of_share_and_answers_one_request) {
  round_of round(8, 12);
  BOOST_TEST((round.run() == secure_server::stage::open));
  const auto request =
      std::ranges::find(round.sent_, secure_step::unmask, [](const secure_letter& one) { return one.step; });
  auto& client = round.clients_.at(request->task.client);
  const auto again = client.on_letter(*request);
  BOOST_REQUIRE(again);
  BOOST_TEST((*again == std::optional(client.last())));
  auto other = *request;
  BOOST_TEST(static_cast<int>(other.content.front()) == 12);
  other.content.front() = 11;
  other.content.pop_back();  // now the masking key of the last peer is asked for
  BOOST_TEST(!client.on_letter(other));
  BOOST_TEST(!client.on_letter(*request));  // and it takes no further part
}

namespace {

/// A client that has masked its update, of ten that have; the list of survivors that it is sent.
result<std::optional<secure_letter>> answer_to(const std::vector<std::uint32_t>& survivors, std::uint32_t fewest = 3,
                                               bool masks = true) {
  round_of round(9, 10);
  auto& client = round.clients_.at(21);
  client = secure_client({7, 3, 21, 2}, {.fewest = fewest}, {}, seeded(9, 3));
  for (const auto& id : round.cohort_) round.lose((id.client - 1) / 10, lost_in::upload);
  static_cast<void>(round.run());
  words update(33, 1);
  if (masks) BOOST_REQUIRE(client.mask(update));
  secure_letter letter{client.task(), secure_step::unmask, {static_cast<std::uint8_t>(survivors.size()), 0, 0, 0}};
  std::uint32_t before = 0;
  for (const auto one : survivors)
    letter.content.push_back(static_cast<std::uint8_t>(one - std::exchange(before, one)));
  return client.on_letter(letter);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_client_confirms_lists_of_survivors_that_are_fit) {
  BOOST_TEST(answer_to({1, 11, 21, 31, 41, 51, 61, 71, 81, 91}).has_value());
  BOOST_TEST(answer_to({1, 11, 21, 31, 41, 51, 61}).has_value());
  BOOST_TEST(!answer_to({1, 11, 21, 31, 41, 51}).has_value());                            // less than two thirds
  BOOST_TEST(!answer_to({1, 11, 21, 31, 41, 51, 61}, 8).has_value());                     // participation.min_reports
  BOOST_TEST(!answer_to({1, 11, 31, 41, 51, 61, 71}).has_value());                        // not itself
  BOOST_TEST(!answer_to({1, 11, 21, 31, 41, 51, 61, 61}).has_value());                    // twice
  BOOST_TEST(!answer_to({1, 2, 3, 4, 5, 6, 21}).has_value());                             // no peers
  BOOST_TEST(!answer_to({1, 2, 11, 21, 31, 41, 51, 61, 71, 81, 91}).has_value());         // more than there are
  BOOST_TEST(!answer_to({1, 11, 21, 31, 41, 51, 61, 71, 81, 91}, 3, false).has_value());  // before it masked
}

/// Confirmations are those of peers for the same list, of most of them.
BOOST_AUTO_TEST_CASE(a_client_reveals_nothing_for_a_list_that_others_were_not_sent) {
  for (const std::size_t spoilt : {0U, 3U, 4U}) {  // of nine peers, six must have confirmed: seven are two thirds
    round_of round(10, 10);
    std::size_t left = spoilt;
    round.on_way_up = [&](secure_letter& letter) {
      if (letter.step == secure_step::confirm && left > 0 && left-- > 0) letter.content.back() ^= 1U;  // for client 91
    };
    static_cast<void>(round.run());
    const auto& last = round.clients_.at(91).last();
    BOOST_TEST((last.step == secure_step::reveal) == (spoilt < 4));
  }
}

// Its update would have no mask but its own, which a lying server could remove by shares of one kind.
BOOST_AUTO_TEST_CASE(a_client_refuses_peers_before_neighbours) {
  for (const auto against : {adversary_kind::semi_honest, adversary_kind::semi_malicious}) {
    const task_id id{7, 3, 1, 0};
    secure_client client(id, {against}, {}, seeded(1));
    const auto answer = client.on_letter({id, secure_step::peers, crypto::bytes(sizeof(std::uint32_t), 0)});
    BOOST_TEST(!answer);
    BOOST_TEST(!client.can_mask());
    words update(3, 5);
    BOOST_TEST(!client.mask(update));
    BOOST_TEST((update == words(3, 5)));
  }
}

BOOST_AUTO_TEST_CASE(an_update_is_masked_once) {
  round_of round(10, 5);
  BOOST_TEST((round.run() == secure_server::stage::open));
  words update(33, 1);
  BOOST_TEST(!round.clients_.begin()->second.mask(update));
  BOOST_TEST((update == words(33, 1)));
}

BOOST_AUTO_TEST_CASE(false_shares_open_nothing) {
  round_of round(11, 12);
  round.on_way_up = [](secure_letter& letter) {
    if (letter.step == secure_step::reveal) letter.content[10] ^= 1U;  // of the first share
  };
  BOOST_TEST((round.run() == secure_server::stage::failed));
  BOOST_TEST(round.server_->failure().find("do not restore its secret") != std::string::npos);
  BOOST_TEST(round.server_->removal().size() == 0U);
}

// All of client 1 that the others hold are moved by the same: they agree on another secret.
BOOST_AUTO_TEST_CASE(false_shares_that_agree_open_nothing) {
  round_of round(11, 12);
  round.on_way_up = [](secure_letter& letter) {
    if (letter.step == secure_step::reveal && letter.task.client != 1) ++letter.content[9];  // of the first share
  };
  BOOST_TEST((round.run() == secure_server::stage::failed));
  BOOST_TEST(round.server_->failure() == "the shares of client 1 do not restore its secret");
  BOOST_TEST(round.server_->removal().size() == 0U);
}

BOOST_AUTO_TEST_CASE(damaged_letters_drop_their_client) {
  for (const auto step : {secure_step::keys, secure_step::shares, secure_step::reveal, secure_step::confirm}) {
    round_of round(12, 12);
    round.on_way_up = [step](secure_letter& letter) {
      if (letter.step == step && letter.task.client == 1) letter.content.pop_back();
    };
    BOOST_TEST((round.run() == secure_server::stage::open));
    BOOST_TEST((round.opened() == round.expected_));
    BOOST_TEST(round.masked_.contains(1) == (step >= secure_step::reveal));
  }
}

/// Keys that the neighbours would refuse, and letters that are too long or come twice, cost their client its place and
/// nobody else's.
BOOST_AUTO_TEST_CASE(a_client_with_bad_keys_drops_out_alone) {
  using change = std::function<void(secure_letter&)>;
  const std::vector<change> changes = {
      [](secure_letter& letter) { std::fill_n(letter.content.begin(), 32, std::uint8_t{0}); },       // low order
      [](secure_letter& letter) { std::fill_n(letter.content.begin() + 32, 32, std::uint8_t{0}); },  // the other key
      [](secure_letter& letter) {  // a certificate of 100,000 bytes
        letter.content.resize(128);
        for (const std::uint32_t size : {100'000U, 0U}) {
          const auto at = letter.content.size();
          letter.content.resize(at + sizeof size + size);
          std::memcpy(letter.content.data() + at, &size, sizeof size);
        }
      }};
  for (const auto& spoil : changes) {
    round_of round(11, 8);
    round.on_way_up = [&](secure_letter& letter) {
      if (letter.step == secure_step::keys && letter.task.client == 1) spoil(letter);
    };
    BOOST_TEST((round.run() == secure_server::stage::open));
    BOOST_TEST((round.opened() == round.expected_));
    BOOST_TEST(!round.masked_.contains(1));
    BOOST_TEST(round.masked_.size() == 7U);
  }
}

BOOST_AUTO_TEST_CASE(another_letter_for_the_same_step_ends_a_client) {
  round_of round(12, 4);
  secure_letters out;
  auto keys = round.clients_.at(1).last();
  BOOST_TEST(round.server_->on_letter(keys, out));
  BOOST_TEST(round.server_->on_letter(keys, out));
  keys.content[0] ^= 1U;
  BOOST_TEST(!round.server_->on_letter(keys, out));
}

/// Who says nothing for long is not waited for.
BOOST_AUTO_TEST_CASE(silent_clients_do_not_stop_a_round) {
  round_of round(13, 6);
  secure_letters out;
  for (const auto& id : round.cohort_)
    if (id.client != 1) BOOST_TEST(round.server_->on_letter(round.clients_.at(id.client).last(), out));
  BOOST_TEST(out.empty());
  BOOST_TEST((round.server_->stop_waiting(out) == std::vector<task_id>{round.cohort_[0]}));
  BOOST_TEST((round.server_->at() == secure_server::stage::shares));
  BOOST_TEST(out.size() == 5U);
  secure_letters peers;
  for (const auto& letter : std::exchange(out, {}))
    if (letter.task.client != 11)
      BOOST_TEST(round.server_->on_letter(**round.clients_.at(letter.task.client).on_letter(letter), peers));
  BOOST_TEST(peers.empty());
  BOOST_TEST((round.server_->stop_waiting(peers) == std::vector<task_id>{round.cohort_[1]}));
  BOOST_TEST((round.server_->at() == secure_server::stage::masking));
  BOOST_TEST(peers.size() == 4U);
  BOOST_TEST(round.server_->stop_waiting(peers).empty());
}

/// The words that leave a client are uniform, whatever the update is.
BOOST_AUTO_TEST_CASE(masked_words_are_uniform) {
  round_of round(13, 10, adversary_kind::semi_honest, 4096);
  for (auto& [client, update] : round.plain_) std::ranges::fill(update, 5);
  BOOST_TEST((round.run() == secure_server::stage::open));
  for (const auto& [client, update] : round.masked_) {
    std::array<double, 256> seen{};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(update.data());
    for (std::size_t i = 0; i < update.size() * 8; ++i) ++seen[bytes[i]];
    double chi = 0;  // 255 degrees of freedom, mean 255, sd 22.6
    for (const auto count : seen) chi += (count - 128.0) * (count - 128.0) / 128.0;
    BOOST_TEST(chi > 255 - 5 * 22.6);
    BOOST_TEST(chi < 255 + 5 * 22.6);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::federated::privacy
