// Mistakes of datasets that no check of one example after the other sees, each found by its law.
#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>

#include "scenarios/data/dataset.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/tools/conformance/planted_parts.hpp"

BOOST_AUTO_TEST_SUITE(planted_datasets)

using namespace furlong;
using federated::part;
using tests::table_population;

namespace {

/// Loads the examples of a sound population in its own way.
using loader = std::function<models::examples_view(const federated::population& sound, std::uint32_t client, part which,
                                                   models::examples& scratch)>;

class loading_population final : public federated::population {
 public:
  explicit loading_population(loader load) : sound_(tests::make_ratings(41)), load_(std::move(load)) {}

  models::data_facts facts() const override { return sound_->facts(); }
  std::span<const std::uint32_t> training() const override { return sound_->training(); }
  std::span<const std::uint32_t> unseen_validation() const override { return sound_->unseen_validation(); }
  std::span<const std::uint32_t> unseen_test() const override { return sound_->unseen_test(); }
  models::examples_view load(std::uint32_t client, part which, models::examples& scratch) const override {
    return load_(*sound_, client, which, scratch);
  }
  std::uint32_t count(std::uint32_t client, part which) const override { return sound_->count(client, which); }
  std::string client_name(std::uint32_t client) const override { return sound_->client_name(client); }
  std::string feature_name(std::uint32_t feature) const override { return sound_->feature_name(feature); }

 private:
  std::shared_ptr<const federated::population> sound_;
  loader load_;
};

/// Registers a dataset. `make` is called for each time that it is built.
void plant(const std::function<std::shared_ptr<const federated::population>()>& make) {
  scenarios::dataset_entry entry;
  entry.kind = "planted";
  entry.doc = "A dataset of this test.";
  entry.build = [make](const option_values&, const std::filesystem::path&) -> result<scenarios::dataset> {
    scenarios::dataset made;
    made.clients = make();
    return made;
  };
  scenarios::register_dataset(std::move(entry));
}

void check_broken(const std::function<std::shared_ptr<const federated::population>()>& make, const std::string& law,
                  const std::string& reason) {
  plant(make);
  tests::check_broken(tools::part_kind::dataset, law, reason);
}

/// A population of tables that were changed.
std::shared_ptr<const federated::population> changed(const std::function<void(table_population&)>& change) {
  auto made = tests::make_ratings(41);
  change(*made);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_dataset_is_none_of_these) {
  plant([] { return tests::make_ratings(41); });
  tests::check_sound(tools::part_kind::dataset);
}

// The examples are checked when the data are built.
BOOST_AUTO_TEST_CASE(labels_that_are_not_finite_when_they_are_loaded_later) {
  constexpr int checked = 24 * 3;
  check_broken(
      [] {
        const auto loads = std::make_shared<std::atomic<int>>(0);
        return std::make_shared<loading_population>(
            [loads](const federated::population& sound, std::uint32_t client, part which, models::examples& scratch) {
              scratch.clear();
              scratch.append(sound.load(client, which, scratch));
              if (++*loads > checked) std::ranges::fill(scratch.labels, std::numeric_limits<float>::infinity());
              return scratch.view();
            });
      },
      "examples", "which is not finite");
}

BOOST_AUTO_TEST_CASE(data_that_are_others_in_every_process) {
  const auto builds = std::make_shared<std::uint64_t>(0);
  check_broken([builds] { return tests::make_ratings(++*builds); }, "repetition", " when the data are built again");
}

BOOST_AUTO_TEST_CASE(examples_in_a_buffer_that_all_clients_share) {
  check_broken(
      [] {
        const auto buffer = std::make_shared<models::examples>();
        buffer->features.reserve(1000);
        buffer->labels.reserve(1000);
        return std::make_shared<loading_population>(
            [buffer](const federated::population& sound, std::uint32_t client, part which, models::examples& scratch) {
              buffer->clear();
              buffer->append(sound.load(client, which, scratch));
              return buffer->view();
            });
      },
      "views", " changes when that of another client is loaded");
}

BOOST_AUTO_TEST_CASE(examples_in_another_order_at_each_call) {
  check_broken(
      [] {
        const auto loads = std::make_shared<std::atomic<std::uint32_t>>(0);
        return std::make_shared<loading_population>(
            [loads](const federated::population& sound, std::uint32_t client, part which, models::examples& scratch) {
              models::examples unused;
              const auto given = sound.load(client, which, unused);
              std::vector<std::uint32_t> order(given.size());
              for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
              const auto turn = order.empty() ? 0 : ++*loads % order.size();
              std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(turn), order.end());
              scratch.clear();
              scratch.append(given, order);
              return scratch.view();
            });
      },
      "views", " is another one when it is loaded again");
}

BOOST_AUTO_TEST_CASE(clients_with_the_examples_of_one) {
  check_broken(
      [] {
        return changed([](table_population& clients) {
          const auto longest = std::ranges::max_element(
              clients.tables, {}, [](const tests::client_table& table) { return table.train.labels.size(); });
          const auto examples = longest->train;
          for (const auto client : clients.seen) clients.tables[client].train = examples;
        });
      },
      "clients", " have the same ");
}

BOOST_AUTO_TEST_CASE(a_test_part_that_is_trained_on) {
  check_broken(
      [] {
        return changed([](table_population& clients) {
          for (const auto client : clients.seen) clients.tables[client].test = clients.tables[client].train;
        });
      },
      "parts", " of test parts, ");
}

BOOST_AUTO_TEST_SUITE_END()
