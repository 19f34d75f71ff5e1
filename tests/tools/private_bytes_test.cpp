// Nothing that a FURL run emits holds a byte pattern of any private value that it ever stored.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <mutex>
#include <unordered_set>

#include "actors/actor_engine.hpp"
#include "federated/round.hpp"
#include "storage/memory_store.hpp"
#include "tests/tools/command.hpp"
#include "tools/session.hpp"
#include "wire/encode.hpp"

using namespace furlong;

namespace {

/// Two neighbouring floats as one number: seldom enough that a match is no accident.
using pattern = std::uint64_t;

std::vector<pattern> patterns_of(std::span<const float> values) {
  std::vector<pattern> found;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    pattern pair = 0;
    std::memcpy(&pair, &values[i], sizeof pair);
    if (pair != 0) found.push_back(pair);
  }
  return found;
}

/// Remembers every value that passes through.
class watching_store final : public federated::private_store {
 public:
  explicit watching_store(const models::layout_ptr& shape) : inner_(shape) {}
  result<bool> load(std::uint32_t client, models::private_parameters& out) override { return inner_.load(client, out); }
  result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override {
    const auto found = patterns_of(value.values());
    const std::scoped_lock hold(lock_);
    secrets.insert(found.begin(), found.end());
    return inner_.commit(client, version, value);
  }
  result<void> sync() override { return inner_.sync(); }
  void covered(std::uint64_t version) override { inner_.covered(version); }
  result<void> visit(
      const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) override {
    return inner_.visit(each);
  }
  std::unordered_set<pattern> secrets;

 private:
  storage::memory_store inner_;
  std::mutex lock_;
};

bool holds_secret(std::span<const std::byte> bytes, const std::unordered_set<pattern>& secrets) {
  for (std::size_t at = 0; at + sizeof(pattern) <= bytes.size(); ++at) {
    pattern here = 0;
    std::memcpy(&here, bytes.data() + at, sizeof here);
    if (secrets.contains(here)) return true;
  }
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(private_bytes)

BOOST_AUTO_TEST_CASE(none_in_anything_that_a_furl_run_encodes) {
  const tests::scratch_folder folder;
  auto scenario = scenarios::parse_scenario(tests::small_scenario(folder, "furl", 10));
  BOOST_REQUIRE(scenario.has_value());
  auto ready = tools::open_session(std::move(*scenario));
  BOOST_REQUIRE(ready.has_value());
  auto& e = ready->experiment;
  const wire::encoder encode(e.parts.shared);
  watching_store store(e.parts.private_);
  std::mutex lock;
  std::vector<wire::encoded> emitted;
  const auto keep = [&](result<wire::encoded> frame) {
    BOOST_REQUIRE(frame.has_value());
    const std::scoped_lock hold(lock);
    emitted.push_back(std::move(*frame));
  };
  // Every update passes here on its way from the client.
  e.upload_bytes = [&](const federated::client_update& update) {
    keep(encode.encode(update, wire::update_format::dense));
    keep(encode.encode(update, wire::update_format::sparse));
    return std::uint64_t{0};
  };
  federated::run_observer observer;
  observer.on_round = [](const federated::round_report&) { return result<void>{}; };
  observer.on_evaluation = [](const federated::evaluation_report&) { return result<void>{}; };
  const std::atomic<bool> stop = false;
  const auto outcome = actors::run_actors(e, federated::initial_state(e), store, observer, stop, {2});
  BOOST_REQUIRE(outcome.has_value());
  keep(encode.encode(federated::broadcast{e.run, 10, outcome->state.model, outcome->state.reference}));

  BOOST_TEST(store.secrets.size() > 400U);
  BOOST_TEST(emitted.size() == 401U);
  for (const auto& frame : emitted) BOOST_REQUIRE(!holds_secret(frame.bytes(), store.secrets));

  // The search finds what is there.
  std::vector<std::byte> planted(emitted.front().bytes().begin(), emitted.front().bytes().end());
  const pattern secret = *store.secrets.begin();
  std::memcpy(planted.data() + planted.size() / 2 + 1, &secret, sizeof secret);
  BOOST_TEST(holds_secret(planted, store.secrets));
}

BOOST_AUTO_TEST_SUITE_END()
