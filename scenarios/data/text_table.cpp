#include "scenarios/data/text_table.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace furlong::scenarios {

namespace {

bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n'; }

/// Consumes the first word of a text; empty if there is none.
std::string_view next_word(std::string_view& rest) {
  std::size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) ++begin;
  auto end = begin;
  while (end < rest.size() && !is_blank(rest[end])) ++end;
  const auto word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

}  // namespace

void text_table::end_text(std::uint32_t owner) {
  offsets.push_back(tokens.size());
  owners.push_back(owner);
}

void choose_clients(text_table& table, std::uint32_t least, std::uint32_t most) {
  std::vector<std::uint32_t> counts(table.clients.size());
  for (const auto owner : table.owners)
    if (owner != nobody) ++counts[owner];
  word_list names;
  std::vector<client_use> uses;
  std::vector<std::uint32_t> number(table.clients.size(), nobody);
  std::uint32_t chosen = 0;
  for (std::uint32_t client = 0; client < table.clients.size(); ++client) {
    const bool limited = table.uses.empty() || table.uses[client] == client_use::any;
    if (counts[client] < least || (limited && most != 0 && chosen == most)) continue;
    if (limited) ++chosen;
    number[client] = names.add(table.clients[client]);
    if (!table.uses.empty()) uses.push_back(table.uses[client]);
  }
  for (auto& owner : table.owners)
    if (owner != nobody) owner = number[owner];
  table.clients = std::move(names);
  table.uses = std::move(uses);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::size_t> tokenizer::append(std::string_view text, text_table& table) {
  if (!is_utf8(text)) return std::nullopt;
  if (settings_.lower_case) {
    lowered_.resize(text.size());
    std::ranges::transform(text, lowered_.begin(), lower);
    text = lowered_;
  }
  const auto begin = table.tokens.size();
  const auto most = settings_.most == 0 ? text.size() : settings_.most;
  while (table.tokens.size() - begin < most && !text.empty()) {
    const auto token = settings_.kind == token_kind::words ? next_word(text) : next_character(text);
    if (!token.empty()) table.tokens.push_back(table.words.add(token));
  }
  return table.tokens.size() - begin;
}

}  // namespace furlong::scenarios
