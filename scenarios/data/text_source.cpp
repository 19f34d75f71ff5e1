// Plain text for language models, one sentence per line.
#include <algorithm>
#include <numeric>

#include "base/random.hpp"
#include "scenarios/data/entries.hpp"
#include "scenarios/data/text_files.hpp"
#include "scenarios/data/text_options.hpp"

namespace furlong::scenarios {

namespace {

constexpr auto next_token = models::objective::next_token;
constexpr std::int64_t some_held_out = 10;

/// Adds clients that own consecutive blocks of the texts from `first` on.
void add_blocks(text_table& table, std::uint32_t first, std::uint32_t clients, client_use use,
                const std::string& name) {
  const std::uint64_t texts = table.texts() - first;
  clients = static_cast<std::uint32_t>(std::min<std::uint64_t>(clients, texts));
  const auto before = table.clients.size();
  for (std::uint32_t c = 0; c < clients; ++c) table.clients.add(name + " " + std::to_string(c));
  table.uses.resize(table.clients.size(), use);
  for (std::uint64_t i = 0; i < texts; ++i)
    table.owners[first + i] = before + static_cast<std::uint32_t>(i * clients / texts);
}

/// Partitions all texts to new clients at random, in equal numbers. The remainder has no owner.
/// @return the size of the remainder
std::uint32_t add_shards(text_table& table, std::uint32_t clients, std::uint64_t seed) {
  std::vector<std::uint32_t> order(table.texts());
  std::iota(order.begin(), order.end(), 0U);
  random_stream stream(seed, purpose::split_users, 0, 0, 1);
  stream.shuffle(std::span(order));
  const auto each = table.texts() / clients;
  for (std::uint32_t c = 0; c < clients; ++c) table.clients.add("shard " + std::to_string(c));
  table.uses.resize(clients, client_use::any);
  for (std::uint32_t i = 0; i < each * clients; ++i) table.owners[order[i]] = i / each;
  return table.texts() - each * clients;
}

/// Reads a part that the dataset provides for validation or test.
result<void> read_held_out(const std::filesystem::path& file, const line_settings& lines, const option_values& options,
                           client_use use, text_table& table) {
  if (file.empty()) return {};
  const auto before = table.texts();
  if (auto read = read_sentences(file, lines, use, table); !read) return read;
  if (!lines.user_column)
    add_blocks(table, before, static_cast<std::uint32_t>(options.integer("held_out_clients")), use,
               use == client_use::test ? "test" : "validation");
  return {};
}

void note_unread(const std::vector<std::filesystem::path>& files, std::vector<std::string>& notes) {
  constexpr std::size_t named = 10;
  if (files.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(files.size(), named); ++i)
    names += (i == 0 ? "" : ", ") + files[i].filename().string();
  notes.push_back("data.path has " + std::to_string(files.size()) +
                  (files.size() == 1 ? " file that is" : " files that are") + " not read: " + names +
                  (files.size() > named ? ", ..." : ""));
}

result<dataset> build(const option_values& options, const std::filesystem::path& root) {
  const auto path = root / options.text("path");
  const auto files = find_text_files(path);
  if (!files) return tl::unexpected(files.error());
  const line_settings lines{read_token_settings(options, read_token_kind(options)), options.flag("skip_headings"),
                            options.flag("user_column"), options.flag("cut_sentences")};
  dataset data;
  data.files = files->train;
  for (const auto& file : {files->validation, files->test})
    if (!file.empty()) data.files.push_back(file);
  note_unread(files->unread, data.notes);
  text_table table;
  for (const auto& file : files->train)
    if (auto read = read_sentences(file, lines, client_use::any, table); !read) return tl::unexpected(read.error());
  if (!lines.user_column) {
    const auto clients = options.integer("clients");
    if (clients > table.texts())
      return fail(error::kind::usage, path.string(),
                  "has " + std::to_string(table.texts()) + " sentences for " + std::to_string(clients) + " clients",
                  "lower data.clients");
    const auto left = add_shards(table, static_cast<std::uint32_t>(clients),
                                 static_cast<std::uint64_t>(options.integer("split_seed")));
    if (left > 0)
      data.notes.push_back(std::to_string(left) + " of the " + std::to_string(table.texts()) +
                           " training sentences are left out, so that all clients have the same number");
  }
  for (const auto& [file, use] :
       {std::pair(&files->validation, client_use::validation), std::pair(&files->test, client_use::test)})
    if (auto read = read_held_out(*file, lines, options, use, table); !read) return tl::unexpected(read.error());
  if (lines.user_column) {
    const auto chosen = choose_users(table, options, path.string());
    if (!chosen) return tl::unexpected(chosen.error());
    data.notes.insert(data.notes.end(), chosen->begin(), chosen->end());
  }
  if (auto settled = settle_texts(table, options, path.string(), next_token, 0, lines.tokens, data); !settled)
    return tl::unexpected(settled.error());
  return data;
}

std::vector<option_problem> check(const option_values& options) {
  auto problems = check_texts(options);
  const bool column = options.has("user_column") && options.flag("user_column");
  if (column && options.has("clients"))
    problems.push_back({"clients", "says how many clients there are, and user_column who they are", "remove one"});
  if (!column && options.has("user_column") && !options.has("clients"))
    problems.push_back({"clients", "is missing: the owners of the sentences are unknown",
                        "write a number of clients, or user_column = true"});
  if (column && options.has("held_out_clients") && options.integer("held_out_clients") != some_held_out)
    problems.push_back({"held_out_clients", "divides sentences over clients, and user_column says whose they are",
                        "remove it, or set user_column = false"});
  for (const char* name : {"min_texts", "max_users"})
    if (!column && options.has(name) && options.integer(name) != 0)
      problems.push_back({name, "is about users, and the files name none", "remove it, or set user_column = true"});
  return problems;
}

/// The names and the lists of clients.
double memory(const option_values& options) {
  return options.has("clients") ? 200.0 * static_cast<double>(options.integer("clients")) : 0.0;
}

}  // namespace

dataset_entry text_entry() {
  dataset_entry entry;
  entry.kind = "text";
  entry.doc =
      "Plain text in UTF-8, a sentence a line, to predict each token from those before it; a sentence is given a start "
      "and an end. `path` is a file or a folder. Files of a folder with train (training), valid (validation, val, dev) "
      "and "
      "test (testing) in their names, between dots, dashes or underscores (`ptb.train.txt`, `wiki.valid.tokens`), are "
      "the data's own parts, one file each, and a note names the files that are not read: the training sentences are "
      "partitioned to the clients, those of validation and test to clients of their "
      "own that never train. Without such names, all `*.txt` of the folder are read and divided by `split` and "
      "`unseen_users`. Blank lines are no sentences; the word `<unk>` is the unknown token. With `user_column` lines "
      "are user, tab, sentence, and a user is a client.";
  entry.options = {
      text_option("path", "ptb", "File or folder, under the data root."),
      integer_option(
          "clients", std::nullopt,
          "Clients to which the training sentences are partitioned, at random and in equal numbers; a remainder is "
          "left out. Not with user_column.",
          {1, 1e7}),
      flag_option("user_column", false, "Lines are user, tab, sentence."),
      integer_option(
          "held_out_clients", some_held_out,
          "Clients that the sentences of the data's own validation part are divided over, and likewise those of its "
          "test part. Not with user_column.",
          {1, 1e6}),
      flag_option("skip_headings", true, "Leave lines out that begin and end with =, the headings of WikiText."),
      flag_option(
          "cut_sentences", false,
          "A line is a paragraph, as in WikiText: a sentence ends after each word `.`, `!` or `?`, and at the end of "
          "the line."),
      token_kind_option("words"),
  };
  add_options(entry.options, token_options(0));
  add_options(entry.options, user_options());
  add_options(entry.options, split_options("sentences"));
  entry.check = check;
  entry.facts = [](const option_values& options) { return token_facts(options, next_token); };
  entry.has_own_parts = true;
  entry.build = build;
  entry.memory = memory;
  return entry;
}

}  // namespace furlong::scenarios
