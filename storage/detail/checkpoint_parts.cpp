#include "storage/detail/checkpoint_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "storage/detail/message.hpp"

namespace furlong::storage::detail {

namespace {

unsigned count(std::size_t n) { return static_cast<unsigned>(n); }

/// The first tensor that differs between two signatures.
std::string first_difference(std::string_view saved, std::string_view asked, std::string_view subject) {
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(saved, asked).in1 - saved.begin());
  const auto start = saved.substr(0, same).rfind('\n') + 1;  // 0 in the first line
  const auto tensor = [&](std::string_view text) {
    const auto line = text.substr(start, text.find('\n', start) - start);
    return line.empty() ? "no tensor" : "\"" + std::string(line) + "\"";
  };
  return tensor(saved) + " (name, rows, columns) where the scenario's " + std::string(subject) + " has " +
         tensor(asked);
}

}  // namespace

result<void> check_signature(capnp::Text::Reader found, const std::string& asked, std::string_view subject,
                             const std::filesystem::path& file) {
  const std::string_view saved(found.cStr(), found.size());
  if (saved == asked) return {};
  return fail(
      error::kind::usage, file.string(),
      "the checkpoint has a different " + std::string(subject) + ": it has " + first_difference(saved, asked, subject),
      "use the " + std::string(subject) + " settings and data that the run started with, or start a new run");
}

result<models::shared_parameters> read_added(capnp::Data::Reader data, const models::layout_ptr& layout,
                                             const std::filesystem::path& file) {
  if (layout == nullptr || layout->count() == 0) return models::shared_parameters();
  models::shared_parameters added(layout);
  if (!copy_floats(data, added.values()))
    return unreadable(file, "the algorithm's tensors have " + std::to_string(data.size()) + " bytes instead of " +
                                std::to_string(layout->size() * sizeof(float)));
  return added;
}

tl::unexpected<error> unreadable(const std::filesystem::path& file, const std::string& reason) {
  return fail(error::kind::data, file.string(), reason, "restore the checkpoint from a copy, or start a new run");
}

void write(schema::Checkpoint::SizeCounts::Builder out, const federated::size_counts& counts) {
  const auto norms = counts.norms.by_level();
  const auto rows = counts.rows.by_level();
  const auto weights = counts.weights.by_level();
  fill(out.initNorms(count(norms.size())), norms);
  fill(out.initRows(count(rows.size())), rows);
  fill(out.initWeights(count(weights.size())), weights);
}

result<federated::size_history> read(schema::Checkpoint::SizeCounts::Reader reader, const std::filesystem::path& file) {
  federated::size_counts counts;
  const auto copy = [](capnp::List<std::uint32_t>::Reader source, federated::level_counts& target) {
    if (source.size() != 0 && source.size() != federated::size_level_count) return false;
    std::copy(source.begin(), source.end(), target.by_level().begin());
    return true;
  };
  if (!copy(reader.getNorms(), counts.norms) || !copy(reader.getRows(), counts.rows) ||
      !copy(reader.getWeights(), counts.weights))
    return unreadable(file, "the checkpoint has a different number of update size levels than this release");
  return federated::size_history(counts);
}

void write(schema::Checkpoint::LossWatch::Builder out, const federated::loss_watch& losses) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  out.setTraining(losses.training.value_or(none));
  auto evaluation = out.initEvaluation(count(losses.evaluation.size()));
  for (unsigned i = 0; i < evaluation.size(); ++i) evaluation.set(i, losses.evaluation[i].value_or(none));
  out.setDiverged(losses.diverged);
  out.setRejectedInARow(losses.rejected_in_a_row);
  auto beat = out.initBeatConstant(count(losses.beat_constant.size()));
  for (unsigned i = 0; i < beat.size(); ++i) beat.set(i, losses.beat_constant[i]);
  out.setScoring(losses.scoring);
}

void write(schema::Checkpoint::Progress::Builder out, const federated::validation_progress& progress) {
  out.setMetric(progress.metric);
  out.setScoring(progress.scoring);
  out.setFigure(progress.figure);
  out.setBest(progress.best);
  out.setEvaluated(progress.evaluated);
}

federated::validation_progress read(schema::Checkpoint::Progress::Reader reader) {
  return {reader.getMetric().cStr(), reader.getScoring().cStr(), reader.getFigure(), reader.getBest(),
          reader.getEvaluated()};
}

result<federated::loss_watch> read(schema::Checkpoint::LossWatch::Reader reader, const std::filesystem::path& file) {
  federated::loss_watch losses;
  const auto known = [](double value) { return std::isnan(value) ? std::nullopt : std::optional(value); };
  losses.training = known(reader.getTraining());
  const auto evaluation = reader.getEvaluation();
  const auto beat = reader.getBeatConstant();
  if (std::max(evaluation.size(), beat.size()) > losses.evaluation.size())
    return unreadable(file, "the checkpoint has losses of evaluation groups that this release does not know");
  for (unsigned i = 0; i < evaluation.size(); ++i) losses.evaluation[i] = known(evaluation[i]);
  losses.diverged = reader.getDiverged().cStr();
  losses.rejected_in_a_row = reader.getRejectedInARow();
  for (unsigned i = 0; i < beat.size(); ++i) losses.beat_constant[i] = beat[i];
  losses.scoring = reader.getScoring().cStr();
  return losses;
}

}  // namespace furlong::storage::detail
