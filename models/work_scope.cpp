#include "models/work_scope.hpp"

#include <utility>

namespace furlong::models {

namespace {

thread_local work done_now;
thread_local std::uint32_t draws = 0;
thread_local void (*when_done)() = nullptr;

}  // namespace

work_scope::work_scope(work_kind kind, std::uint64_t version) {
  done_now = {kind, version};
  draws = 0;
}

work_scope::~work_scope() {
  done_now = {};
  if (auto* const call = std::exchange(when_done, nullptr)) call();
}

work work_scope::current() { return done_now; }

std::uint32_t work_scope::next_draw() { return done_now.kind == work_kind::other ? 0 : draws++; }

bool work_scope::at_end(void (*call)()) {
  if (done_now.kind == work_kind::other) return false;
  when_done = call;
  return true;
}

}  // namespace furlong::models
