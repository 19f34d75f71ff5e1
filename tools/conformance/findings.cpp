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
  all_.push_back({std::move(subject), std::move(found)});
}

const finding* findings::about(const std::string& name) const {
  const auto found = std::ranges::find_if(all_, [&](const finding& listed) { return listed.subject.name == name; });
  return found == all_.end() ? nullptr : &*found;
}

std::size_t findings::count(outcome result) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(all_, [&](const finding& listed) { return listed.found.result == result; }));
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
