#include "storage/key_file.hpp"

#include <cerrno>
#include <cstring>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <span>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/detail/files.hpp"
#include "storage/detail/keys.hpp"

namespace furlong::storage {

result<void> create_key_file(const std::filesystem::path& file) {
  detail::secret_bytes key;
  if (RAND_priv_bytes(key.data(), static_cast<int>(key.size())) != 1)
    return fail(error::kind::runtime, file.string(), "the system provides no random numbers for a key");
  std::string text;
  constexpr std::string_view digits = "0123456789abcdef";
  text.reserve(2 * key.size() + 1);
  for (const auto byte : key) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  text += '\n';
  auto written = detail::create_private_file(file, std::as_bytes(std::span(text)));
  OPENSSL_cleanse(text.data(), text.size());
  return written;
}

result<void> check_secret_file(const std::filesystem::path& file) {
  const auto refuse = [&](const char* why, std::string fix) {
    return fail(error::kind::data, file.string(), why, std::move(fix));
  };
  struct stat facts {};
  if (::lstat(file.c_str(), &facts) != 0)
    return fail(error::kind::data, file.string(), std::string("cannot open the key file: ") + std::strerror(errno),
                "check the path");
  if (S_ISLNK(facts.st_mode))
    return refuse("is a symbolic link: the owner of its folder can redirect it to another key",
                  "name the target of the link, or copy it here");
  if (!S_ISREG(facts.st_mode)) return refuse("is not a regular file", "name a key file");
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0)
    return refuse("belongs to another user, who can replace the key",
                  "chown " + std::to_string(::geteuid()) + " " + file.string());
  if ((facts.st_mode & 077U) != 0)
    return refuse("users other than its owner can access this key", "chmod 600 " + file.string());
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  struct stat around {};
  if (::stat(folder.c_str(), &around) == 0 && (around.st_mode & 002U) != 0 && (around.st_mode & S_ISVTX) == 0)
    return refuse("every user can write to its folder and replace the key", "chmod o-w " + folder.string());
  return {};
}

}  // namespace furlong::storage
