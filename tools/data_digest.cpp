#include "tools/data_digest.hpp"

#include "federated/digest.hpp"
#include "scenarios/mapped_file.hpp"

namespace furlong::tools {

result<std::string> data_sha256(const session& of) {
  auto files = of.data.files;
  const auto& presence = of.experiment.settings.devices.availability;
  if (presence.kind == federated::availability_kind::trace) files.emplace_back(presence.trace);
  if (files.empty()) return std::string();
  federated::sha256_stream digest;
  for (const auto& path : files) {
    const auto file = scenarios::mapped_file::open(path);
    if (!file) return tl::unexpected(file.error());
    digest.add(std::uint64_t{file->bytes().size()}).add(file->bytes());
  }
  return federated::hex(digest.finish());
}

}  // namespace furlong::tools
