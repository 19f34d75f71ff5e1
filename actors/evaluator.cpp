#include "actors/evaluator.hpp"

namespace furlong::actors {

namespace {

std::shared_ptr<const error> score_all(evaluation_work& work) {
  auto& use = thread_workspace();
  for (std::size_t i = work.next++; i < work.scores.size(); i = work.next++)
    if (auto done = work.scores.score(i, use); !done) return std::make_shared<const error>(done.error());
  return nullptr;
}

}  // namespace

evaluator_actor::behavior_type evaluator_behavior(evaluator_actor::pointer self, evaluation_client parent) {
  return {
      [self, parent](const evaluation_share& given) {
        self->send(parent, evaluation_done{guarded("evaluation", [&] { return score_all(*given.work); })});
      },
  };
}

}  // namespace furlong::actors
