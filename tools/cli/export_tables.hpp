// Tables of a run for other programs, as CSV.
#pragma once

#include <string>
#include <vector>

#include "tools/runs/event_file.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/run_directory.hpp"
#include "tools/runs/trained_run.hpp"

namespace furlong::tools {

/// The rounds of metrics.jsonl; those of a run that is at work may end in the middle of a line. Fails (kind data) if
/// there are none.
[[nodiscard]] result<std::vector<json>> read_rounds(const run_directory& folder);
/// A row for each round, a column for each figure that some round has: "loss", "eval.seen.rmse".
[[nodiscard]] std::string curves_csv(const std::vector<json>& rounds);
/// The same figures, tagged "loss", "eval/seen/rmse". The time is that of the run's clock.
[[nodiscard]] std::vector<event_step> curve_steps(const std::vector<json>& rounds);
/// Client, group, part, features and label of all examples. The features are one item, the number of an example of a
/// Python class within its part, or a list of tokens or of feature:value.
[[nodiscard]] std::string split_csv(const prepared_run& run);
/// Client, group ("seen" or "unseen"), features, label and prediction of the examples that evaluation scores; of texts
/// also the row, which is the number of the text in the source from 0, and of a model of classes the probability of
/// each. Of a model of tokens: client, group, row, number of predicted tokens, and the sum of the logarithms of their
/// probabilities. Fails (kind usage) if a model scores texts together; and as predictions do.
[[nodiscard]] result<std::string> predictions_csv(const trained_run& run);
/// Number and text of each token. Fails (kind usage) if the data are not texts.
[[nodiscard]] result<std::string> vocabulary_csv(const prepared_run& opened);
/// Number and name of each class. Fails (kind usage) if labels are no named classes.
[[nodiscard]] result<std::string> classes_csv(const prepared_run& opened);

}  // namespace furlong::tools
