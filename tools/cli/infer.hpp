// Predictions of a trained run, for a person or for a table of questions.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/command_options.hpp"
#include "tools/runs/trained_run.hpp"

namespace furlong::tools {

struct infer_options {
  std::filesystem::path run;
  std::optional<std::uint32_t> client;
  std::string user;  ///< a client by its name in the data; empty: none
  std::filesystem::path ratings;
  std::filesystem::path texts;  ///< of a new person, with labels where the run has them
  std::optional<std::string> text;
  std::filesystem::path batch;  ///< a table of questions; empty: none
  std::size_t top = 10;
  double temperature = 0.0;  ///< 0: the most likely tokens
  std::uint64_t seed = 1;    ///< of the drawn tokens
  output_format format = output_format::text;
};

/// The subject of predictions, and its known examples.
struct subject {
  std::string name = "somebody new";
  std::optional<std::uint32_t> client = {};
  models::examples known = {};
  std::vector<std::string> unknown_items = {};  ///< ids of own items that are not in the data
  /// Items that are not recommended: the known ones, and of rankings those of the validation part.
  std::vector<std::uint32_t> left_out = {};
};
/// A client of the run. Fails (kind usage) if there is none with this number.
[[nodiscard]] result<subject> subject_of(const trained_run& run, std::uint32_t client);

/// How predictions for items are shown: clipped to the range of the labels, as the probability of the label 1, or of
/// rankings as the score by which items are ranked.
class label_scale {
 public:
  explicit label_scale(const trained_run& run);
  [[nodiscard]] const char* name() const { return ranks_ ? "score" : probability_ ? "probability" : "rating"; }
  [[nodiscard]] const std::optional<std::pair<float, float>>& range() const { return range_; }
  /// @param said as models::model::predict() says it
  [[nodiscard]] double operator()(float said) const;

 private:
  bool ranks_;
  bool probability_;
  std::optional<std::pair<float, float>> range_;
};

/// The `top` features of the highest predictions, ties by number, without those that are left out.
[[nodiscard]] std::vector<std::uint32_t> best_features(const std::vector<float>& predictions, const subject& person,
                                                       std::size_t top);

/// How texts are answered.
struct text_settings {
  std::size_t top = 10;      ///< classes to list, or tokens to add
  double temperature = 0.0;  ///< of the draw of tokens; 0: the most likely one
  std::uint64_t seed = 1;    ///< of the draws
};

/// One person's texts from a file: lines (.txt, for next tokens), or a table with the columns `text` and `label`, or as
/// the run's data call them. Fails (kind usage) if the run's data are not texts, and (kind data) at the first text or
/// label that the run cannot have, with its place.
[[nodiscard]] result<models::examples> read_own_texts(const trained_run& run, const std::filesystem::path& file);

/// Fields "text", "tokens", "unknown" (its tokens outside the vocabulary), "personal", and by the meaning of labels:
/// "class" with "name", and where the model knows them its "probability" and the most likely "classes"; "label" with
/// its "probability"; or "goes_on": the tokens that follow one after the other, each from all before it, up to an end,
/// and where the model knows it the "next" one's probabilities. docs/schemas/infer.schema.json has them all. Fails
/// (kind usage) if the run's data are not texts or the text is invalid.
[[nodiscard]] result<json> infer_text(const trained_run& run, const subject& target, const std::string& text,
                                      const text_settings& settings);
/// The same as text.
void print_inferred_text(const json& object);

/// Answers a table: CSV with a header, in which the columns `client` (number), `user` (name), `item` (id) or `text`,
/// and `id` are read, and those that the run's own data call user and text. An id is copied to the answers. Returns one
/// line per question, or without items and texts the best items of each client, as CSV. Fails (kind data) at the first
/// row that cannot be answered, with its place, and at a column that has no meaning.
[[nodiscard]] result<std::string> infer_batch(const trained_run& run, const infer_options& options);

}  // namespace furlong::tools
