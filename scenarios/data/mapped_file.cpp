#include "scenarios/data/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/utf8.hpp"

namespace furlong::scenarios {

mapped_file& mapped_file::operator=(mapped_file&& source) noexcept {
  std::swap(bytes_, source.bytes_);
  return *this;
}

mapped_file::~mapped_file() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

result<mapped_file> mapped_file::open(const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& why) { return fail(error::kind::data, path.string(), why); };
  const int file =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // nonblocking: a pipe is rejected, not waited for
  if (file < 0) return refuse("cannot be opened: " + std::string(std::strerror(errno)));
  struct stat facts {};
  if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(file);
    return refuse("is not a regular file");
  }
  mapped_file mapped;
  if (facts.st_size > 0) {
    const auto size = static_cast<std::size_t>(facts.st_size);
    void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    const int why = errno;
    ::close(file);
    if (memory == MAP_FAILED) return refuse("cannot be read: " + std::string(std::strerror(why)));
    mapped.bytes_ = {static_cast<const char*>(memory), size};
  } else {
    ::close(file);
  }
  return mapped;
}

result<mapped_file> open_text(const std::filesystem::path& path) {
  auto mapped = mapped_file::open(path);
  if (mapped && (mapped->bytes().starts_with("\xFF\xFE") || mapped->bytes().starts_with("\xFE\xFF")))
    return fail(error::kind::data, path.string(), "has a UTF-16 byte order mark; texts must be UTF-8",
                "convert it, for example with iconv -f UTF-16 -t UTF-8");
  return mapped;
}

std::string_view next_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  auto line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

namespace {

/// True for characters that a terminal may interpret: controls, line ends and directional formatting.
bool is_order(std::string_view character) {
  const auto byte = [&](std::size_t position) { return static_cast<unsigned char>(character[position]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  // U+200E, U+200F, U+2028 to U+202E, and U+2066 to U+2069
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  return (byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE))) ||
         (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);
}

}  // namespace

std::string shown(std::string_view line) {
  constexpr std::size_t longest = 60;  // characters
  if (line.empty()) return "an empty line";
  std::string text = "\"";
  for (std::size_t count = 0; count < longest && !line.empty(); ++count) {
    auto character = next_character(line);
    const bool readable = !character.empty();
    if (!readable) line.remove_prefix(1);
    if (character == "\t")
      text += "\\t";
    else
      text += readable && !is_order(character) ? character : "?";
  }
  return text + (line.empty() ? "\"" : "...\"");
}

}  // namespace furlong::scenarios
