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

namespace {

/// A file that data come from, to be named in a message; all are part of one digest.
std::string place_of_data(const session& of) {
  const auto& files = of.data.files;
  if (files.empty()) return of.experiment.settings.devices.availability.trace;
  const auto others = files.size() - 1;
  return files.front().string() + (others == 0 ? "" : " or one of " + std::to_string(others) + " other files");
}

}  // namespace

result<void> check_same_data(const session& of, const std::string& recorded, const std::filesystem::path& run) {
  if (recorded.empty()) return {};
  const auto here = data_sha256(of);
  if (!here) return tl::unexpected(here.error());
  if (recorded == *here) return {};
  return fail(error::kind::data, run.string(),
              "the data are not those that the run began with: what " + place_of_data(of) + " holds has changed",
              "put the files back as they were, or run from the start in another --out");
}

}  // namespace furlong::tools
