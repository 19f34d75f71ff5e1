#include "actors/tls/pem_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/pemerr.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/key_file.hpp"

namespace furlong::actors::tls {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_pem_bytes = std::size_t{1} << 20U;

/// A text that is erased from memory by the destructor.
struct secret {
  std::string text;
  explicit secret(std::string from) : text(std::move(from)) {}
  secret(const secret&) = delete;
  secret& operator=(const secret&) = delete;
  ~secret() { OPENSSL_cleanse(text.data(), text.size()); }
};

struct descriptor {
  int number;
  explicit descriptor(int n) : number(n) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (number >= 0) ::close(number);
  }
};

tl::unexpected<error> unreadable(const fs::path& file, const std::string& doing) {
  const int code = errno;
  return fail(error::kind::data, file.string(), "cannot " + doing + ": " + std::strerror(code),
              code == EACCES ? "let the user that runs furlong read it" : "check the path");
}

/// Prevents OpenSSL from prompting on the terminal.
int refuse_passphrase(char*, int, int, void*) { return -1; }

bio_ptr memory_of(const std::string& text) {
  return bio_ptr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::size_t blocks_in(std::string_view text) {
  constexpr std::string_view begin = "-----BEGIN ";
  std::size_t count = 0;
  for (auto at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at + 1)) ++count;
  return count;
}

/// True if the last failure was the end of the PEM data.
bool at_end() {
  const auto code = ERR_peek_last_error();
  return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}

/// Whether private and public half of a key match; comparing a key with a certificate only uses the public half.
bool is_whole(EVP_PKEY& key) {
  const key_context_ptr context(EVP_PKEY_CTX_new_from_pkey(nullptr, &key, nullptr));
  return context != nullptr && EVP_PKEY_pairwise_check(context.get()) == 1;
}

}  // namespace

result<std::string> read_text_file(const fs::path& file, std::size_t most) {
  const descriptor open(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (open.number < 0 || ::fstat(open.number, &facts) != 0) return unreadable(file, "open the file");
  if (!S_ISREG(facts.st_mode)) return fail(error::kind::data, file.string(), "is not a regular file", "check the path");
  // One byte more than permitted, to detect a file that grows meanwhile.
  std::string content(std::min(most, static_cast<std::size_t>(facts.st_size)) + 1, '\0');
  std::size_t have = 0;
  while (have < content.size()) {
    const auto got = ::read(open.number, content.data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(file, "read the file");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  if (have > most)
    return fail(error::kind::data, file.string(), "is larger than " + std::to_string(most) + " bytes",
                "check the path");
  content.resize(have);
  return content;
}

result<std::vector<x509_ptr>> read_certificates(const fs::path& file) {
  const auto text = read_text_file(file, most_pem_bytes);
  if (!text) return tl::unexpected(text.error());
  const auto from = memory_of(*text);
  std::vector<x509_ptr> found;
  ERR_clear_error();
  while (auto* one = PEM_read_bio_X509(from.get(), nullptr, refuse_passphrase, nullptr)) found.emplace_back(one);
  if (!at_end())
    return fail(error::kind::data, file.string(), "holds a damaged certificate: " + openssl_reason(),
                "copy the file again");
  ERR_clear_error();
  if (found.empty()) return fail(error::kind::data, file.string(), "holds no certificate", "copy the file again");
  if (blocks_in(*text) != found.size())
    return fail(error::kind::data, file.string(), "holds something other than certificates",
                "put a private key into a file of its own");
  return found;
}

result<key_ptr> read_private_key(const fs::path& file) {
  if (auto fine = storage::check_secret_file(file); !fine) return tl::unexpected(fine.error());
  auto read = read_text_file(file, most_pem_bytes);
  if (!read) return tl::unexpected(read.error());
  const secret text(std::move(*read));
  if (text.text.find("PRIVATE KEY-----") == std::string::npos)
    return fail(error::kind::data, file.string(), "holds no private key", "copy the file again");
  if (text.text.find("ENCRYPTED") != std::string::npos)
    return fail(error::kind::data, file.string(), "the key is encrypted, and processes start unattended",
                "store it decrypted, readable by its owner only");
  const auto from = memory_of(text.text);
  ERR_clear_error();
  key_ptr key(PEM_read_bio_PrivateKey(from.get(), nullptr, refuse_passphrase, nullptr));
  if (!key)
    return fail(error::kind::data, file.string(), "holds a damaged key: " + openssl_reason(), "copy the file again");
  if (!is_whole(*key)) {
    ERR_clear_error();
    return fail(error::kind::data, file.string(), "the private and the public half of the key do not match",
                "copy the file again");
  }
  return key;
}

}  // namespace furlong::actors::tls
