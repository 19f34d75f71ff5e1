// Laws of datasets: the same data whenever they are built and loaded, and examples that are in one place alone.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>

#include "base/digest.hpp"
#include "scenarios/data/checked_dataset.hpp"
#include "tools/conformance/laws.hpp"

namespace furlong::tools::conformance {

namespace {

using federated::part;
using federated::population;
using models::examples_view;
using scenarios::dataset;

/// Two clients with so many examples that are all the same, in the same order, are one client twice.
constexpr std::size_t fewest_alike = 5;
/// Generated and real data repeat examples by chance; a part that is a copy of another one repeats all.
constexpr double most_repeated = 0.5;
constexpr std::size_t fewest_examples = 20;

constexpr std::pair<part, const char*> parts[] = {
    {part::train, "train"}, {part::validation, "validation"}, {part::test, "test"}};

/// The SHA-256 of examples.
std::string digest_of(const examples_view& data) {
  sha256_stream stream;
  for (const auto numbers : {data.features, data.offsets, data.owners})
    stream.add(std::uint64_t{numbers.size()}).add(std::as_bytes(numbers));
  for (const auto numbers : {data.values, data.labels}) stream.add(std::uint64_t{numbers.size()}).add(numbers);
  return hex(stream.finish());
}

std::vector<std::uint32_t> all_clients(const population& clients) {
  std::vector<std::uint32_t> numbers;
  for (const auto listed : {clients.training(), clients.unseen_validation(), clients.unseen_test()})
    numbers.insert(numbers.end(), listed.begin(), listed.end());
  return numbers;
}

bool same_facts(const models::data_facts& first, const models::data_facts& second) {
  return first.features == second.features && first.clients == second.clients && first.labels == second.labels &&
         first.classes == second.classes && first.words == second.words;
}

class dataset_trial {
 public:
  explicit dataset_trial(const std::function<result<dataset>()>& load) : load_(load) {}

  void prepare() { data_ = built(); }
  [[nodiscard]] bool is_prepared() const { return data_.has_value(); }

  [[nodiscard]] std::string fault_of_examples() const {
    const auto sound = scenarios::check_dataset(*data_, "");
    return sound ? std::string() : sound.error().reason;
  }

  [[nodiscard]] std::string fault_of_second_build() const {
    const auto again = built();
    const auto& first = *data_->clients;
    const auto& second = *again.clients;
    if (!same_facts(first.facts(), second.facts())) return "facts() are others when the data are built again";
    if (all_clients(first) != all_clients(second)) return "other clients train or are held out when it is built again";
    for (const auto client : all_clients(first))
      for (const auto& [which, word] : parts)
        if (digest_at(first, client, which) != digest_at(second, client, which))
          return fmt::format("the {} part of client {} is another one when the data are built again", word, client);
    return {};
  }

  /// A view may look into the population, which must then not change.
  [[nodiscard]] std::string fault_of_views() const {
    const auto clients = all_clients(*data_->clients);
    for (std::size_t i = 0; i < clients.size(); ++i)
      for (const auto& [which, word] : parts) {
        models::examples scratch;
        const auto view = data_->clients->load(clients[i], which, scratch);
        const auto before = digest_of(view);
        static_cast<void>(digest_at(*data_->clients, clients[(i + 1) % clients.size()], which));
        if (digest_of(view) != before)
          return fmt::format("the {} part of client {} changes when that of another client is loaded", word,
                             clients[i]);
        if (digest_at(*data_->clients, clients[i], which) != before)
          return fmt::format("the {} part of client {} is another one when it is loaded again", word, clients[i]);
      }
    return {};
  }

  [[nodiscard]] std::string fault_of_clients() const {
    std::map<std::string, std::uint32_t> owners;  // of the digests of train parts
    for (const auto client : all_clients(*data_->clients)) {
      models::examples scratch;
      const auto view = data_->clients->load(client, part::train, scratch);
      if (view.size() < fewest_alike) continue;
      const auto [owner, is_new] = owners.try_emplace(digest_of(view), client);
      if (!is_new)
        return fmt::format("clients {} and {} have the same {} train examples", owner->second, client, view.size());
    }
    return {};
  }

  [[nodiscard]] std::string fault_of_parts() const {
    std::map<std::string, std::pair<std::size_t, std::size_t>> repeated;  // and all, by the part
    for (const auto client : all_clients(*data_->clients)) {
      std::set<std::string> seen;
      for (const auto& [which, word] : parts) {
        models::examples scratch;
        const auto view = data_->clients->load(client, which, scratch);
        auto& [copies, total] = repeated[word];
        for (std::size_t i = 0; i < view.size(); ++i) copies += seen.insert(example_digest(view, i)).second ? 0 : 1;
        total += view.size();
      }
    }
    for (const auto& [word, counts] : repeated)
      if (const auto& [copies, total] = counts;
          total >= fewest_examples && static_cast<double>(copies) > most_repeated * static_cast<double>(total))
        return fmt::format("of {} examples of {} parts, {} are in the same client's examples once more", total, word,
                           copies);
    return {};
  }

 private:
  [[nodiscard]] dataset built() const {
    auto made = load_();
    if (!made) throw std::runtime_error(made.error().text());
    if (made->clients == nullptr) throw std::runtime_error("it is built without clients");
    return std::move(*made);
  }
  static std::string digest_at(const population& clients, std::uint32_t client, part which) {
    models::examples scratch;
    return digest_of(clients.load(client, which, scratch));
  }
  static std::string example_digest(const examples_view& data, std::size_t i) {
    models::examples single;
    const auto pick = static_cast<std::uint32_t>(i);
    single.append(data, {&pick, 1});
    return digest_of(single.view());
  }

  const std::function<result<dataset>()>& load_;
  std::optional<dataset> data_;
};

}  // namespace

findings check_dataset(const std::function<result<dataset>()>& load) {
  findings made;
  dataset_trial trial(load);
  made.examine(
      {"examples", "lists of clients, features, values and labels are as facts() says", "correct what build() makes"},
      [&] {
        trial.prepare();
        return kept_unless(trial.fault_of_examples());
      });
  const auto examine = [&](law subject, auto question) {
    made.examine(std::move(subject),
                 [&] { return trial.is_prepared() ? kept_unless((trial.*question)()) : skipped("there are no data"); });
  };
  examine({"repetition", "the data are the same in every process that builds them",
           "derive them from the files and options, a seed among them, and from nothing else"},
          &dataset_trial::fault_of_second_build);
  examine({"views", "loading is repeatable, and disturbs no examples that were loaded before",
           "load into `scratch`, or return views of data that never change: threads load at the same time"},
          &dataset_trial::fault_of_views);
  examine({"clients", "no two clients have the same examples", "return in load() the examples of the client asked for"},
          &dataset_trial::fault_of_clients);
  examine({"parts", "an example is in one part of a client, and there once",
           "split the examples of a client: what is scored must not be trained on"},
          &dataset_trial::fault_of_parts);
  return made;
}

}  // namespace furlong::tools::conformance
