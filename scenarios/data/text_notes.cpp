#include "scenarios/data/text_notes.hpp"

#include <algorithm>

namespace furlong::scenarios {

namespace {

/// Which parts a source keeps itself.
struct own_parts {
  bool validation = false;
  bool unseen = false;  ///< clients for the test
  bool seen = false;    ///< test examples of clients that may train
};

own_parts parts_of(const text_table& table) {
  const auto has = [&](client_use use) { return std::ranges::find(table.uses, use) != table.uses.end(); };
  own_parts own{has(client_use::validation), has(client_use::test)};
  for (std::uint32_t text = 0; text < table.tested.size() && !own.seen; ++text)
    own.seen = table.tested[text] && table.owners[text] != nobody &&
               (table.uses.empty() || table.uses[table.owners[text]] == client_use::any);
  return own;
}

}  // namespace

void note_own_parts(const text_table& table, const split_settings& settings, std::vector<std::string>& notes) {
  const auto own = parts_of(table);
  const auto takes = [](const std::string& part) {
    return "data.split takes a " + part + " share of what is trained on";
  };
  if (settings.validation > 0.0 && own.validation)
    notes.push_back(takes("validation") + ", and nothing is scored on it: validation is the data's own part");
  if (settings.test > 0.0 && own.seen)
    notes.push_back(takes("test") + ": the group seen is scored on it together with the data's own test part");
  else if (settings.test > 0.0 && own.unseen)
    notes.push_back(takes("test") + ": the group seen is scored on it, and unseen on the data's own test part");
  const auto note_held_out = [&](const std::string& part) {
    notes.push_back("data.unseen_users." + part +
                    " holds out clients that would train: they are scored together with the data's own " + part +
                    " part");
  };
  if (settings.unseen_validation > 0.0 && own.validation) note_held_out("validation");
  if (settings.unseen_test > 0.0 && own.unseen) note_held_out("test");
}

void note_untrained_labels(const text_table& table, const text_split& split, std::vector<std::string>& notes) {
  if (table.labels.empty()) return;
  std::vector<bool> trained;
  std::vector<bool> trains(split.clients(), false);
  for (const auto client : split.groups.training) {
    trains[client] = true;
    for (auto at = split.begins[3 * std::size_t{client}]; at < split.begins[3 * std::size_t{client} + 1]; ++at) {
      const auto label = static_cast<std::size_t>(table.labels[split.texts[at]]);
      if (label >= trained.size()) trained.resize(label + 1, false);
      trained[label] = true;
    }
  }
  std::size_t scored = 0;
  std::size_t unknown = 0;
  for (std::size_t client = 0; client < split.clients(); ++client) {
    for (auto at = split.begins[3 * client + (trains[client] ? 1 : 0)]; at < split.begins[3 * client + 3]; ++at) {
      const auto label = static_cast<std::size_t>(table.labels[split.texts[at]]);
      ++scored;
      if (label >= trained.size() || !trained[label]) ++unknown;
    }
  }
  if (unknown > 0)
    notes.push_back(std::to_string(unknown) + " of the " + std::to_string(scored) +
                    " examples for validation and test have a label that no training example has");
}

}  // namespace furlong::scenarios
