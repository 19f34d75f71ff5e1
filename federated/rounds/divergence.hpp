// When a run has diverged: it ends, and its model is not used.
//
// A run has diverged when
//   1. the model, or a tensor that the algorithm adds, is not finite;
//   2. in an evaluation more than half of the clients of a group, and at least two, have no finite score;
//   3. the loss of a group in an evaluation, over the clients with a finite score, is not finite or exceeds
//      scenario.diverged_at times its first value;
//   4. the median of the clients' training losses of a version does, likewise;
//   5. of the updates of each of the last versions, 9 of 10 or more were rejected as too large or not finite, and these
//      are together as many updates as ten rounds have, and at least 100. Updates of clients without
//      examples do not count, and versions without any update are skipped;
//   6. a group is scored no better than by a constant prediction (evaluation/constant_prediction.hpp) over the same
//      examples, after an earlier evaluation was clearly better. That is
//                     clearly better                                          no better
//        ratings      mean squared error <= 0.9 of the constant's             >= it, and not for a few clients alone
//        classes      errors, or the loss, <= 0.9 of the constant's           accuracy <= and loss >= the constant's
//        next_token   accuracy >= 1.25 of the constant's                      <= it
//      in evaluations of enough examples. Of a custom objective no constant prediction is known. A run that keeps its
//      best model ends with that one, and goes on.
//
// A single client whose score is not finite has bad data more often than a bad model: it decides nothing.
#pragma once

#include <optional>
#include <string>

#include "federated/evaluation/evaluation.hpp"
#include "federated/rounds/round.hpp"

namespace furlong::federated {

/// After a round: conditions 1, 4 and 5. The first reason is kept in `state`.
void watch_training(const experiment& e, server_state& state, const round_report& report, const round_facts& facts);
/// After an evaluation of the last model: conditions 2, 3 and 6.
void watch_evaluation(const experiment& e, server_state& state, const evaluation_report& figures);
/// After an evaluation of any model of the run: condition 2.
void watch_scores(server_state& state, const evaluation_report& figures);

/// The reason why the run of this state has diverged, if it has: what `furlong run` says at its end, and `infer` and
/// `export` of its model.
[[nodiscard]] std::optional<std::string> divergence_of(const server_state& state);

}  // namespace furlong::federated
