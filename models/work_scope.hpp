// What a thread computes, for models that compute in other processes: they name it where they report a failure.
#pragma once

#include <cstdint>

namespace furlong::models {

enum class work_kind : std::uint8_t { other, training, evaluation, server_step };

/// A task of one client on the model of a version, or the server's step from it.
struct work {
  work_kind kind = work_kind::other;
  std::uint64_t version = 0;

  friend bool operator==(const work&, const work&) = default;
};

/// While it lives, the calling thread does this work. Scopes do not nest.
class work_scope {
 public:
  work_scope(work_kind kind, std::uint64_t version);
  work_scope(const work_scope&) = delete;
  work_scope& operator=(const work_scope&) = delete;
  ~work_scope();

  /// The calling thread's work.
  [[nodiscard]] static work current();
  /// Numbers the draws of the calling thread's work: 0, 1, ... from its beginning, so that they do not depend on what
  /// the thread did before. 0 where it is in no scope.
  static std::uint32_t next_draw();
  /// Called once when the calling thread's work ends. False, and never called, where the thread is in no scope.
  static bool at_end(void (*call)());
};

}  // namespace furlong::models
