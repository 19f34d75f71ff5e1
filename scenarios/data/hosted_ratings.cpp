// Ratings at the clients: every node has those of its own clients; no process has all.
//
// The scenario states what a server must know: the numbers of users and items and the range of ratings. The split of a
// user's ratings is a function of split_seed, the user's number and its own ratings, so that nodes split alike without
// communication, and a run over all files in one place produces the same model.
#include <algorithm>

#include "scenarios/data/entries.hpp"
#include "scenarios/data/hosted_file.hpp"
#include "scenarios/data/rating_split.hpp"

namespace furlong::scenarios {

namespace {

hosted_bounds read_bounds(const option_values& options) {
  hosted_bounds bounds;
  bounds.users = static_cast<std::uint32_t>(options.integer("users"));
  bounds.items = static_cast<std::uint32_t>(options.integer("items"));
  bounds.low = static_cast<float>(options.number("rating_low"));
  bounds.high = static_cast<float>(options.number("rating_high"));
  bounds.last = bounds.users - 1;
  return bounds;
}

/// "3 of the clients 0 to 49 have no ratings: 7, 12, 40"; empty if all have some.
std::string note_empty(const rating_table& table, const hosted_bounds& bounds) {
  constexpr std::size_t named = 10;
  std::size_t count = 0;
  std::string list;
  for (auto user = bounds.first; user <= bounds.last; ++user) {
    if (table.offsets[user] != table.offsets[user + 1]) continue;
    if (count++ < named) list += (list.empty() ? "" : ", ") + std::to_string(user);
  }
  if (count == 0) return {};
  return std::to_string(count) + " of the clients " + std::to_string(bounds.first) + " to " +
         std::to_string(bounds.last) + " have no ratings: " + list + (count > named ? ", ..." : "");
}

dataset make(rating_table table, const option_values& options, const hosted_bounds& bounds) {
  const auto settings = read_rating_settings(options);
  dataset data;
  data.clients = split_ratings(table, settings);
  data.label_low = bounds.low;
  data.label_high = bounds.high;
  data.binarize = settings.binarize;
  data.item_ids = std::move(table.item_ids);
  return data;
}

result<dataset> build(const option_values& options, const std::filesystem::path& root) {
  if (!options.has("path"))
    return fail(error::kind::usage, "data.path", "is missing: this process has no ratings",
                "name the folder with the ratings of all clients, or let nodes host them (furlong serve)");
  const auto bounds = read_bounds(options);
  auto table = read_hosted_folder(root / options.text("path"), bounds);
  if (!table) return tl::unexpected(table.error());
  if (table->features.empty())
    return fail(error::kind::data, (root / options.text("path")).string(), "has no ratings at all",
                "expected one rating a line");
  auto note = note_empty(*table, bounds);
  auto data = make(std::move(*table), options, bounds);
  if (!note.empty()) data.notes.push_back(std::move(note));
  data.files = hosted_files(root / options.text("path"));
  return data;
}

dataset outline(const option_values& options) {
  const auto bounds = read_bounds(options);
  auto table = empty_hosted_table(bounds);
  table.tastes.resize(bounds.users);  // unknown for all clients
  auto data = make(std::move(table), options, bounds);
  data.whole = false;
  return data;
}

result<dataset> build_part(const option_values& options, const std::filesystem::path& folder, std::uint32_t first,
                           std::uint32_t last) {
  auto bounds = read_bounds(options);
  if (last >= bounds.users)
    return fail(error::kind::usage, "--clients",
                "names client " + std::to_string(last) + ", and there are " + std::to_string(bounds.users),
                "they are numbered from 0 to " + std::to_string(bounds.users - 1));
  bounds.first = first;
  bounds.last = last;
  auto table = read_hosted_folder(folder, bounds);
  if (!table) return tl::unexpected(table.error());
  table->tastes.resize(bounds.users);  // a standard score needs all clients
  auto note = note_empty(*table, bounds);
  auto data = make(std::move(*table), options, bounds);
  data.whole = false;
  data.files = hosted_files(folder);
  if (!note.empty()) data.notes.push_back(std::move(note));
  return data;
}

std::vector<option_problem> check(const option_values& options) {
  auto problems = check_split(options);
  if (options.has("rating_low") && options.has("rating_high") &&
      options.number("rating_low") >= options.number("rating_high"))
    problems.push_back(
        {"rating_high", "is not above rating_low", "give the lowest and the highest rating there can be"});
  return problems;
}

/// Memory of one client in the lists of a population, and of one item in the list of names.
double memory(const option_values& options) {
  return 80.0 * static_cast<double>(options.integer("users")) + 16.0 * static_cast<double>(options.integer("items"));
}

}  // namespace

dataset_entry hosted_ratings_entry() {
  dataset_entry entry;
  entry.kind = "hosted-ratings";
  entry.doc =
      "Ratings at the clients: each node reads those of its own clients from its `--data` folder, and the server has "
      "none. A file is called `ratings.csv`, begins with the header `user,item,rating` or `user,item,rating,timestamp` "
      "and has one rating a line; users are the numbers of the clients, items are numbered from 0, timestamps are "
      "whole numbers. Without timestamps a user's ratings are in the order of the file. `furlong run` reads all "
      "clients from `path`: `ratings.csv` of that folder, or else every `ratings*.csv` in it and `ratings.csv` of the "
      "folders in it. Clients may have no ratings.";
  entry.options = {
      required(integer_option("users", std::nullopt, "Number of users, which are the clients.", {1, largest_id})),
      required(integer_option("items", std::nullopt, "Number of items.", {1, largest_id})),
      number_option("rating_low", 1.0, "Lowest possible rating; a lower one in a file is an error.", {-1e6, 1e6}),
      number_option("rating_high", 5.0, "Highest possible rating; a higher one in a file is an error.", {-1e6, 1e6}),
      text_option(
          "path", std::nullopt,
          "For `furlong run`: folder with the ratings of all clients, under the data root. A server neither uses "
          "it nor sends it to nodes."),
  };
  add_options(entry.options, rating_options());
  entry.check = check;
  entry.facts = rating_facts;
  entry.build = build;
  entry.outline = outline;
  entry.build_part = build_part;
  entry.memory = memory;
  return entry;
}

}  // namespace furlong::scenarios
