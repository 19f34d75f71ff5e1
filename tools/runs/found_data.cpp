#include "tools/runs/found_data.hpp"

#include <algorithm>
#include <map>

#include "scenarios/data/text_files.hpp"

namespace furlong::tools {

namespace {

using federated::part;

/// Share of the tokens outside the vocabulary, of all clients; start and end tokens are not counted.
double unknown_share(const federated::population& clients, std::uint32_t words) {
  std::uint64_t tokens = 0;
  std::uint64_t unknown = 0;
  models::examples scratch;
  for (const auto& group : {clients.training(), clients.unseen_validation(), clients.unseen_test()})
    for (const auto client : group)
      for (const auto which : {part::train, part::validation, part::test}) {
        scratch.clear();
        for (const auto token : clients.load(client, which, scratch).features) {
          if (token == models::start_token || token == models::end_token) continue;
          ++tokens;
          if (token == models::unknown_token || token >= words) ++unknown;
        }
      }
  return tokens > 0 ? static_cast<double>(unknown) / static_cast<double>(tokens) : 0.0;
}

}  // namespace

json found_data(const scenarios::dataset& data, std::size_t most_counted) {
  const auto& clients = *data.clients;
  const auto facts = clients.facts();
  json out = {{"clients", facts.clients},
              {"training", clients.training().size()},
              {"unseen_validation", clients.unseen_validation().size()},
              {"unseen_test", clients.unseen_test().size()}};
  if (data.problem == nullptr)  // whose features are numbers of examples
    out[facts.words > 0 ? "words" : "items"] = facts.words > 0 ? facts.words : facts.features;
  if (facts.classes > 0) out["classes"] = facts.classes;
  if (!data.whole || facts.clients > most_counted) return out;
  if (facts.words > 0) out["unknown_share"] = unknown_share(clients, facts.words);
  std::map<std::string, std::uint64_t> examples;
  for (const auto client : clients.training()) {
    examples["train"] += clients.count(client, part::train);
    examples["validation"] += clients.count(client, part::validation);
    examples["test"] += clients.count(client, part::test);
  }
  for (const auto& held_out : {clients.unseen_validation(), clients.unseen_test()})
    for (const auto client : held_out)
      for (const auto which : {part::train, part::validation, part::test})
        examples["unseen"] += clients.count(client, which);
  out["examples"] = examples;
  return out;
}

std::string found_text(const json& found, const scenarios::dataset& data) {
  const bool characters = data.texts != nullptr && data.texts->separator().empty();
  auto text = fmt::format("data: {} clients ({} to train; unseen: {} for validation, {} for the test)",
                          found["clients"].get<std::uint64_t>(), found["training"].get<std::uint64_t>(),
                          found["unseen_validation"].get<std::uint64_t>(), found["unseen_test"].get<std::uint64_t>());
  for (const char* things : {"words", "items"})
    if (found.contains(things))
      text += fmt::format(", {} {}", found[things].get<std::uint64_t>(), characters ? "characters" : things);
  if (found.contains("unknown_share"))
    text += fmt::format(" ({:.1f} % of the tokens unknown)", 100.0 * found["unknown_share"].get<double>());
  if (found.contains("classes")) text += fmt::format(", {} classes", found["classes"].get<std::uint64_t>());
  if (!found.contains("examples")) return text;
  std::uint64_t total = 0;
  std::string parts;
  for (const char* part : {"train", "validation", "test", "unseen"}) {
    const auto count = found["examples"].value(part, std::uint64_t{0});
    total += count;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", count, part);
  }
  return text + fmt::format(", {} examples ({})", total, parts);
}

}  // namespace furlong::tools
