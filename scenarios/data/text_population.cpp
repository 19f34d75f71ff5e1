#include "scenarios/data/text_population.hpp"

#include <algorithm>
#include <numeric>

#include "base/utf8.hpp"
#include "scenarios/data/rating_split.hpp"

namespace furlong::scenarios {

namespace {

class text_population : public federated::population {
 public:
  text_population(const text_table& table, text_split split, vocabulary words, const models::data_facts& facts)
      : facts_(facts),
        clients_(table.clients),
        words_(std::move(words)),
        groups_(std::move(split.groups)),
        texts_(std::move(split.begins)) {
    const bool sequences = facts.labels == models::objective::next_token;
    const auto kept = split.texts.size();
    tokens_.reserve(table.tokens.size() + (sequences ? 2 * kept : 0));
    values_.reserve(table.values.size());
    labels_.reserve(kept);
    offsets_.reserve(kept + texts_.size());
    for (std::size_t part = 0; part + 1 < texts_.size(); ++part) {
      begins_.push_back(tokens_.size());
      offsets_.push_back(0);
      for (auto position = texts_[part]; position < texts_[part + 1]; ++position) {
        take(table, split.texts[position], sequences);
        offsets_.push_back(static_cast<std::uint32_t>(tokens_.size() - begins_.back()));
      }
    }
    begins_.push_back(tokens_.size());
    words_.token_of = {};  // only names are needed from here on
    if (facts.labels == models::objective::logistic) tastes_ = normal_scores(mean_labels());
  }

  models::data_facts facts() const override { return facts_; }
  std::span<const std::uint32_t> training() const override { return groups_.training; }
  std::span<const std::uint32_t> unseen_validation() const override { return groups_.validation; }
  std::span<const std::uint32_t> unseen_test() const override { return groups_.test; }

  models::examples_view load(std::uint32_t client, federated::part which, models::examples&) const override {
    const auto part = place_of(client, which);
    const auto size = texts_[part + 1] - texts_[part];
    const auto tokens = begins_[part + 1] - begins_[part];
    models::examples_view view;
    view.features = std::span(tokens_).subspan(begins_[part], tokens);
    if (!values_.empty()) view.values = std::span(values_).subspan(begins_[part], tokens);
    view.offsets =
        std::span(offsets_).subspan(texts_[part] + part, size + 1);  // each part has one more offset than texts
    view.labels = std::span(labels_).subspan(texts_[part], size);
    return view;
  }
  std::uint32_t count(std::uint32_t client, federated::part which) const override {
    const auto part = place_of(client, which);
    return static_cast<std::uint32_t>(texts_[part + 1] - texts_[part]);
  }
  double taste(std::uint32_t client) const override {
    return tastes_.empty() ? 0.0 : static_cast<double>(tastes_[client]);
  }

  std::string client_name(std::uint32_t client) const override { return std::string(clients_[client]); }
  std::string feature_name(std::uint32_t feature) const override {
    return facts_.words == 0 ? "feature " + std::to_string(feature) : words_.name_of(feature);
  }

 private:
  static std::size_t place_of(std::uint32_t client, federated::part which) {
    return 3 * std::size_t{client} + static_cast<std::size_t>(which);
  }

  void take(const text_table& table, std::uint32_t text, bool sequence) {
    if (sequence) tokens_.push_back(models::start_token);
    for (auto position = table.offsets[text]; position < table.offsets[text + 1]; ++position) {
      const auto token = table.tokens[position];
      tokens_.push_back(facts_.words == 0 ? token : words_.token_of[token]);
      if (!table.values.empty()) values_.push_back(table.values[position]);
    }
    if (sequence) tokens_.push_back(models::end_token);
    labels_.push_back(table.labels.empty() ? 0.0F : table.labels[text]);
  }

  /// Per client, over all its parts; 0 without texts.
  [[nodiscard]] std::vector<double> mean_labels() const {
    std::vector<double> means(facts_.clients);
    for (std::size_t client = 0; client < means.size(); ++client) {
      const auto own = std::span(labels_).subspan(texts_[3 * client], texts_[3 * client + 3] - texts_[3 * client]);
      if (!own.empty()) means[client] = std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(own.size());
    }
    return means;
  }

  models::data_facts facts_;
  word_list clients_;
  vocabulary words_;
  user_groups groups_;
  std::vector<std::size_t> texts_;      // first text of each part of each client; and the end
  std::vector<std::size_t> begins_;     // likewise the first token
  std::vector<std::uint32_t> offsets_;  // per part one more than texts, relative to the part's first token
  std::vector<std::uint32_t> tokens_;
  std::vector<float> values_;  // if the examples are vectors
  std::vector<float> labels_;
  std::vector<float> tastes_;  // if labels are 0 and 1
};

class sized_text_population final : public text_population, public sized_texts {
 public:
  sized_text_population(const text_table& table, const text_split& split, vocabulary words,
                        const models::data_facts& facts, token_kind tokens)
      : sized_text_population(text_sizes(table, split, words, tokens), table, split, std::move(words), facts) {}

  text_size size_of(std::uint32_t client, federated::part which) const override {
    return sizes_[3 * std::size_t{client} + static_cast<std::size_t>(which)];
  }

 private:
  // By reference: the sizes are found with the words before these are moved.
  sized_text_population(std::vector<text_size> sizes, const text_table& table, const text_split& split,
                        vocabulary&& words, const models::data_facts& facts)
      : text_population(table, split, std::move(words), facts), sizes_(std::move(sizes)) {}

  /// By client and part.
  static std::vector<text_size> text_sizes(const text_table& table, const text_split& split, const vocabulary& words,
                                           token_kind tokens) {
    std::vector<std::uint64_t> letters(table.words.size());
    for (std::uint32_t word = 0; word < letters.size(); ++word)
      for (auto rest = table.words[word]; !rest.empty(); ++letters[word]) static_cast<void>(next_character(rest));
    std::vector<text_size> sizes(split.begins.size() - 1);
    for (std::size_t part = 0; part < sizes.size(); ++part)
      for (auto position = split.begins[part]; position < split.begins[part + 1]; ++position) {
        const auto text = split.texts[position];
        const auto count = table.offsets[text + 1] - table.offsets[text];
        sizes[part].predictions += count + 1;
        sizes[part].characters += 1 + (tokens == token_kind::words && count > 0 ? count - 1 : 0);
        for (auto i = table.offsets[text]; i < table.offsets[text + 1]; ++i) {
          const auto token = words.token_of[table.tokens[i]];
          sizes[part].characters += letters[table.tokens[i]];
          if (token == models::unknown_token || token >= words.known()) ++sizes[part].unknown;
        }
      }
    return sizes;
  }

  std::vector<text_size> sizes_;
};

/// The parts that a source provides itself.
struct own_parts {
  bool validation = false;
  bool unseen = false;  ///< clients for the test
  bool seen = false;    ///< test examples of clients that may train
};

own_parts parts_of(const text_table& table) {
  const auto has = [&](client_use use) { return std::ranges::find(table.uses, use) != table.uses.end(); };
  own_parts own{has(client_use::validation), has(client_use::test)};
  for (std::uint32_t text = 0; text < table.tested.size() && !own.seen; ++text)
    own.seen = table.tested[text] && table.owners[text] != nobody &&
               (table.uses.empty() || table.uses[table.owners[text]] == client_use::any);
  return own;
}

}  // namespace

models::data_facts text_facts(const text_table& table, const vocabulary& words, models::objective labels,
                              std::uint32_t classes) {
  return {words.tokens(), table.clients.size(), labels, classes, words.known()};
}

std::shared_ptr<const federated::population> make_text_population(const text_table& table, text_split split,
                                                                  vocabulary words, const models::data_facts& facts,
                                                                  std::optional<token_kind> tokens) {
  if (tokens && facts.labels == models::objective::next_token)
    return std::make_shared<sized_text_population>(table, split, std::move(words), facts, *tokens);
  return std::make_shared<text_population>(table, std::move(split), std::move(words), facts);
}

void note_own_parts(const text_table& table, const split_settings& settings, std::vector<std::string>& notes) {
  const auto own = parts_of(table);
  const auto takes = [](const std::string& part) {
    return "data.split takes a " + part + " share of what is trained on";
  };
  if (settings.validation > 0.0 && own.validation)
    notes.push_back(takes("validation") + ", which is not used for evaluation: validation is the data's own part");
  if (settings.test > 0.0 && own.seen)
    notes.push_back(takes("test") + ": the group seen is scored on it together with the data's own test part");
  else if (settings.test > 0.0 && own.unseen)
    notes.push_back(takes("test") + ": the group seen is scored on it, and unseen on the data's own test part");
  const auto note_held_out = [&](const std::string& part) {
    notes.push_back("data.unseen_users." + part +
                    " holds out clients that would train: they are scored together with the data's own " + part +
                    " part");
  };
  if (settings.unseen_validation > 0.0 && own.validation) note_held_out("validation");
  if (settings.unseen_test > 0.0 && own.unseen) note_held_out("test");
}

void note_untrained_labels(const text_table& table, const text_split& split, std::vector<std::string>& notes) {
  if (table.labels.empty()) return;
  std::vector<bool> trained;
  std::vector<bool> trains(split.clients(), false);
  for (const auto client : split.groups.training) {
    trains[client] = true;
    for (auto position = split.begins[3 * std::size_t{client}]; position < split.begins[3 * std::size_t{client} + 1];
         ++position) {
      const auto label = static_cast<std::size_t>(table.labels[split.texts[position]]);
      if (label >= trained.size()) trained.resize(label + 1, false);
      trained[label] = true;
    }
  }
  std::size_t scored = 0;
  std::size_t unknown = 0;
  for (std::size_t client = 0; client < split.clients(); ++client) {
    for (auto position = split.begins[3 * client + (trains[client] ? 1 : 0)]; position < split.begins[3 * client + 3];
         ++position) {
      const auto label = static_cast<std::size_t>(table.labels[split.texts[position]]);
      ++scored;
      if (label >= trained.size() || !trained[label]) ++unknown;
    }
  }
  if (unknown > 0)
    notes.push_back(std::to_string(unknown) + " of the " + std::to_string(scored) +
                    " examples for validation and test have a label that no training example has");
}

}  // namespace furlong::scenarios
