// The problems that this process has opened.
#include <mutex>
#include <utility>

#include "scenarios/python/problem.hpp"

namespace furlong::scenarios {

namespace {

using problem_pointer = std::shared_ptr<const trainer_problem>;

/// Only the problem opened last keeps trainers that do nothing.
class opened_problems {
 public:
  result<problem_pointer> open(const problem_settings& settings, bool any_seed) {
    const std::lock_guard guard(lock_);
    auto found = find(settings, any_seed);
    if (!found) {
      auto described = trainer_problem::describe(settings);
      if (!described) return described;
      for (const auto& known : opened_) known.second->rest();
      if (opened_.size() == most) opened_.erase(opened_.begin());
      opened_.emplace_back(settings, *described);
      found = std::move(*described);
    }
    if (any_seed) return found;  // without initial values, which may be large
    if (auto read = found->read_initial(); !read) return tl::unexpected(read.error());
    return found;
  }

 private:
  static constexpr std::size_t most = 64;

  problem_pointer find(const problem_settings& settings, bool any_seed) const {
    for (const auto& [known, problem] : opened_)
      if (is_of(known, *problem, settings, any_seed)) return problem;
    return nullptr;
  }
  static bool is_of(problem_settings known, const trainer_problem& problem, const problem_settings& settings,
                    bool any_seed) {
    if (any_seed) known.seed = settings.seed;
    if (known == settings) return true;
    known.options = problem.options().all();  // with those that were not given
    if (const auto* algorithm = problem.algorithm()) known.algorithm_options = algorithm->options.all();
    return known == settings;
  }

  std::mutex lock_;
  std::vector<std::pair<problem_settings, problem_pointer>> opened_;
};

opened_problems& problems() {
  static opened_problems opened;
  return opened;
}

}  // namespace

result<problem_pointer> trainer_problem::open(const problem_settings& settings) {
  return problems().open(settings, false);
}

result<problem_pointer> trainer_problem::outline(const problem_settings& settings) {
  return problems().open(settings, true);
}

}  // namespace furlong::scenarios
