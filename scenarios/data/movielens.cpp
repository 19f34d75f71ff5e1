// MovieLens (Harper, Konstan: "The MovieLens datasets: history and context", ACM TiiS 2015): one client per user.
// Client ids number the users by ascending id, feature ids the rated films by ascending id.
#include <array>

#include "scenarios/data/entries.hpp"
#include "scenarios/data/interaction_table.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/movielens_titles.hpp"
#include "scenarios/data/rating_split.hpp"
#include "scenarios/data/rating_table.hpp"
#include "scenarios/data/ratings_file.hpp"

namespace furlong::scenarios {

namespace {

constexpr const char* official = "https://grouplens.org/datasets/movielens/";
constexpr std::array ratings_names = {"ratings.dat", "u.data", "ratings.csv"};

const char* titles_name(rating_format format) {
  switch (format) {
    case rating_format::colons: return "movies.dat";
    case rating_format::tabs: return "u.item";
    default: return "movies.csv";
  }
}

/// Locates the ratings file; the error explains a missing folder.
result<std::filesystem::path> find_ratings(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const char* name : ratings_names)
    if (std::filesystem::exists(folder / name, ignored)) return folder / name;
  const bool exists = std::filesystem::is_directory(folder, ignored);
  return fail(error::kind::data, folder.string(),
              exists ? "has none of ratings.dat (ml-1m), u.data (ml-100k) and ratings.csv (ml-25m)"
                     : "the folder does not exist",
              std::string("get a MovieLens archive from ") + official +
                  " and unpack it so that its files are in this folder (FURLONG_DATA names the folder above, default "
                  "data/ in the working directory)");
}

result<dataset> build(const option_values& options, const std::filesystem::path& root) {
  const auto folder = root / options.text("path");
  const auto path = find_ratings(folder);
  if (!path) return tl::unexpected(path.error());
  auto records = read_ratings(*path);
  if (!records) return tl::unexpected(records.error());
  const auto format = records->format;
  auto table = group_by_user(std::move(*records), path->string());
  if (!table) return tl::unexpected(table.error());

  const auto titles_path = folder / titles_name(format);
  std::error_code ignored;
  if (std::filesystem::exists(titles_path, ignored)) {  // without this file, films are named by number
    const auto file = mapped_file::open(titles_path);
    if (!file) return tl::unexpected(file.error());
    auto titles = read_titles(file->bytes(), titles_path.string(), format, table->item_ids);
    if (!titles) return tl::unexpected(titles.error());
    table->titles = std::move(*titles);
  }

  const auto settings = read_rating_settings(options);
  dataset data;
  if (settings.interactions)
    if (auto kept = keep_interactions(*table, read_feedback(options), path->string(), data.notes); !kept)
      return tl::unexpected(kept.error());
  data.clients = split_ratings(*table, settings);
  data.label_low = format == rating_format::csv ? 0.5F : 1.0F;
  data.label_high = 5.0F;
  data.binarize = settings.binarize;
  data.item_ids = std::move(table->item_ids);
  data.files = {*path};  // titles do not affect results
  return data;
}

}  // namespace

dataset_entry movielens_entry() {
  dataset_entry entry;
  entry.kind = "movielens";
  entry.doc =
      "Ratings of films by MovieLens users, one client a user: ml-1m (ratings.dat), ml-100k (u.data) or ml-25m "
      "(ratings.csv), distinguished by their first line.";
  entry.options = {text_option("path", "ml-1m", "Folder of the unpacked archive, under the data root.")};
  add_options(entry.options, rating_options());
  add_options(entry.options, feedback_options());
  entry.check = [](const option_values& options) {
    auto problems = check_split(options);
    add_feedback_problems(options, problems);
    return problems;
  };
  entry.facts = rating_facts;
  entry.build = build;
  return entry;
}

}  // namespace furlong::scenarios
