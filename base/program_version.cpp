#include "base/program_version.hpp"

#include <array>
#include <fstream>

#include "base/digest.hpp"

namespace furlong {

namespace {

std::string read_version() {
  const std::string start = "program-";
  std::ifstream file("/proc/self/exe", std::ios::binary);
  if (!file) return start + "unknown";
  sha256_stream digest;
  std::array<char, 1U << 16U> block{};
  while (file.read(block.data(), block.size()) || file.gcount() > 0)
    digest.add(std::string_view(block.data(), static_cast<std::size_t>(file.gcount())));
  return start + hex(digest.finish()).substr(0, 16);
}

}  // namespace

const std::string& program_version() {
  static const std::string version = read_version();
  return version;
}

}  // namespace furlong
