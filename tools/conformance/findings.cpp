#include "tools/conformance/findings.hpp"

#include <algorithm>
#include <exception>

namespace furlong::tools::conformance {

void findings::examine(law subject, const std::function<verdict()>& question) {
  verdict found;
  try {
    found = question();
  } catch (const std::exception& thrown) {
    found = {outcome::broken, std::string("failed: ") + thrown.what()};
  }
  listed_.push_back({std::move(subject), std::move(found)});
}

const finding* findings::about(const std::string& name) const {
  const auto found =
      std::ranges::find_if(listed_, [&](const finding& candidate) { return candidate.subject.name == name; });
  return found == listed_.end() ? nullptr : &*found;
}

std::size_t findings::count(outcome result) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(listed_, [&](const finding& candidate) { return candidate.found.result == result; }));
}

std::string text_of(const finding& described) {
  const auto& [subject, found] = described;
  const auto statement = subject.name + ": " + subject.statement;
  switch (found.result) {
    case outcome::kept: return "kept     " + statement;
    case outcome::broken: return "broken   " + statement + ": " + found.reason + "; " + subject.fix;
    case outcome::skipped: break;
  }
  return "skipped  " + statement + ": " + found.reason;
}

}  // namespace furlong::tools::conformance
