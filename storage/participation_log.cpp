#include "storage/participation_log.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include "storage/checkpoint.capnp.h"
#include "storage/detail/files.hpp"
#include "storage/detail/message.hpp"

namespace furlong::storage {

namespace fs = std::filesystem;
using federated::client_record;
using federated::participation_ledger;

namespace {

constexpr std::string_view log_magic = "FURLPART";
constexpr auto log_name = "participation.log";
constexpr std::size_t seal_bytes = 8 + 8 + 32;  // overhead of a sealed block
constexpr std::size_t length_at = 8;

/// Calls visit(member, initializer, getter) for each column of a block.
template <class Visit>
void each_column(const Visit& visit) {
  using out = schema::Participation::Builder;
  using reader = schema::Participation::Reader;
  visit(&client_record::selected, &out::initSelected, &reader::getSelected);
  visit(&client_record::folded, &out::initFolded, &reader::getFolded);
  visit(&client_record::last_selection, &out::initLastSelection, &reader::getLastSelection);
  visit(&client_record::ended_at, &out::initEndedAt, &reader::getEndedAt);
  visit(&client_record::trained_at, &out::initTrainedAt, &reader::getTrainedAt);
  visit(&client_record::asked_version, &out::initAskedVersion, &reader::getAskedVersion);
  visit(&client_record::attempt, &out::initAttempt, &reader::getAttempt);
  visit(&client_record::reported_version, &out::initReportedVersion, &reader::getReportedVersion);
  visit(&client_record::trained_version, &out::initTrainedVersion, &reader::getTrainedVersion);
  visit(&client_record::loss, &out::initLoss, &reader::getLoss);
  visit(&client_record::folded_version, &out::initFoldedVersion, &reader::getFoldedVersion);
}

std::string encode(const participation_ledger& ledger, const std::vector<std::uint32_t>& clients) {
  capnp::MallocMessageBuilder message(static_cast<unsigned>(8 * clients.size() + 64));
  auto out = message.initRoot<schema::Participation>();
  const auto n = static_cast<unsigned>(clients.size());
  detail::fill(out.initClients(n), clients);
  each_column([&](auto member, auto init, auto /*get*/) {
    auto list = (out.*init)(n);
    for (unsigned i = 0; i < n; ++i) list.set(i, ledger[clients[i]].*member);
  });
  return detail::flat(message);
}

result<void> decode(schema::Participation::Reader reader, participation_ledger& ledger, const fs::path& file) {
  const auto clients = reader.getClients();
  const auto n = clients.size();
  bool fits = true;
  for (const auto client : clients) fits = fits && client < ledger.size();
  each_column([&](auto /*member*/, auto /*init*/, auto get) { fits = fits && (reader.*get)().size() == n; });
  if (!fits)
    return fail(error::kind::data, file.string(), "a block does not fit the checkpoint",
                "restore the folder from a copy, or start a new run");
  each_column([&](auto member, auto /*init*/, auto get) {
    const auto list = (reader.*get)();
    for (unsigned i = 0; i < n; ++i) ledger.touch(clients[i]).*member = list[i];
  });
  return {};
}

/// Truncates the file to `keep` bytes and appends `block`.
bool write_at(int file, std::uint64_t keep, std::string_view block) {
  if (::ftruncate(file, static_cast<off_t>(keep)) != 0) return false;
  for (std::size_t done = 0; done < block.size();) {
    const auto wrote = ::pwrite(file, block.data() + done, block.size() - done, static_cast<off_t>(keep + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<std::size_t>(wrote);
  }
  return ::fsync(file) == 0;
}

}  // namespace

result<void> append_participation(const fs::path& folder, participation_ledger& ledger) {
  const auto clients = ledger.take_changed();
  if (clients.empty()) return {};
  const auto path = folder / log_name;
  const auto block = detail::seal(log_magic, encode(ledger, clients));
  const bool first = ledger.stored_bytes() == 0;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const bool written = file >= 0 && write_at(file, ledger.stored_bytes(), block);
  const auto why = std::error_code(errno, std::generic_category());
  if (file >= 0) ::close(file);
  if (!written)
    return fail(error::kind::runtime, path.string(), "cannot be written: " + why.message(), "check the disk");
  ledger.set_stored_bytes(ledger.stored_bytes() + block.size());
  return first ? detail::sync_path(folder) : result<void>();
}

result<std::shared_ptr<participation_ledger>> read_participation(const fs::path& folder, std::uint64_t clients,
                                                                 std::uint64_t bytes) {
  auto ledger = std::make_shared<participation_ledger>(clients);
  if (bytes == 0) return ledger;
  const auto path = folder / log_name;
  const auto damaged = [&](const std::string& why) {
    return fail(error::kind::data, path.string(), why, "restore the folder from a copy, or start a new run");
  };
  const auto content = detail::read_file(path);
  if (!content) return tl::unexpected(content.error());
  if (content->size() < bytes) return damaged("is shorter than the checkpoint expects");
  auto rest = std::string_view(*content).substr(0, bytes);
  while (!rest.empty()) {
    std::uint64_t length = 0;
    if (rest.size() < seal_bytes) return damaged("ends in the middle of a block");
    std::memcpy(&length, rest.data() + length_at, sizeof length);
    if (length > rest.size() - seal_bytes) return damaged("ends in the middle of a block");
    const auto block = rest.substr(0, length + seal_bytes);
    const auto payload = detail::unseal(log_magic, block, path, "participation log");
    if (!payload) return tl::unexpected(payload.error());
    const auto read = detail::with_message<schema::Participation>(
        *payload, path, [&](auto message) { return decode(message, *ledger, path); });
    if (!read) return tl::unexpected(read.error());
    rest.remove_prefix(block.size());
  }
  static_cast<void>(ledger->take_changed());
  ledger->set_stored_bytes(bytes);
  return ledger;
}

}  // namespace furlong::storage
