#include "scenarios/data/text_split.hpp"

#include <algorithm>
#include <numeric>

namespace furlong::scenarios {

namespace {

/// Text indices, client after client, and the first of each client.
struct owned_texts {
  std::vector<std::uint32_t> texts;
  std::vector<std::size_t> begins;
};

/// A counting sort: stable, so that each client's texts keep the order of the source.
owned_texts group_by_client(const text_table& table) {
  owned_texts owned;
  owned.begins.assign(std::size_t{table.clients.size()} + 1, 0);
  for (const auto owner : table.owners)
    if (owner != nobody) ++owned.begins[owner + 1];
  std::partial_sum(owned.begins.begin(), owned.begins.end(), owned.begins.begin());
  auto next = owned.begins;
  owned.texts.resize(owned.begins.back());
  for (std::uint32_t text = 0; text < table.texts(); ++text)
    if (table.owners[text] != nobody) owned.texts[next[table.owners[text]]++] = text;
  return owned;
}

/// Applies the groups of the settings to clients for any use; other clients are in the group of their use.
user_groups group_clients(const text_table& table, const split_settings& settings) {
  const auto clients = table.clients.size();
  if (table.uses.empty()) return divide_users(clients, settings);
  std::vector<std::uint32_t> free;
  user_groups groups;
  groups.held_out.resize(clients);
  for (std::uint32_t client = 0; client < clients; ++client) {
    if (table.uses[client] == client_use::any)
      free.push_back(client);
    else
      (table.uses[client] == client_use::test ? groups.test : groups.validation).push_back(client);
  }
  const auto drawn = divide_users(static_cast<std::uint32_t>(free.size()), settings);
  const auto add = [&](const std::vector<std::uint32_t>& source, std::vector<std::uint32_t>& target) {
    for (const auto place : source) target.push_back(free[place]);
    std::ranges::sort(target);
  };
  add(drawn.training, groups.training);
  add(drawn.validation, groups.validation);
  add(drawn.test, groups.test);
  for (const auto* group : {&groups.validation, &groups.test})
    for (const auto client : *group) groups.held_out[client] = true;
  return groups;
}

/// Splits the clients one after the other; reuses buffers.
class divider {
 public:
  divider(const text_table& table, const split_settings& settings, text_split& into)
      : table_(table), settings_(settings), into_(into) {}

  void divide(std::uint32_t client, std::span<const std::uint32_t> own) {
    sort_out(own);
    times_.clear();
    if (!table_.times.empty())
      for (const auto text : free_) times_.push_back(table_.times[text]);
    auto settings = settings_;
    if (!table_.uses.empty() && table_.uses[client] != client_use::any) settings.max_examples = 0;
    divide_examples(client, static_cast<std::uint32_t>(free_.size()), times_, settings, into_.groups.role_of(client),
                    divided_);
    const auto begin = into_.texts.size();
    for (const auto pick : divided_.picks) into_.texts.push_back(free_[pick]);
    into_.texts.insert(into_.texts.end(), tested_.begin(), tested_.end());
    into_.begins.insert(into_.begins.end(), {begin + divided_.bounds.train_end, begin + divided_.bounds.validation_end,
                                             into_.texts.size()});
  }

 private:
  /// A held-out client has no test part: all its texts are in the first one.
  void sort_out(std::span<const std::uint32_t> own) {
    free_.clear();
    tested_.clear();
    for (const auto text : own) {
      const bool tested = !table_.tested.empty() && table_.tested[text];
      const bool apart = tested && !into_.groups.holds_out(table_.owners[text]);
      (apart ? tested_ : free_).push_back(text);
    }
  }

  const text_table& table_;
  const split_settings& settings_;
  text_split& into_;
  division divided_;
  std::vector<std::uint32_t> free_;    // texts that the settings split
  std::vector<std::uint32_t> tested_;  // texts that the source provides for the test
  std::vector<std::uint32_t> times_;   // of free_
};

}  // namespace

text_split divide_texts(const text_table& table, const split_settings& settings) {
  const auto owned = group_by_client(table);
  text_split split;
  split.groups = group_clients(table, settings);
  split.texts.reserve(table.texts());
  split.begins.assign(1, 0);
  divider divide(table, settings, split);
  for (std::uint32_t client = 0; client < table.clients.size(); ++client) {
    const auto begin = owned.begins[client];
    divide.divide(client, std::span(owned.texts).subspan(begin, owned.begins[client + 1] - begin));
  }
  return split;
}

std::vector<std::uint32_t> count_words(const text_table& table, const text_split& split) {
  std::vector<std::uint32_t> counts(table.words.size());
  for (const auto client : split.groups.training)
    for (auto position = split.begins[3 * std::size_t{client}]; position < split.begins[3 * std::size_t{client} + 1];
         ++position)
      for (auto token = table.offsets[split.texts[position]]; token < table.offsets[split.texts[position] + 1]; ++token)
        ++counts[table.tokens[token]];
  return counts;
}

}  // namespace furlong::scenarios
