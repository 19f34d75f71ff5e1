#include "scenarios/schema/nearest.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <sstream>

#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

/// Levenshtein distance; a swap of neighbours counts as one edit.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> now(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

bool is_near(std::size_t edits, std::string_view word) { return edits <= std::max<std::size_t>(1, word.size() / 3); }

bool is_beginning(std::string_view word, std::string_view whole) { return word.size() >= 3 && whole.starts_with(word); }

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = SIZE_MAX;
  for (const auto& candidate : candidates) {
    const auto edits = is_beginning(word, candidate) ? 1 : distance(word, candidate);
    if (edits >= least || !is_near(edits, word)) continue;
    least = edits;
    best = candidate;
  }
  return best;
}

std::string nearest_key(std::string_view key, const std::vector<std::string>& candidates) {
  const auto table = table_of(key);
  const auto leaf = leaf_of(key);
  std::string best;
  std::size_t least = SIZE_MAX;
  for (const auto& candidate : candidates) {
    const auto edits = is_beginning(leaf, leaf_of(candidate)) ? 1 : distance(leaf, leaf_of(candidate));
    if (!is_near(edits, leaf)) continue;
    const bool nested =
        table.empty() || table_of(candidate).starts_with(table) || table.starts_with(table_of(candidate));
    const auto apart = table_of(candidate) == table ? 0 : distance(table, table_of(candidate));
    if (edits > 0 && !nested && apart > 3) continue;  // another name in another table is a different key
    const auto cost = 100 * edits + (apart == 0 ? 0 : 10 + apart);
    if (cost >= least) continue;
    least = cost;
    best = candidate;
  }
  return best;
}

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

std::string listed(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " " + std::string(last) + " " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace furlong::scenarios
