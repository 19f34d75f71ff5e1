// The pictures of user embeddings.
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>

#include "tools/compare/run_figures.hpp"
#include "tools/report/detail/figures.hpp"
#include "tools/report/detail/tsne.hpp"

namespace furlong::tools {

namespace {

constexpr std::size_t neighbours = 10;
constexpr std::size_t most_groups = 8;  // a colour each

vectors vectors_of(const embedding_figures& embeddings) { return {embeddings.values, embeddings.width}; }

std::string class_name(const embedding_figures& embeddings, float label) {
  const auto number = static_cast<std::size_t>(label);
  const auto name = number < embeddings.class_names.size() ? embeddings.class_names[number] : std::to_string(number);
  const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "class " + name : name;
}

/// Clients by what they have in common, each with its name.
using named_groups = std::vector<std::pair<std::string, std::vector<std::size_t>>>;

/// The commonest classes have a group each, the others share the last.
named_groups by_class(const embedding_figures& embeddings) {
  std::map<float, std::vector<std::size_t>> found;
  for (std::size_t i = 0; i < embeddings.labels.size(); ++i) found[embeddings.labels[i]].push_back(i);
  named_groups groups;
  for (auto& [label, clients] : found) groups.emplace_back(class_name(embeddings, label), std::move(clients));
  std::ranges::stable_sort(groups, std::greater{}, [](const auto& group) { return group.second.size(); });
  if (groups.size() <= most_groups) return groups;
  auto& rest = groups[most_groups - 1];
  rest.first = grouped(groups.size() - most_groups + 1) + " other classes";
  for (std::size_t i = most_groups; i < groups.size(); ++i)
    rest.second.insert(rest.second.end(), groups[i].second.begin(), groups[i].second.end());
  groups.resize(most_groups);
  return groups;
}

/// Five groups of about equal size, from the lowest mean label to the highest; equal labels stay together.
named_groups by_mean(const std::vector<float>& labels) {
  constexpr std::size_t parts = 5;
  std::vector<float> ascending = labels;
  std::ranges::sort(ascending);
  named_groups groups(parts);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto rank = static_cast<std::size_t>(std::ranges::lower_bound(ascending, labels[i]) - ascending.begin());
    groups[rank * parts / labels.size()].second.push_back(i);
  }
  std::erase_if(groups, [](const auto& group) { return group.second.empty(); });
  for (auto& [name, clients] : groups) {
    const auto [lowest, highest] = std::ranges::minmax(clients, {}, [&](auto i) { return labels[i]; });
    name = "mean label " + fixed(labels[lowest], 2) + " to " + fixed(labels[highest], 2);
  }
  return groups;
}

named_groups groups_of(const embedding_figures& embeddings) {
  if (!embeddings.labels.empty()) return embeddings.classes ? by_class(embeddings) : by_mean(embeddings.labels);
  std::vector<std::size_t> members(embeddings.clients.size());
  std::iota(members.begin(), members.end(), 0U);
  return {{"clients", std::move(members)}};
}

/// The vectors of some of its clients, which are ascending as all are.
std::vector<float> values_of(const embedding_figures& embeddings, const std::vector<std::uint32_t>& clients) {
  std::vector<float> values;
  for (const auto client : clients) {
    const auto i = std::ranges::lower_bound(embeddings.clients, client) - embeddings.clients.begin();
    std::ranges::copy(vectors_of(embeddings)[static_cast<std::size_t>(i)], std::back_inserter(values));
  }
  return values;
}

}  // namespace

page_json embedding_picture(const run_record& run, const std::string& label) {
  if (!run.embeddings || run.embeddings->clients.empty()) return nullptr;
  const auto& embeddings = *run.embeddings;
  const auto places = tsne(vectors_of(embeddings));
  auto note = "t-SNE of " + embeddings.tensors + " of " + counted(embeddings.clients.size(), "client");
  if (!embeddings.labels.empty())
    note.append(", coloured by the ")
        .append(embeddings.classes ? "commonest" : "mean")
        .append(" label of their training examples");
  auto made = new_chart("points", "User embeddings" + (label.empty() ? "" : ", " + label));
  made.update({{"note", note + "."}, {"points", page_json::array()}});
  for (const auto& [name, clients] : groups_of(embeddings)) {
    const auto number = made["series"].size();
    add_series(made, name, number, grouped(clients.size()));
    for (const auto i : clients) {
      auto text = "client " + std::to_string(embeddings.clients[i]);
      if (!embeddings.labels.empty())
        text += embeddings.classes ? ", " + class_name(embeddings, embeddings.labels[i])
                                   : ", mean label " + fixed(embeddings.labels[i], 2);
      made["points"].push_back({number, brief(places[i].x), brief(places[i].y), text});
    }
  }
  return made;
}

std::string embedding_likeness(std::span<const run_record> runs, const std::vector<std::string>& labels) {
  std::vector<std::string> out;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const auto& a = runs[0].embeddings;
    const auto& b = runs[i].embeddings;
    if (!a || !b) continue;
    if (const auto key = data_difference(a->data, b->data); !key.empty()) {
      out.push_back(labels[0] + " and " + labels[i] + " are not compared: their [data] differ in " + key +
                    ", so that a client's number may stand for somebody else in each.");
      continue;
    }
    std::vector<std::uint32_t> both;
    std::ranges::set_intersection(a->clients, b->clients, std::back_inserter(both));
    if (both.size() <= neighbours) continue;
    const auto of_a = values_of(*a, both);
    const auto of_b = values_of(*b, both);
    const double share = neighbourhood_overlap({of_a, a->width}, {of_b, b->width}, neighbours);
    const double chance = static_cast<double>(neighbours) / static_cast<double>(both.size() - 1);
    out.push_back("Of the " + std::to_string(neighbours) + " nearest neighbours of a client, " + labels[0] + " and " +
                  labels[i] + " have " + written(share, number_style::percent) + " in common (" +
                  counted(both.size(), "client") + "; by chance " + written(chance, number_style::percent) + ").");
  }
  return joined(out);
}

}  // namespace furlong::tools
