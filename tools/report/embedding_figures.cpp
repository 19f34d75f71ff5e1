#include "tools/report/detail/embedding_figures.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tools/report/detail/numbers.hpp"
#include "tools/report/detail/svg_frame.hpp"
#include "tools/report/detail/tsne.hpp"

namespace furlong::tools {

namespace {

constexpr std::size_t neighbours = 10;

vectors vectors_of(const embedding_figures& of) { return {of.values, of.width}; }

std::string class_name(const embedding_figures& of, float label) {
  const auto number = static_cast<std::size_t>(label);
  const auto name = number < of.class_names.size() ? of.class_names[number] : std::to_string(number);
  const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "class " + name : name;
}

/// The commonest classes have a colour each, the others share the last.
std::vector<scatter_group> by_class(const embedding_figures& of, const std::vector<point>& places) {
  std::map<float, std::vector<point>> found;
  for (std::size_t i = 0; i < of.labels.size(); ++i) found[of.labels[i]].push_back(places[i]);
  std::vector<scatter_group> groups;
  for (auto& [label, points] : found) groups.push_back({class_name(of, label), 0, std::move(points)});
  std::ranges::stable_sort(groups, std::greater{}, [](const scatter_group& one) { return one.points.size(); });
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].colour = std::min(i, palette - 1);
  if (groups.size() <= palette) return groups;
  auto& rest = groups[palette - 1];
  rest.name = grouped(groups.size() - palette + 1) + " other classes";
  for (std::size_t i = palette; i < groups.size(); ++i)
    rest.points.insert(rest.points.end(), groups[i].points.begin(), groups[i].points.end());
  groups.resize(palette);
  return groups;
}

/// Five groups of about equal size, from the lowest mean label to the highest; equal labels stay together.
std::vector<scatter_group> by_mean(const std::vector<float>& labels, const std::vector<point>& places) {
  constexpr std::size_t parts = 5;
  std::vector<float> ascending = labels;
  std::ranges::sort(ascending);
  std::vector<scatter_group> groups(parts);
  std::vector<std::pair<float, float>> spans(parts, {INFINITY, -INFINITY});
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto rank = static_cast<std::size_t>(std::ranges::lower_bound(ascending, labels[i]) - ascending.begin());
    const auto part = rank * parts / labels.size();
    groups[part].points.push_back(places[i]);
    spans[part] = {std::min(spans[part].first, labels[i]), std::max(spans[part].second, labels[i])};
  }
  for (std::size_t i = 0; i < parts; ++i) {
    groups[i].colour = i;
    groups[i].name = "mean label " + fixed(static_cast<double>(spans[i].first), 2) + " to " +
                     fixed(static_cast<double>(spans[i].second), 2);
  }
  std::erase_if(groups, [](const scatter_group& one) { return one.points.empty(); });
  return groups;
}

/// Both without the clients that the other does not have.
struct matched {
  std::vector<float> a, b;
  std::size_t count = 0;
};
matched match(const embedding_figures& a, const embedding_figures& b) {
  matched both;
  const auto add = [](std::vector<float>& to, const embedding_figures& from, std::size_t i) {
    const auto row = vectors_of(from)[i];
    to.insert(to.end(), row.begin(), row.end());
  };
  std::size_t j = 0;
  for (std::size_t i = 0; i < a.clients.size(); ++i) {
    while (j < b.clients.size() && b.clients[j] < a.clients[i]) ++j;
    if (j == b.clients.size() || b.clients[j] != a.clients[i]) continue;
    add(both.a, a, i);
    add(both.b, b, j);
    ++both.count;
  }
  return both;
}

}  // namespace

std::optional<scatter> embedding_picture(const run_record& run, const std::string& label) {
  if (!run.embeddings || run.embeddings->clients.empty()) return std::nullopt;
  const auto& of = *run.embeddings;
  const auto places = tsne(vectors_of(of));
  scatter plot{"User embeddings" + (label.empty() ? "" : ", " + label), {}, {}};
  plot.note = "t-SNE of " + of.what + " of " + counted(of.clients.size(), "client");
  if (of.labels.empty()) {
    plot.groups = {{"clients", 0, places}};
    plot.note += ".";
    return plot;
  }
  plot.groups = of.classes ? by_class(of, places) : by_mean(of.labels, places);
  plot.note += std::string(", coloured by ") + (of.classes ? "the commonest label" : "the mean label") +
               " of their training examples.";
  return plot;
}

std::string data_difference(const option_values& a, const option_values& b) {
  const auto differs = [&](const std::string& key) {
    return a.has(key) != b.has(key) || (a.has(key) && a.all().at(key) != b.all().at(key));
  };
  std::vector<std::string> keys{"source"};  // another source has other options: that says it all
  for (const auto* one : {&a, &b})
    for (const auto& [key, value] : one->all()) keys.push_back(key);
  const auto first = std::ranges::find_if(keys, differs);
  return first == keys.end() ? "" : *first;
}

std::string embedding_likeness(std::span<const run_record> runs, const std::vector<std::string>& labels) {
  std::string out;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (!runs[0].embeddings || !runs[i].embeddings) continue;
    if (const auto key = data_difference(runs[0].embeddings->data, runs[i].embeddings->data); !key.empty()) {
      out += (out.empty() ? "" : " ") + labels[0] + " and " + labels[i] + " are not compared: their [data] differ in " +
             key + ", so that a client's number may stand for somebody else in each.";
      continue;
    }
    const auto both = match(*runs[0].embeddings, *runs[i].embeddings);
    if (both.count <= neighbours) continue;
    const double share =
        neighbourhood_overlap({both.a, runs[0].embeddings->width}, {both.b, runs[i].embeddings->width}, neighbours);
    const double chance = static_cast<double>(neighbours) / static_cast<double>(both.count - 1);
    out += (out.empty() ? "" : " ") + std::string("Of the ") + std::to_string(neighbours) +
           " nearest neighbours of a client, " + labels[0] + " and " + labels[i] + " have " +
           written(share, number_style::percent) + " in common (" + counted(both.count, "client") + "; by chance " +
           written(chance, number_style::percent) + ").";
  }
  return out;
}

}  // namespace furlong::tools
