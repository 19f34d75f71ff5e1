// Nothing that a FURL run emits holds a byte pattern of any private value that it ever stored.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <mutex>
#include <unordered_set>

#include "actors/actor_engine.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "storage/memory_store.hpp"
#include "tests/tools/command.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/prepared_run.hpp"
#include "wire/encode.hpp"

BOOST_AUTO_TEST_SUITE(private_bytes)

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
  result<bool> erase(std::uint32_t client) override { return inner_.erase(client); }
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

/// Everything that a run encodes, and every private value that it ever stored.
struct watched_run {
  std::vector<std::vector<std::byte>> emitted;
  std::unordered_set<pattern> secrets;
  int refused = 0;  ///< by an encoder or the sum
};

watched_run watch(scenarios::scenario scenario) {
  auto ready = tools::open_prepared_run(std::move(scenario));
  BOOST_REQUIRE(ready.has_value());
  auto& e = ready->experiment;
  e.settings.checkpoint_every = 1;
  const wire::encoder encode(e.parts.shared);
  watching_store store(e.parts.private_);
  std::mutex lock;
  watched_run seen;
  const auto keep_bytes = [&](std::span<const std::byte> bytes) {
    seen.emitted.emplace_back(bytes.begin(), bytes.end());
  };
  const auto keep = [&](const result<wire::encoded>& frame) {
    if (frame)
      keep_bytes(frame->bytes());
    else
      ++seen.refused;
  };
  const auto sum = federated::make_accumulator(*e.settings.aggregation, e.parts.shared, {});
  // Every update passes here on its way from the client: its task, itself in both formats, and the sums that it is in.
  e.upload_bytes = [&](const federated::client_update& update) {
    const std::scoped_lock hold(lock);
    keep(wire::encoder::encode(update.id));
    keep(encode.encode(update, wire::update_format::dense));
    keep(encode.encode(update, wire::update_format::sparse));
    seen.refused += sum->fold(update) ? 1 : 0;
    federated::partial_aggregate partial;
    partial.folded = {{update.id.client, 0}};
    partial.sums = sum->save();
    keep(encode.encode(partial));
    return std::uint64_t{0};
  };
  // Every version's broadcast, and every line of metrics.
  federated::run_observer observer;
  observer.on_round = [&](const federated::round_report& report) {
    const std::scoped_lock hold(lock);
    const auto line = tools::to_json(report).dump();
    keep_bytes(std::as_bytes(std::span(line)));
    return result<void>{};
  };
  observer.on_checkpoint = [&](federated::server_state& state) {
    const std::scoped_lock hold(lock);
    keep(encode.encode(federated::broadcast{e.run, state.version, state.model, state.reference}));
    return result<void>{};
  };
  const std::atomic<bool> stop = false;
  const auto outcome = actors::run_actors(e, federated::initial_state(e), store, observer, stop, {2});
  BOOST_REQUIRE(outcome.has_value());
  seen.secrets = std::move(store.secrets);
  return seen;
}

/// @param tasks of all rounds
void check(const watched_run& run, std::size_t rounds, std::size_t tasks, std::size_t least_secrets) {
  BOOST_TEST(run.refused == 0);
  BOOST_TEST(run.secrets.size() > least_secrets);
  BOOST_TEST(run.emitted.size() == tasks * 4 + 2 * rounds);
  for (const auto& bytes : run.emitted) BOOST_REQUIRE(!holds_secret(bytes, run.secrets));

  // The search finds what is there.
  auto planted = run.emitted[1];
  const pattern secret = *run.secrets.begin();
  std::memcpy(planted.data() + planted.size() / 2 + 1, &secret, sizeof secret);
  BOOST_TEST(holds_secret(planted, run.secrets));
}

/// FURL on generated texts, three rounds of five of twenty users.
watched_run watch_texts(const std::string& data, const std::string& model) {
  auto scenario = scenarios::parse_scenario_text(
      "[scenario]\nname = \"t\"\nrounds = 3\n[data]\nsource = \"synthetic-texts\"\nusers = 20\ntexts_per_user = 10\n"
      "words = 20\nlength = 5\n" +
          data + "[model]\n" + model +
          "[algorithm]\nkind = \"furl\"\nclient = {lr = 0.3, batch_size = 4}\n[participation]\nper_round = 5\n",
      "t.toml");
  BOOST_REQUIRE(scenario.has_value());
  return watch(std::move(*scenario));
}

}  // namespace

BOOST_AUTO_TEST_CASE(none_in_anything_that_a_furl_run_encodes) {
  const tests::scratch_folder folder;
  auto scenario = scenarios::parse_scenario(tests::small_scenario(folder, "furl", 10));
  BOOST_REQUIRE(scenario.has_value());
  check(watch(std::move(*scenario)), 10, 200, 400);
}

BOOST_AUTO_TEST_CASE(none_of_a_text_classifiers_user_vectors) {
  check(watch_texts("classes = 4\n",
                    "kind = \"doc-classifier\"\nembedding = 4\nhidden = 4\nmlp = 6\nuser_embedding = 8\n"
                    "private = [\"user\"]\n"),
        3, 15, 60);
}

BOOST_AUTO_TEST_CASE(none_of_the_embeddings_of_unknown_words) {
  check(watch_texts("task = \"next-word\"\nclasses = 2\nown_words = 3\nown_share = 0.4\nbuckets = 8\n",
                    "kind = \"lstm-nwp\"\nembedding = 6\nhidden = 4\nprojection = 6\nprivate = "
                    "[\"oov_embedding\"]\n"),
        3, 15, 200);
}

BOOST_AUTO_TEST_SUITE_END()
