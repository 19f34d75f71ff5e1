// The pictures of user embeddings.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "tools/report/detail/figures.hpp"
#include "tools/report/detail/tsne.hpp"

namespace furlong::tools {

namespace {

constexpr std::size_t neighbours = 10;
constexpr std::size_t most_groups = 8;  // a colour each

vectors vectors_of(const embedding_figures& of) { return {of.values, of.width}; }

std::string class_name(const embedding_figures& of, float label) {
  const auto number = static_cast<std::size_t>(label);
  const auto name = number < of.class_names.size() ? of.class_names[number] : std::to_string(number);
  const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "class " + name : name;
}

/// Clients by what they have in common, each with its name.
using client_groups = std::vector<std::pair<std::string, std::vector<std::size_t>>>;

/// The commonest classes have a group each, the others share the last.
client_groups by_class(const embedding_figures& of) {
  std::map<float, std::vector<std::size_t>> found;
  for (std::size_t i = 0; i < of.labels.size(); ++i) found[of.labels[i]].push_back(i);
  client_groups groups;
  for (auto& [label, clients] : found) groups.emplace_back(class_name(of, label), std::move(clients));
  std::ranges::stable_sort(groups, std::greater{}, [](const auto& one) { return one.second.size(); });
  if (groups.size() <= most_groups) return groups;
  auto& rest = groups[most_groups - 1];
  rest.first = grouped(groups.size() - most_groups + 1) + " other classes";
  for (std::size_t i = most_groups; i < groups.size(); ++i)
    rest.second.insert(rest.second.end(), groups[i].second.begin(), groups[i].second.end());
  groups.resize(most_groups);
  return groups;
}

/// Five groups of about equal size, from the lowest mean label to the highest; equal labels stay together.
client_groups by_mean(const std::vector<float>& labels) {
  constexpr std::size_t parts = 5;
  std::vector<float> ascending = labels;
  std::ranges::sort(ascending);
  client_groups groups(parts);
  std::vector<std::pair<float, float>> spans(parts, {INFINITY, -INFINITY});
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto rank = static_cast<std::size_t>(std::ranges::lower_bound(ascending, labels[i]) - ascending.begin());
    const auto part = rank * parts / labels.size();
    groups[part].second.push_back(i);
    spans[part] = {std::min(spans[part].first, labels[i]), std::max(spans[part].second, labels[i])};
  }
  for (std::size_t i = 0; i < parts; ++i)
    groups[i].first = "mean label " + fixed(static_cast<double>(spans[i].first), 2) + " to " +
                      fixed(static_cast<double>(spans[i].second), 2);
  std::erase_if(groups, [](const auto& one) { return one.second.empty(); });
  return groups;
}

client_groups groups_of(const embedding_figures& of) {
  if (!of.labels.empty()) return of.classes ? by_class(of) : by_mean(of.labels);
  std::vector<std::size_t> all(of.clients.size());
  std::iota(all.begin(), all.end(), 0U);
  return {{"clients", std::move(all)}};
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

page_json embedding_picture(const run_record& run, const std::string& label) {
  if (!run.embeddings || run.embeddings->clients.empty()) return nullptr;
  const auto& of = *run.embeddings;
  const auto places = tsne(vectors_of(of));
  page_json made{{"kind", "points"},
                 {"title", "User embeddings" + (label.empty() ? "" : ", " + label)},
                 {"note", "t-SNE of " + of.what + " of " + counted(of.clients.size(), "client")},
                 {"series", page_json::array()},
                 {"points", page_json::array()}};
  for (const auto& [name, clients] : groups_of(of)) {
    made["series"].push_back({{"name", name}, {"colour", made["series"].size()}, {"value", grouped(clients.size())}});
    for (const auto i : clients) {
      auto text = "client " + std::to_string(of.clients[i]);
      if (!of.labels.empty())
        text += of.classes ? ", " + class_name(of, of.labels[i])
                           : ", mean label " + fixed(static_cast<double>(of.labels[i]), 2);
      made["points"].push_back({made["series"].size() - 1, brief(places[i].x), brief(places[i].y), text});
    }
  }
  if (!of.labels.empty())
    made["note"].get_ref<std::string&>() += std::string(", coloured by ") +
                                            (of.classes ? "the commonest label" : "the mean label") +
                                            " of their training examples";
  made["note"].get_ref<std::string&>() += ".";
  return made;
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
  std::vector<std::string> out;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (!runs[0].embeddings || !runs[i].embeddings) continue;
    if (const auto key = data_difference(runs[0].embeddings->data, runs[i].embeddings->data); !key.empty()) {
      out.push_back(labels[0] + " and " + labels[i] + " are not compared: their [data] differ in " + key +
                    ", so that a client's number may stand for somebody else in each.");
      continue;
    }
    const auto both = match(*runs[0].embeddings, *runs[i].embeddings);
    if (both.count <= neighbours) continue;
    const double share =
        neighbourhood_overlap({both.a, runs[0].embeddings->width}, {both.b, runs[i].embeddings->width}, neighbours);
    const double chance = static_cast<double>(neighbours) / static_cast<double>(both.count - 1);
    out.push_back("Of the " + std::to_string(neighbours) + " nearest neighbours of a client, " + labels[0] + " and " +
                  labels[i] + " have " + written(share, number_style::percent) + " in common (" +
                  counted(both.count, "client") + "; by chance " + written(chance, number_style::percent) + ").");
  }
  return joined(out);
}

}  // namespace furlong::tools
