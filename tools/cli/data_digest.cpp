#include "tools/cli/data_digest.hpp"

#include "base/digest.hpp"
#include "scenarios/data/mapped_file.hpp"

namespace furlong::tools {

result<data_digest> digest_of(const scenarios::dataset& data, const federated::run_settings& settings) {
  auto files = data.files;
  const auto& presence = settings.devices.availability;
  if (presence.kind == federated::availability_kind::trace) files.emplace_back(presence.trace);
  if (files.empty()) return data_digest{};
  sha256_stream digest;
  for (const auto& path : files) {
    const auto file = scenarios::mapped_file::open(path);
    if (!file) return tl::unexpected(file.error());
    digest.add(std::uint64_t{file->bytes().size()}).add(file->bytes());
  }
  const auto others = data.files.empty() ? 0 : data.files.size() - 1;
  return data_digest{
      hex(digest.finish()),
      files.front().string() + (others == 0 ? "" : " or one of " + std::to_string(others) + " other files")};
}

result<std::string> data_sha256(const session& of) {
  auto here = digest_of(of.data, of.experiment.settings);
  if (!here) return tl::unexpected(here.error());
  return std::move(here->sha256);
}

result<void> check_same_data(const session& of, const std::string& recorded, const std::filesystem::path& run) {
  if (recorded.empty()) return {};
  const auto here = digest_of(of.data, of.experiment.settings);
  if (!here) return tl::unexpected(here.error());
  return check_same_data(*here, recorded, run);
}

result<void> check_same_data(const data_digest& here, const std::string& recorded, const std::filesystem::path& run) {
  if (recorded.empty() || recorded == here.sha256) return {};
  return fail(error::kind::data, run.string(),
              "the data are not those that the run began with: what " + here.place + " holds has changed",
              "put the files back as they were, or run from the start in another --out");
}

}  // namespace furlong::tools
