#include "storage/checkpoint.hpp"

#include "models/kernels/kernels.hpp"
#include "tests/storage/fixtures.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(checkpoints)

using federated::server_state;

namespace {

models::layout_ptr shared_layout() {
  return std::make_shared<const models::layout>(
      std::vector<models::tensor_spec>{{"items", 9, 4}, {"item_bias", 9, 1}, {"mean", 1, 1}});
}

server_state make_state(std::uint64_t seed) {
  random_stream draws(seed, purpose::test);
  const auto layout = shared_layout();
  server_state state;
  state.run = (std::uint64_t{draws()} << 32U) | draws();
  state.version = draws.below(1000);
  state.model = models::shared_parameters(layout);
  for (auto& x : state.model.values()) x = draws.normal();
  state.optimizer.steps = draws.below(1000);
  for (unsigned slot = 0; slot < seed % 4; ++slot) {
    state.optimizer.slots.emplace_back(slot == 1 ? 0 : layout->size());
    for (auto& x : state.optimizer.slots.back()) x = draws.normal();
  }
  for (unsigned i = 0; i < seed % 3; ++i) state.reference.push_back(draws.normal());
  state.counts.selected = draws();
  state.counts.folded = draws();
  for (auto& n : state.counts.rejected) n = draws();
  state.counts.clients_trained = draws();
  state.counts.examples = draws();
  state.counts.bytes_up = draws();
  state.counts.bytes_down = draws();
  state.start_id = draws();
  if (seed % 3 == 2)
    state.stores = federated::known_stores({{{0, 9}, draws(), 3, 7, "west"}, {{12, 12}, draws(), 1, 0, ""}}, draws());
  state.kernel_levels = {"a level", models::kernels().level};  // the second is always added
  if (seed % 2 == 0) state.data_sha256 = "digest " + std::to_string(seed);
  for (unsigned i = 0; i < seed % 5; ++i) state.history.resume(draws(), draws());
  state.wall_seconds = draws.uniform();
  state.cpu_seconds = draws.uniform();
  state.train_seconds = draws.uniform();
  state.train_cpu_seconds = draws.uniform();
  state.now = draws();
  state.counts.late = draws();
  state.counts.surplus = draws();
  for (auto& n : state.counts.dropped) n = draws();
  state.counts.abandoned = draws();
  state.counts.rounds_abandoned = draws();
  state.counts.staleness_sum = draws();
  state.counts.staleness_max = draws();
  state.losses = {.training = draws.uniform(),
                  .evaluation = {0.5, std::nullopt, 2.5},
                  .diverged = seed % 2 == 0 ? "why" : "",
                  .rejected_in_a_row = draws(),
                  .beat_constant = {seed % 2 == 0, seed % 3 == 0, true},
                  .scoring = seed % 3 == 1 ? "scoring" : ""};
  for (unsigned i = 0; i < seed % 6; ++i) {
    const federated::task_id id{state.run, draws.below(5), 3 * i, draws.below(3)};
    state.open.push_back({id, draws.below(4), draws(), i % 2 == 0, i % 3 == 0});
    state.started_from.try_emplace(id.version, federated::earlier_model{state.model, {131, 120, 7}});
    state.simulation.tasks.push_back({id, draws(), federated::never, federated::never + draws(), {}});
    auto& task = state.simulation.tasks.back();
    if (i % 2 == 1) task.dropped = static_cast<federated::drop_stage>(i % 3);
    task.cause = static_cast<federated::drop_cause>(i % federated::drop_cause_count);
    for (unsigned n = 0; n < i % 3; ++n) task.offline.push_back({draws(), n == 1 ? federated::never : draws()});
  }
  for (unsigned i = 0; i < seed % 4; ++i) state.simulation.events.push_back(i);
  for (unsigned i = 0; i < seed % 3; ++i) state.simulation.erasures.push_back(draws());
  if (seed % 3 == 1) state.target_reached = draws();
  state.target_version = draws();
  if (seed % 3 == 1) state.target_id = "target " + std::to_string(seed);
  if (seed % 3 == 2) state.progress = {"validation.rmse", "scoring", draws.normal(), draws(), draws()};
  if (seed % 4 == 1) {
    auto best = state.model;
    for (auto& x : best.values()) x = draws.normal();
    state.best = std::make_shared<const federated::best_model>(
        federated::best_model{"validation.loss", "scoring", draws.normal(), draws(), std::move(best)});
  }
  state.code_changed = seed % 3 == 2;
  if (seed % 3 == 1) state.code = "9f86d0 nets/block.py\n60303a taste.py\n";
  state.evaluation_due = seed % 5 == 1;
  if (state.evaluation_due) state.unwritten_round = "{\"round\":5}";
  if (seed % 2 == 1) state.output_bytes = {{"metrics.jsonl", draws()}, {"events.jsonl", 0}};
  return state;
}

void check_same(const server_state& a, const server_state& b) {
  BOOST_TEST(a.run == b.run);
  BOOST_TEST(a.version == b.version);
  BOOST_TEST((*a.model.shape() == *b.model.shape()));
  BOOST_TEST(std::ranges::equal(a.model.values(), b.model.values()));
  BOOST_TEST((a.optimizer == b.optimizer));
  BOOST_TEST(a.reference == b.reference, boost::test_tools::per_element());
  BOOST_TEST((a.counts == b.counts));
  BOOST_TEST((a.history == b.history));
  BOOST_TEST(a.start_id == b.start_id);
  BOOST_TEST((a.kernel_levels == b.kernel_levels));
  BOOST_TEST((a.stores == b.stores));
  BOOST_TEST(a.data_sha256 == b.data_sha256);
  BOOST_TEST(a.code == b.code);
  BOOST_TEST(a.code_changed == b.code_changed);
  BOOST_TEST(a.wall_seconds == b.wall_seconds);
  BOOST_TEST(a.cpu_seconds == b.cpu_seconds);
  BOOST_TEST(a.train_seconds == b.train_seconds);
  BOOST_TEST(a.train_cpu_seconds == b.train_cpu_seconds);
  BOOST_TEST((a.output_bytes == b.output_bytes));
  BOOST_TEST(a.now == b.now);
  BOOST_TEST((a.open == b.open));
  BOOST_TEST((a.simulation == b.simulation));
  BOOST_TEST((a.target_reached == b.target_reached));
  BOOST_TEST(a.target_version == b.target_version);
  BOOST_TEST(a.target_id == b.target_id);
  BOOST_TEST((a.progress == b.progress));
  BOOST_TEST(a.evaluation_due == b.evaluation_due);
  BOOST_TEST(a.unwritten_round == b.unwritten_round);
  BOOST_REQUIRE((a.best != nullptr) == (b.best != nullptr));
  if (a.best) {
    BOOST_TEST(a.best->metric == b.best->metric);
    BOOST_TEST(a.best->scoring == b.best->scoring);
    BOOST_TEST(a.best->figure == b.best->figure);
    BOOST_TEST(a.best->version == b.best->version);
    BOOST_TEST(std::ranges::equal(a.best->model.values(), b.best->model.values()));
  }
  BOOST_REQUIRE(a.started_from.size() == b.started_from.size());
  for (const auto& [version, from] : a.started_from) {
    BOOST_TEST(std::ranges::equal(from.model.values(), b.started_from.at(version).model.values()));
    BOOST_TEST((from.limits == b.started_from.at(version).limits));
  }
  BOOST_TEST((a.sizes == b.sizes));
  BOOST_TEST((a.losses == b.losses));
}

fs::path file_in(const fs::path& folder) { return files_below(folder).front(); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_checkpoint_reads_back_and_replaces_the_one_before) {
  const temporary_folder folder;
  BOOST_TEST(!storage::has_checkpoint(folder.path()));
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const auto state = make_state(seed);
    must(storage::write_checkpoint(folder.path() / "checkpoint", state));
    check_same(must(storage::read_checkpoint(folder.path() / "checkpoint", shared_layout())), state);
    BOOST_TEST(files_below(folder.path()).size() == 1U);  // no temporary file stays
  }
}

BOOST_AUTO_TEST_CASE(what_a_crash_leaves_of_the_next_one_does_not_matter) {
  const temporary_folder folder;
  const auto state = make_state(3);
  must(storage::write_checkpoint(folder.path(), state));
  spill(file_in(folder.path()).string() + ".new", "half a check");
  check_same(must(storage::read_checkpoint(folder.path(), shared_layout())), state);
  must(storage::write_checkpoint(folder.path(), make_state(4)));
  check_same(must(storage::read_checkpoint(folder.path(), shared_layout())), make_state(4));
}

BOOST_AUTO_TEST_CASE(a_failed_write_leaves_the_old_one) {
  const temporary_folder folder;
  const auto state = make_state(3);
  must(storage::write_checkpoint(folder.path(), state));
  fs::create_directory(file_in(folder.path()).string() + ".new");  // in the way of the temporary file
  BOOST_TEST(!storage::write_checkpoint(folder.path(), make_state(4)).has_value());
  check_same(must(storage::read_checkpoint(folder.path(), shared_layout())), state);
}

BOOST_AUTO_TEST_CASE(the_folder_appears_with_the_first_checkpoint_in_it) {
  const temporary_folder folder;
  const auto place = folder.path() / "checkpoint";
  spill(folder.path() / "checkpoint.new", "in the way of nothing");
  must(storage::write_checkpoint(place, make_state(3)));
  BOOST_TEST(!fs::exists(folder.path() / "checkpoint.new"));
  fs::remove_all(place);
  auto tall = make_state(3);
  const auto too_large =
      std::make_shared<const models::layout>(std::vector<models::tensor_spec>{{"items", 1U << 27U, 1}});
  tall.model = models::shared_parameters(too_large);
  BOOST_TEST(contains(must_fail(storage::write_checkpoint(place, tall)), "the checkpoint cannot be written"));
  BOOST_TEST(!fs::exists(place));
}

BOOST_AUTO_TEST_CASE(a_missing_checkpoint_says_so) {
  const temporary_folder folder;
  BOOST_TEST(contains(must_fail(storage::read_checkpoint(folder.path(), shared_layout())), "there is no checkpoint"));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_another_layout_is_refused) {
  const temporary_folder folder;
  must(storage::write_checkpoint(folder.path(), make_state(1)));
  const auto refusal = [&](std::vector<models::tensor_spec> asked) {
    const auto other = std::make_shared<const models::layout>(std::move(asked));
    return must_fail(storage::read_checkpoint(folder.path(), other));
  };
  const auto why = refusal({{"items", 9, 5}, {"another", 1, 1}});
  BOOST_TEST(
      contains(why, "it has \"items 9 4\" (name, rows, columns) where the scenario's model has \"items 9 5\"; use"));
  BOOST_TEST(!contains(why, "\n"));
  const auto shared = shared_layout();
  std::vector<models::tensor_spec> longer(shared->tensors().begin(), shared->tensors().end());
  longer.push_back({"more", 2, 3});
  const auto grown = refusal(longer);
  BOOST_TEST(contains(grown, "has no tensor (name, rows, columns) where the scenario's model has \"more 2 3\""), grown);
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  const temporary_folder folder;
  must(storage::write_checkpoint(folder.path(), make_state(7)));
  const auto file = file_in(folder.path());
  const auto bytes = slurp(file);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    spill(file, bytes.substr(0, length));
    BOOST_TEST(contains(must_fail(storage::read_checkpoint(folder.path(), shared_layout())), file.string()));
  }
  spill(file, bytes + '\0');
  must_fail(storage::read_checkpoint(folder.path(), shared_layout()));
}

BOOST_AUTO_TEST_CASE(every_flipped_bit_is_refused) {
  const temporary_folder folder;
  must(storage::write_checkpoint(folder.path(), make_state(7)));
  const auto file = file_in(folder.path());
  const auto bytes = slurp(file);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto bad = bytes;
    bad[at] = static_cast<char>(static_cast<unsigned char>(bad[at]) ^ (1U << (at % 8)));
    spill(file, bad);
    BOOST_TEST(contains(must_fail(storage::read_checkpoint(folder.path(), shared_layout())), file.string()));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
