#include "scenarios/data/checked_dataset.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace furlong::scenarios {

namespace {

using federated::part;
using models::objective;

/// Why a label cannot be; empty: it can.
std::string fault_of_label(float label, const models::data_facts& facts) {
  if (facts.labels == objective::custom || facts.labels == objective::next_token) return {};
  if (!std::isfinite(label)) return "which is not finite";
  if (facts.labels == objective::logistic && label != 0.0F && label != 1.0F) return "and labels are 0 or 1";
  if (facts.labels != objective::categorical) return {};
  const bool is_class = label >= 0.0F && label < static_cast<float>(facts.classes) && label == std::floor(label);
  return is_class ? std::string() : "and there are classes 0 to " + std::to_string(facts.classes) + " - 1";
}

std::string number_of(float value) {
  auto text = std::to_string(value);
  if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

/// Why the columns of a table do not fit each other.
std::string fault_of_columns(const models::examples_view& data) {
  const auto n = data.size();
  const auto counts = [&](const char* column, std::size_t count) {
    return "has " + std::to_string(count) + " " + column + " for " + std::to_string(n) + " examples";
  };
  if (!data.owners.empty() && data.owners.size() != n) return counts("owners", data.owners.size());
  if (!data.values.empty() && data.values.size() != data.features.size())
    return "has " + std::to_string(data.values.size()) + " values for " + std::to_string(data.features.size()) +
           " features";
  if (data.offsets.empty()) return data.features.size() == n ? std::string() : counts("features", data.features.size());
  if (data.offsets.size() != n + 1) return counts("offsets", data.offsets.size()) + ", not one more";
  for (std::size_t i = 0; i < n; ++i)
    if (data.offsets[i] > data.offsets[i + 1]) return "has offsets that decrease, at example " + std::to_string(i);
  if (data.offsets.back() > data.features.size())
    return "has an offset of " + std::to_string(data.offsets.back()) + ", and " + std::to_string(data.features.size()) +
           " features";
  return {};
}

std::string fault_of_examples(const models::examples_view& data, const models::data_facts& facts) {
  if (auto fault = fault_of_columns(data); !fault.empty()) return fault;
  const auto in_example = [](std::size_t example) { return " in example " + std::to_string(example); };
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::size_t begin = data.offsets.empty() ? i : data.offsets[i];
    const std::size_t end = data.offsets.empty() ? i + 1 : data.offsets[i + 1];
    for (auto f = begin; f < end; ++f) {
      if (data.features[f] >= facts.features)
        return "has feature " + std::to_string(data.features[f]) + in_example(i) + ", and there are " +
               std::to_string(facts.features);
      if (!data.values.empty() && !std::isfinite(data.values[f]))
        return "has a value" + in_example(i) + " that is not finite";
    }
    if (!data.owners.empty() && data.owners[i] >= facts.clients)
      return "has an owner" + in_example(i) + " that is no client";
    if (auto fault = fault_of_label(data.labels[i], facts); !fault.empty())
      return "has the label " + number_of(data.labels[i]) + in_example(i) + ", " + fault;
  }
  return {};
}

std::string word_of_part(part which) {
  return which == part::train ? "train" : which == part::validation ? "validation" : "test";
}

/// Why the lists of clients do not fit each other.
std::string fault_of_clients(const federated::population& clients) {
  const auto known = clients.facts().clients;
  std::vector<bool> seen;
  for (const auto& [list, title] : {std::pair(clients.training(), "training()"),
                                    {clients.unseen_validation(), "unseen_validation()"},
                                    {clients.unseen_test(), "unseen_test()"}}) {
    const std::string name = title;
    if (std::ranges::adjacent_find(list, std::greater_equal<>()) != list.end())
      return "lists clients in " + name + " that are not ascending, or are there twice";
    if (!list.empty() && list.back() >= known)
      return "lists client " + std::to_string(list.back()) + " in " + name + ", and facts() has " +
             std::to_string(known) + " clients";
    if (!list.empty() && seen.size() <= list.back()) seen.resize(std::size_t{list.back()} + 1);
    for (const auto client : list) {
      if (seen[client]) return "lists client " + std::to_string(client) + " in " + name + " and in another list";
      seen[client] = true;
    }
  }
  return {};
}

std::string fault_of_facts(const dataset& made) {
  const auto facts = made.clients->facts();
  if (facts.labels == objective::categorical && facts.classes < 2)
    return "has labels that are classes, and facts() has " + std::to_string(facts.classes) + " of them";
  if (facts.words > facts.features)
    return "has " + std::to_string(facts.words) + " words, and " + std::to_string(facts.features) + " features";
  if (!made.item_ids.empty() && made.item_ids.size() != facts.features)
    return "has " + std::to_string(made.item_ids.size()) + " item_ids for " + std::to_string(facts.features) +
           " features";
  if (!made.classes.empty() && made.classes.size() != std::max(facts.classes, 2U))
    return "has " + std::to_string(made.classes.size()) + " names of " + std::to_string(facts.classes) + " classes";
  if (!(made.label_low <= made.label_high)) return "has a label_low above its label_high";
  return made.model == nullptr ? std::string() : models::fault_of(*made.model, facts);
}

tl::unexpected<error> broken_dataset(const std::string& kind, const std::string& fault) {
  return fail(error::kind::data, "data.source", "\"" + kind + "\"" + fault, "correct the dataset");
}

/// What a builder of another library made, once it is checked.
/// @param labels that the entry's facts promise
result<dataset> checked_build(const std::string& kind, objective labels,
                              const std::function<result<dataset>()>& build) try {
  auto made = build();
  if (!made) return made;
  if (auto sound = check_dataset(*made, kind); !sound) return tl::unexpected(sound.error());
  if (made->clients->facts().labels == labels) return made;
  return broken_dataset(kind, " has labels of another meaning than its entry's facts say");
} catch (const models::model_failure&) {
  throw;  // of a Python class, which says more
} catch (const std::exception& thrown) {
  return broken_dataset(kind, std::string(" failed: ") + thrown.what());
}

}  // namespace

result<void> check_outline(const dataset& made, const std::string& kind) {
  if (made.clients == nullptr) return broken_dataset(kind, " is built without clients");
  if (auto fault = fault_of_facts(made); !fault.empty()) return broken_dataset(kind, " " + fault);
  if (auto fault = fault_of_clients(*made.clients); !fault.empty()) return broken_dataset(kind, " " + fault);
  return {};
}

result<void> check_dataset(const dataset& made, const std::string& kind) {
  if (auto sound = check_outline(made, kind); !sound) return sound;
  const auto wrong = [&](const std::string& subject, const std::string& fault) {
    return broken_dataset(kind, subject + " " + fault);
  };
  const auto& clients = *made.clients;
  const auto facts = clients.facts();
  models::examples scratch;
  for (const auto list : {clients.training(), clients.unseen_validation(), clients.unseen_test()})
    for (const auto client : list)
      for (const auto which : {part::train, part::validation, part::test}) {
        const auto subject = ", client " + std::to_string(client) + ", " + word_of_part(which) + ",";
        scratch.clear();
        const auto data = clients.load(client, which, scratch);
        if (auto fault = fault_of_examples(data, facts); !fault.empty()) return wrong(subject, fault);
        if (const auto count = clients.count(client, which); count != data.size())
          return wrong(subject, "has a count() of " + std::to_string(count) + ", and load() gives " +
                                    std::to_string(data.size()) + " examples");
      }
  return {};
}

dataset_entry checked(dataset_entry entry) {
  if (!entry.build) throw std::invalid_argument("dataset \"" + entry.kind + "\" cannot be built");
  if (entry.table != "data" && entry.table != entry.kind)
    throw std::invalid_argument("dataset \"" + entry.kind + "\" has its options in [" + entry.table +
                                "]: its table must be \"data\", or named as its kind");
  constexpr std::array<std::string_view, 1> taken = {"source"};
  check_options(entry.options, entry.table,
                entry.table == "data" ? std::span<const std::string_view>(taken) : std::span<const std::string_view>());
  const auto promised = [facts = entry.facts](const option_values& options) {
    return facts ? facts(options).labels : objective::squared_error;
  };
  entry.build = [kind = entry.kind, promised, build = std::move(entry.build)](const option_values& options,
                                                                              const std::filesystem::path& root) {
    return checked_build(kind, promised(options), [&] { return build(options, root); });
  };
  if (entry.build_part)
    entry.build_part = [kind = entry.kind, promised, build = std::move(entry.build_part)](
                           const option_values& options, const std::filesystem::path& folder, std::uint32_t first,
                           std::uint32_t last) {
      return checked_build(kind, promised(options), [&] { return build(options, folder, first, last); });
    };
  return entry;
}

}  // namespace furlong::scenarios
