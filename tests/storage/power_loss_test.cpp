// A run whose machine loses power at any moment is resumed from the last checkpoint that was acknowledged, or from the
// one that was being written, and ends as if nothing had happened.
#include "tests/support/power_loss.hpp"

#include <fcntl.h>
#include <optional>
#include <unistd.h>

#include "base/digest.hpp"
#include "federated/settings/events.hpp"
#include "models/digest.hpp"
#include "storage/checkpoint.hpp"
#include "tests/storage/store_kinds.hpp"
#include "tests/support/worlds.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(power_losses)

namespace {

constexpr std::uint64_t run_id = 4711;
constexpr std::uint32_t stride = 50;     // 24 clients in three shards of 400
constexpr std::size_t most_judged = 60;  // beside those where something was acknowledged

/// A store whose clients are far apart, so that few of them fill several shards.
class spread_store final : public federated::private_store {
 public:
  explicit spread_store(federated::private_store& all) : all_(all) {}
  result<bool> load(std::uint32_t client, models::private_parameters& out) override {
    return all_.load(client * stride, out);
  }
  result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override {
    return all_.commit(client * stride, version, value);
  }
  result<void> sync() override { return all_.sync(); }
  result<federated::store_save> save(std::uint64_t version) override { return all_.save(version); }
  void covered(std::uint64_t version) override { all_.covered(version); }
  result<bool> erase(std::uint32_t client) override { return all_.erase(client * stride); }
  result<void> visit(
      const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) override {
    return all_.visit([&](std::uint32_t client, std::uint64_t version, const models::private_parameters& value) {
      each(client / stride, version, value);
    });
  }

 private:
  federated::private_store& all_;
};

std::string digest_of(federated::private_store& store) {
  sha256_stream digest;
  must(store.visit([&](std::uint32_t client, std::uint64_t, const models::private_parameters& value) {
    digest.add(std::uint64_t{client}).add(value.values());
  }));
  return hex(digest.finish());
}

/// What a run is at one version.
struct figures {
  std::string model;
  std::string own;
  friend bool operator==(const figures&, const figures&) = default;
};

figures figures_of(const models::shared_parameters& model, federated::private_store& store) {
  return {hex(models::model_sha256(model)), digest_of(store)};
}

/// Runs to the end. `on_save` writes the checkpoint.
figures run_on(const federated::experiment& e, federated::server_state start, federated::private_store& store,
               const std::function<result<void>(federated::server_state&)>& on_save) {
  federated::run_observer observer;
  observer.on_checkpoint = on_save;
  const std::atomic<bool> stop = false;
  const auto done = must(federated::simulate(e, std::move(start), store, observer, stop));
  return figures_of(done.state.model, store);
}

/// FURL with a checkpoint in each round. A client that has private values by then leaves for good.
federated::experiment small_run() {
  auto settings = plain_settings();
  settings.checkpoint_every = 1;
  federated::event_settings leaves;
  leaves.what = federated::event_kind::leave;
  leaves.at_round = true;
  leaves.round = 4;
  leaves.first = leaves.last = 9;
  leaves.erase = true;
  settings.events->push_back(leaves);
  return simulated(settings);
}

/// A disk as it may be after a loss of power, and the version of the last checkpoint that was acknowledged.
struct loss {
  disk_image disk;
  std::uint64_t acknowledged = 0;
};

/// One run, and what every loss of power in it leaves.
class watched_run {
 public:
  watched_run(const federated::experiment& e, const store_kind& kind) : e_(e), kind_(kind) {
    storage::memory_store plain(e.parts.private_);
    end_ = run_on(e, federated::initial_state(e), plain, [&](auto& state) {
      expected_[state.version] = figures_of(state.model, plain);
      return result<void>();
    });
    std::filesystem::create_directory(run_folder());
    const watched_disk disk(run_folder(), [this](const watched_disk& of) { look(of); });
    auto opened = must(storage::rocks_store::create(store_folder(run_folder()), e.parts.private_, options({})));
    spread_store store(*opened);
    const auto end = run_on(e, federated::initial_state(e), store, [&](auto& state) {
      auto written = storage::write_checkpoint(checkpoint_folder(run_folder()), state);
      acknowledged_ = state.version;
      must_survive_.push_back({disk.durable(), acknowledged_});
      return written;
    });
    BOOST_TEST((end == end_));
  }

  void judge_all() {
    BOOST_TEST(must_survive_.size() == 5U);
    for (const auto& one : must_survive_) judge(one);
    BOOST_TEST(losses_.size() > 100U);
    random_stream draws(1, purpose::test);
    draws.shuffle(std::span(losses_));
    losses_.resize(std::min(losses_.size(), most_judged));
    for (const auto& one : losses_) judge(one);
  }

 private:
  [[nodiscard]] fs::path run_folder() const { return scratch_ / "run"; }
  static fs::path store_folder(const fs::path& run) { return run / "private"; }
  static fs::path checkpoint_folder(const fs::path& run) { return run / "checkpoint"; }
  [[nodiscard]] storage::store_options options(const federated::run_history& history,
                                               const federated::store_save& save = {}) const {
    auto made = kind_.options({.run = run_id, .history = history, .expected_clients = 24 * stride, .open_shards = 1});
    made.bucket_clients = 400;
    made.save = save;
    return made;
  }

  void look(const watched_disk& of) {
    auto strictly = of.durable();
    if (losses_.empty() || strictly != last_) losses_.push_back({strictly, acknowledged_});
    last_ = std::move(strictly);
    losses_.push_back({of.partly({looks_++, purpose::test}), acknowledged_});
  }

  void judge(const loss& one) {
    const auto folder = scratch_ / "after";
    write_image(one.disk, folder);
    BOOST_TEST_CONTEXT("after version " << one.acknowledged) { resume(folder, one.acknowledged); }
    fs::remove_all(folder);
  }

  void resume(const fs::path& folder, std::uint64_t acknowledged) {
    if (!storage::has_checkpoint(checkpoint_folder(folder))) {
      BOOST_TEST(acknowledged == 0U);
      return;
    }
    auto state = must(storage::read_checkpoint(checkpoint_folder(folder), e_.parts.shared));
    BOOST_TEST((state.version == acknowledged || state.version == acknowledged + 1), "version " << state.version);
    const auto expected = expected_.at(state.version);
    {
      const auto left = kind_.inspect(store_folder(folder), storage::store_access::read);
      for (const auto& problem : left->verify()) BOOST_ERROR(problem.text());
    }
    state.history.resume(state.version, 1);
    auto opened = must(storage::rocks_store::open(store_folder(folder), e_.parts.private_,
                                                  options(state.history, state.private_save)));
    spread_store store(*opened);
    BOOST_TEST(hex(models::model_sha256(state.model)) == expected.model);
    // An erasure that is due may have been done already.
    if (state.simulation.erasures.empty()) BOOST_TEST(digest_of(store) == expected.own);
    const auto end = run_on(e_, std::move(state), store, [](auto&) { return result<void>(); });
    BOOST_TEST(end.model == end_.model);
    BOOST_TEST(end.own == end_.own);
  }

  const federated::experiment& e_;
  store_kind kind_;
  temporary_folder scratch_;
  std::map<std::uint64_t, figures> expected_;
  figures end_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t looks_ = 0;
  disk_image last_;
  std::vector<loss> losses_;
  std::vector<loss> must_survive_;
};

}  // namespace

BOOST_DATA_TEST_CASE(a_run_survives_them_at_any_moment, all_kinds, kind) {
  const auto e = small_run();
  watched_run(e, kind).judge_all();
}

// A key that is lost with the power is lost with all that it encrypted.
BOOST_AUTO_TEST_CASE(a_key_file_is_there_when_its_creation_returns) {
  const temporary_folder folder;
  const watched_disk disk(folder.path(), [](const watched_disk&) {});
  must(storage::create_key_file(folder / "key"));
  const auto left = disk.durable();
  BOOST_REQUIRE(left.contains("key"));
  BOOST_TEST(*left.at("key") == slurp(folder / "key"));
}

// Without its name, all that was made durable in it would be lost.
BOOST_AUTO_TEST_CASE(a_new_store_lasts_with_the_folders_above_it) {
  const auto kind = all_kinds[0];
  const temporary_folder folder;
  const watched_disk disk(folder.path(), [](const watched_disk&) {});
  const auto e = small_run();
  const auto store = must(storage::rocks_store::create(folder / "nodes/one", e.parts.private_, kind.options({})));
  BOOST_TEST(disk.durable().contains("nodes/one/store.furlong"));
}

// The test's own disk: what it loses and what it keeps.
BOOST_AUTO_TEST_CASE(what_was_not_synced_is_lost) {
  const temporary_folder folder;
  spill(folder / "old", "before");
  const watched_disk disk(folder.path(), [](const watched_disk&) {});
  const auto content = [&](const std::string& name) {
    const auto image = disk.durable();
    const auto at = image.find(name);
    return at == image.end() ? std::optional<std::string>() : *at->second;
  };
  const auto sync = [&](const fs::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY);
    BOOST_TEST(::fsync(file) == 0);
    ::close(file);
  };
  spill(folder / "old", "after");
  spill(folder / "new", "fresh");
  BOOST_TEST((content("old") == "before"));
  BOOST_TEST(!content("new"));
  sync(folder / "old");
  sync(folder / "new");
  BOOST_TEST((content("old") == "after"));
  BOOST_TEST(!content("new"));  // its name is not durable
  sync(folder.path());
  BOOST_TEST((content("new") == "fresh"));
  fs::rename(folder / "new", folder / "old");
  BOOST_TEST((content("old") == "after"));
  sync(folder.path());
  BOOST_TEST((content("old") == "fresh"));
  BOOST_TEST(!content("new"));
  spill(folder / "empty", "never synced");
  sync(folder.path());
  BOOST_TEST((content("empty") == ""));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
