// A low limit on open files, for tests of what then happens.
#pragma once

#include <sys/resource.h>

namespace furlong::tests {

/// Lowers the limit on open files of this process while it lives. With 0 it can open no more.
class few_files {
 public:
  explicit few_files(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lower{most, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~few_files() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  few_files(const few_files&) = delete;
  few_files& operator=(const few_files&) = delete;

 private:
  rlimit before_{};
};

}  // namespace furlong::tests
