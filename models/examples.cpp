#include "models/examples.hpp"

#include <algorithm>

namespace furlong::models {

examples_view examples_view::slice(std::size_t first, std::size_t last) const {
  const std::size_t n = last - first;
  examples_view part;
  part.labels = labels.subspan(first, n);
  if (!owners.empty()) part.owners = owners.subspan(first, n);
  if (offsets.empty()) {
    part.features = features.subspan(first, n);
    if (!values.empty()) part.values = values.subspan(first, n);
  } else {  // offsets stay positions in the whole table
    part.features = features;
    part.values = values;
    part.offsets = offsets.subspan(first, n + 1);
  }
  return part;
}

void examples::clear() {
  features.clear();
  values.clear();
  offsets.clear();
  labels.clear();
  owners.clear();
}

namespace {

void append_one(examples& to, const examples_view& from, std::size_t i) {
  std::size_t begin = i;
  std::size_t end = i + 1;
  if (!from.offsets.empty()) {
    begin = from.offsets[i];
    end = from.offsets[i + 1];
    if (to.offsets.empty()) to.offsets.push_back(0);
    to.offsets.push_back(static_cast<std::uint32_t>(to.features.size() + end - begin));
  }
  for (std::size_t at = begin; at < end; ++at) {
    to.features.push_back(from.features[at]);
    if (!from.values.empty()) to.values.push_back(from.values[at]);
  }
  to.labels.push_back(from.labels[i]);
  if (!from.owners.empty()) to.owners.push_back(from.owners[i]);
}

template <class T>
void append_picks(std::vector<T>& column, std::span<const T> values, std::span<const std::uint32_t> picks) {
  if (values.empty()) return;
  const auto before = column.size();
  column.resize(before + picks.size());
  std::ranges::transform(picks, column.begin() + static_cast<std::ptrdiff_t>(before),
                         [values](std::uint32_t pick) { return values[pick]; });
}

}  // namespace

void examples::append(const examples_view& from, std::span<const std::uint32_t> picks) {
  if (!from.offsets.empty()) {
    for (const auto i : picks) append_one(*this, from, i);
    return;
  }
  append_picks(features, from.features, picks);
  append_picks(values, from.values, picks);
  append_picks(labels, from.labels, picks);
  append_picks(owners, from.owners, picks);
}

void examples::append(const examples_view& from) {
  for (std::size_t i = 0; i < from.size(); ++i) append_one(*this, from, i);
}

}  // namespace furlong::models
