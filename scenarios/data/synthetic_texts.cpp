#include "scenarios/data/synthetic_texts.hpp"

#include <algorithm>
#include <numeric>

#include "base/random.hpp"
#include "scenarios/data/text_files.hpp"
#include "scenarios/data/text_options.hpp"
#include "scenarios/data/text_population.hpp"

namespace furlong::scenarios {

namespace {

using models::objective;

random_stream stream_of(const synthetic_text_settings& settings, std::uint32_t user, std::uint32_t part) {
  return {settings.seed, purpose::synthetic_texts, 0, user, part};
}

bool chance(random_stream& stream, double probability) { return static_cast<double>(stream.uniform()) < probability; }

/// Generates the texts of one user.
struct writer {
  writer(const synthetic_text_settings& text_settings, std::uint32_t user, std::uint32_t buckets)
      : settings(text_settings),
        favourite(favourite_of(text_settings, user)),
        stream(stream_of(text_settings, user, 1)) {
    auto own = stream_of(text_settings, user, 2);
    for (std::uint32_t w = 0; w < text_settings.own_words; ++w) {
      const auto name = "user " + std::to_string(user) + " word " + std::to_string(w);
      tokens.push_back(text_settings.words +
                       (buckets == 0 ? 0 : static_cast<std::uint32_t>(word_hash(name) % buckets)));
      followers.push_back(own.below(text_settings.words));
    }
  }

  std::uint32_t draw_class() { return chance(stream, settings.taste) ? favourite : stream.below(settings.classes); }
  std::uint32_t draw_length() {
    const auto least = (settings.length + 1) / 2;
    return least + stream.below(2 * (settings.length - least) + 1);
  }

  void write_labelled(text_table& table) {
    const auto own_of_class = settings.words / settings.classes / 2;
    const auto first_common = own_of_class * settings.classes;
    const auto label = draw_class();
    const auto length = draw_length();
    const auto begin = table.tokens.size();
    for (std::uint32_t i = 0; i < length; ++i)
      table.tokens.push_back(first_common + stream.below(settings.words - first_common));
    if (chance(stream, settings.clarity)) {
      const auto place = stream.below(length);
      table.tokens[begin + place] = label * own_of_class + stream.below(own_of_class);
    }
    table.labels.push_back(static_cast<float>(label));
  }

  void write_sequence(text_table& table) {
    const auto topic = draw_class();
    auto follower = stream.below(settings.words);
    for (auto left = draw_length(); left > 0; --left) {
      if (!tokens.empty() && chance(stream, settings.own_share)) {
        const auto word = stream.below(settings.own_words);
        table.tokens.push_back(tokens[word]);
        follower = followers[word];
        continue;
      }
      const auto word = chance(stream, settings.clarity) ? follower : stream.below(settings.words);
      table.tokens.push_back(word);
      follower = (word + 1 + topic) % settings.words;
    }
  }

  const synthetic_text_settings& settings;
  std::uint32_t favourite;
  random_stream stream;
  std::vector<std::uint32_t> tokens;     // of the user's own words
  std::vector<std::uint32_t> followers;  // likewise
};

synthetic_text_settings read_settings(const option_values& options) {
  const auto number = [&](const char* name) { return static_cast<std::uint32_t>(options.integer(name)); };
  synthetic_text_settings settings;
  settings.seed = static_cast<std::uint64_t>(options.integer("seed"));
  settings.next_word = options.text("task") == "next-word";
  settings.users = number("users");
  settings.texts_per_user = number("texts_per_user");
  settings.classes = number("classes");
  settings.words = number("words");
  settings.length = number("length");
  settings.taste = options.number("taste");
  settings.clarity = options.number("clarity");
  settings.own_words = number("own_words");
  settings.own_share = options.number("own_share");
  return settings;
}

/// Tokens of shared words; user-specific words map to a bucket, or to unknown without buckets.
vocabulary number_words(const synthetic_text_settings& settings, std::uint32_t buckets) {
  vocabulary made;
  made.buckets = buckets;
  for (std::uint32_t word = 0; word < settings.words; ++word) made.words.add("w" + std::to_string(word));
  made.token_of.resize(settings.words + std::max(buckets, 1U));
  std::iota(made.token_of.begin(), made.token_of.end(), models::first_word + 0U);
  if (buckets == 0) made.token_of.back() = models::unknown_token;
  return made;
}

objective labels_of_task(const option_values& options) {
  if (options.has("task") && options.text("task") == "next-word") return objective::next_token;
  return options.has("classes") && options.integer("classes") == 2 ? objective::logistic : objective::categorical;
}

result<dataset> build(const option_values& options, const std::filesystem::path&) {
  const auto settings = read_settings(options);
  const auto buckets = static_cast<std::uint32_t>(options.integer("buckets"));
  text_table table;
  for (std::uint32_t user = 0; user < settings.users; ++user) append_texts(settings, user, buckets, table);
  auto words = number_words(settings, buckets);
  const auto labels = labels_of_task(options);
  const auto facts = text_facts(table, words, labels, labels == objective::categorical ? settings.classes : 0);
  dataset data;
  auto split = divide_texts(table, read_split(options));
  auto rows = split.texts;
  auto begins = split.begins;
  data.clients = make_text_population(table, std::move(split), std::move(words), facts);
  data.texts = std::make_shared<const text_reader>(data.clients, token_settings(), std::move(rows), std::move(begins));
  return data;
}

models::data_facts facts(const option_values& options) {
  const auto number = [&](const char* name, std::uint32_t otherwise) {
    return options.has(name) ? static_cast<std::uint32_t>(options.integer(name)) : otherwise;
  };
  const synthetic_text_settings fallback;
  models::data_facts known;
  known.labels = labels_of_task(options);
  if (known.labels == objective::categorical) known.classes = number("classes", fallback.classes);
  known.words = models::first_word + number("words", fallback.words);
  known.features = known.words + number("buckets", 0);
  return known;
}

std::vector<option_problem> check(const option_values& options) {
  auto problems = check_split(options);
  if (options.has("classes") && options.has("words") && options.integer("words") < 2 * options.integer("classes"))
    problems.push_back({"words", "is below two per class", "raise it, or lower data.classes"});
  if (!options.has("task") || options.text("task") != "classes") return problems;
  const synthetic_text_settings fallback;
  const std::pair<const char*, double> own[] = {
      {"buckets", 0.0}, {"own_words", fallback.own_words}, {"own_share", fallback.own_share}};
  for (const auto& [name, usual] : own)
    if (options.has(name) && options.number(name) != usual)
      problems.push_back({name, "is about own words of users, and task = \"classes\" has none", "remove it"});
  return problems;
}

/// Tokens as generated and in the final layout; texts; clients.
double memory(const option_values& options) {
  const auto number = [&](const char* name) { return static_cast<double>(options.integer(name)); };
  return number("users") * (200.0 + number("texts_per_user") * (40.0 + 8.0 * (number("length") + 3.0)));
}

constexpr option_range any_share{0, 1};

}  // namespace

std::uint32_t favourite_of(const synthetic_text_settings& settings, std::uint32_t user) {
  return stream_of(settings, user, 0).below(settings.classes);
}

void append_texts(const synthetic_text_settings& settings, std::uint32_t user, std::uint32_t buckets,
                  text_table& table) {
  writer author(settings, user, buckets);
  const auto client = table.clients.add("user " + std::to_string(user));
  for (std::uint32_t text = 0; text < settings.texts_per_user; ++text) {
    if (settings.next_word)
      author.write_sequence(table);
    else
      author.write_labelled(table);
    table.end_text(client);
  }
}

dataset_entry synthetic_texts_entry() {
  const synthetic_text_settings fallback;
  dataset_entry entry;
  entry.kind = "synthetic-texts";
  entry.doc =
      "Generated texts of users who differ in taste. Each user has a favourite class; a text is of it with probability "
      "`taste`, else of any. task = \"classes\": a share `clarity` of the texts has one word that only their class "
      "uses, the others carry no information. So of C classes no model is right more often than clarity + (1 - "
      "clarity) / C knowing the text alone, and clarity + (1 - clarity) (taste + (1 - taste) / C) knowing its user "
      "too. task = \"next-word\": classes are topics, in which a word is followed by a certain other one with "
      "probability `clarity`; users have own words outside the vocabulary, each followed by a word of that user's.";
  entry.options = {
      seed_option("seed", "Seed of the generated texts."),
      choice_option("task", "classes",
                    "Label texts with their class (0 and 1 when there are two), or predict their words.",
                    {"classes", "next-word"}),
      integer_option("users", fallback.users, "Number of users.", {1, 1e7}),
      integer_option("texts_per_user", fallback.texts_per_user, "Texts of each user.", {1, 1e6}),
      integer_option("classes", fallback.classes, "Number of classes, or topics.", {2, 1e5}),
      integer_option("words", fallback.words, "Number of words that users share; all are in the vocabulary.", {4, 1e6}),
      integer_option("length", fallback.length, "Mean number of words in a text.", {1, 1e4}),
      number_option("taste", fallback.taste,
                    "Probability that a text is of its user's favourite class for that reason.", any_share),
      number_option("clarity", fallback.clarity,
                    "Probability that a text shows its class, or that a word is followed by its follower.", any_share),
      integer_option("own_words", fallback.own_words, "Words of each user that are not shared; next-word.", {0, 1e4}),
      number_option("own_share", fallback.own_share, "Share of the words that are the user's own; next-word.",
                    any_share),
      integer_option("buckets", 0, "Numbers that own words are hashed to; 0: they are unknown.", {0, 1e7}),
  };
  add_options(entry.options, split_options("texts", {0.8, 0.1, 0.1}));
  entry.check = check;
  entry.facts = facts;
  entry.build = build;
  entry.memory = memory;
  return entry;
}

}  // namespace furlong::scenarios
