#include "actors/tls/deny_list.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>

#include "actors/tls/identity.hpp"
#include "actors/tls/pem_files.hpp"

namespace furlong::actors::tls {

namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20U;

/// The line without comment and surrounding blanks.
std::string_view content_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const auto from = line.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return line.substr(from, line.find_last_not_of(" \t\r") - from + 1);
}

}  // namespace

result<std::shared_ptr<deny_list>> deny_list::load(std::filesystem::path file) {
  std::shared_ptr<deny_list> list(new deny_list(std::move(file)));
  const auto seen = list->look();
  if (!seen) return tl::unexpected(seen.error());
  if (auto fine = list->read(list->denied_); !fine) return tl::unexpected(fine.error());
  list->seen_ = *seen;
  return list;
}

result<bool> deny_list::refresh() {
  const std::lock_guard locked(guard_);
  // Checked before it is read: a change in between is then detected next time.
  const auto now = look();
  if (!now) return tl::unexpected(now.error());
  if (*now == seen_) return false;
  entries fresh;
  if (auto fine = read(fresh); !fine) {
    denied_.merge(fresh);
    return tl::unexpected(fine.error());
  }
  denied_ = std::move(fresh);
  seen_ = *now;
  return true;
}

bool deny_list::contains(std::string_view common_name) const {
  const std::lock_guard locked(guard_);
  return denied_.find(common_name) != denied_.end() ||
         denied_.find(common_name.substr(0, common_name.find('/'))) != denied_.end();
}

std::size_t deny_list::size() const {
  const std::lock_guard locked(guard_);
  return denied_.size();
}

result<deny_list::fingerprint> deny_list::look() const {
  struct stat facts {};
  if (::stat(file_.c_str(), &facts) != 0)
    return fail(error::kind::data, file_.string(), std::string("the deny list cannot be read: ") + std::strerror(errno),
                "copy pki/clients/deny.txt here; it may be empty");
  return fingerprint{facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size), facts.st_mtim.tv_sec,
                     facts.st_mtim.tv_nsec};
}

result<void> deny_list::read(entries& into) const {
  const auto text = read_text_file(file_, most_bytes);
  if (!text) return tl::unexpected(text.error());
  result<void> outcome;
  std::size_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const auto line = content_of(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.empty()) continue;
    if (is_name(line) || parse_common_name(line))
      into.emplace(line);
    else if (outcome)
      outcome = fail(error::kind::data, file_.string() + ", line " + std::to_string(number),
                     "is neither a common name nor the name of a node",
                     "write NAME/FIRST-LAST/SERIAL or NAME, and comments after #");
  }
  return outcome;
}

}  // namespace furlong::actors::tls
