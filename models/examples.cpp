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

void append_one(examples& target, const examples_view& source, std::size_t i) {
  std::size_t begin = i;
  std::size_t end = i + 1;
  if (!source.offsets.empty()) {
    begin = source.offsets[i];
    end = source.offsets[i + 1];
    if (target.offsets.empty()) target.offsets.push_back(0);
    target.offsets.push_back(static_cast<std::uint32_t>(target.features.size() + end - begin));
  }
  for (std::size_t entry = begin; entry < end; ++entry) {
    target.features.push_back(source.features[entry]);
    if (!source.values.empty()) target.values.push_back(source.values[entry]);
  }
  target.labels.push_back(source.labels[i]);
  if (!source.owners.empty()) target.owners.push_back(source.owners[i]);
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

void examples::append(const examples_view& source, std::span<const std::uint32_t> picks) {
  if (!source.offsets.empty()) {
    for (const auto i : picks) append_one(*this, source, i);
    return;
  }
  append_picks(features, source.features, picks);
  append_picks(values, source.values, picks);
  append_picks(labels, source.labels, picks);
  append_picks(owners, source.owners, picks);
}

void examples::append(const examples_view& source) {
  for (std::size_t i = 0; i < source.size(); ++i) append_one(*this, source, i);
}

}  // namespace furlong::models
