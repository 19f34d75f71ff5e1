#include "actors/aggregator_transport/tls_guard.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <vector>

#include "actors/aggregator_transport/sockets.hpp"

namespace furlong::actors::aggregator_transport {

namespace {

struct free_certificate {
  void operator()(X509* one) const { X509_free(one); }
};
using certificate_pointer = std::unique_ptr<X509, free_certificate>;

using clock = std::chrono::steady_clock;

/// A guarded connection, from the start of its handshake.
struct connection_record {
  std::string address;  ///< of the peer
  std::string name;     ///< of the peer, after the handshake
  clock::time_point begin;
  bool accepted = false;  ///< the peer connected
  bool done = false;
  bool unwanted = false;  ///< to be ended by the thread that uses it: for other threads its socket may have been reused
};

struct failure_record {
  std::string address;  ///< of the peer
  std::string reason;
  clock::time_point at;
};

/// Shared by all threads. Never destroyed, because connections may be freed at the end of the process.
struct guard {
  std::mutex mutex;
  std::vector<certificate_pointer> certificates;
  std::chrono::milliseconds handshake{0};
  std::map<const SSL*, connection_record> connections;
  std::deque<failure_record> failures;  ///< the latest last

  static guard& all() {
    static auto* const one = new guard;
    return *one;
  }
};

/// Number of failures that are kept.
constexpr std::size_t failures_kept = 64;

std::string peer_name(const SSL* connection) {
  const X509* certificate = SSL_get0_peer_certificate(connection);
  if (certificate == nullptr) return {};
  char text[256] = {};
  const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof(text));
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
}

void begin_handshake(const SSL* connection) {
  auto& all = guard::all();
  const std::scoped_lock lock(all.mutex);
  // Messages after the handshake also count as a handshake.
  const auto [entry, is_new] = all.connections.try_emplace(connection);
  if (!is_new) return;
  entry->second.address = peer_address(SSL_get_fd(connection));
  entry->second.begin = clock::now();
  entry->second.accepted = SSL_is_server(connection) == 1;
  std::size_t waiting = 0;
  connection_record* oldest = nullptr;
  for (auto& [unused, one] : all.connections) {
    if (!one.accepted || one.done || one.unwanted) continue;
    ++waiting;
    if (oldest == nullptr || one.begin < oldest->begin) oldest = &one;
  }
  if (waiting > handshakes_at_once && oldest != nullptr) oldest->unwanted = true;
}

void end_handshake(const SSL* connection) {
  auto name = peer_name(connection);
  const std::scoped_lock lock(guard::all().mutex);
  auto& record = guard::all().connections[connection];
  record.name = std::move(name);
  record.done = true;
}

/// True if the handshake could not continue for lack of data.
void wait_for_handshake(const SSL* connection) {
  auto& all = guard::all();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.connections.find(connection);
  if (found == all.connections.end() || found->second.done) return;
  // CAF detects the close and frees it.
  if (found->second.unwanted || clock::now() - found->second.begin > all.handshake)
    ::shutdown(SSL_get_fd(connection), SHUT_RDWR);
}

/// @param alert the peer's alert; empty: use OpenSSL's queue
void note_failure(const SSL* connection, std::string alert) {
  auto reason = std::move(alert);
  if (const long verified = SSL_get_verify_result(connection); reason.empty() && verified != X509_V_OK)
    reason = std::string("its certificate: ") + X509_verify_cert_error_string(verified);
  if (const char* text = ERR_reason_error_string(ERR_peek_last_error()); reason.empty() && text != nullptr)
    reason = text;
  auto& all = guard::all();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.connections.find(connection);
  if (reason.empty() || found == all.connections.end()) return;
  all.failures.push_back({found->second.address, std::move(reason), clock::now()});
  if (all.failures.size() > failures_kept) all.failures.pop_front();
}

bool presents_guarded(const SSL* connection) {
  const X509* presented = SSL_get_certificate(connection);
  if (presented == nullptr) return false;
  const std::scoped_lock lock(guard::all().mutex);
  return std::ranges::any_of(guard::all().certificates,
                             [&](const auto& one) { return X509_cmp(one.get(), presented) == 0; });
}

void on_free(void* ending, void* kind, CRYPTO_EX_DATA*, int, long, void*);

/// Where a connection has its kind.
int kind_index() {
  static const int index = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nullptr, nullptr, nullptr, on_free);
  return index;
}

enum class connection_kind : std::uint8_t { guarded, other };
constexpr std::array kinds{connection_kind::guarded, connection_kind::other};

/// At the first call of a connection, which is at the start of its handshake, a guarded one is set up.
bool is_guarded(const SSL* connection) {
  if (const void* known = SSL_get_ex_data(connection, kind_index()); known != nullptr)
    return *static_cast<const connection_kind*>(known) == connection_kind::guarded;
  auto* mine = const_cast<SSL*>(connection);  // callbacks are given what SSL_new() made
  const bool guarded = presents_guarded(connection);
  SSL_set_ex_data(mine, kind_index(), const_cast<connection_kind*>(&kinds.at(guarded ? 0 : 1)));
  if (guarded) {
    SSL_set_min_proto_version(mine, TLS1_3_VERSION);
    // A killed peer would leave an error in the queue; CAF detects the end in either case.
    SSL_set_options(mine, SSL_OP_IGNORE_UNEXPECTED_EOF);
  }
  return guarded;
}

/// Called during a handshake, and for later alerts.
void on_progress(const SSL* connection, int where, int outcome) {
  if (!is_guarded(connection)) return;
  if ((where & SSL_CB_HANDSHAKE_START) != 0) begin_handshake(connection);
  if ((where & SSL_CB_HANDSHAKE_DONE) != 0) end_handshake(connection);
  const bool stopped = (where & SSL_CB_EXIT) != 0 && outcome <= 0;
  const bool alert = (where & SSL_CB_ALERT) != 0;
  if (stopped) wait_for_handshake(connection);
  if (alert && (where & SSL_CB_READ) != 0 && (outcome & 0xff) != SSL_AD_CLOSE_NOTIFY)
    note_failure(connection, std::string("refused by the other side: ") + SSL_alert_desc_string_long(outcome));
  if ((stopped || alert) && ERR_peek_error() != 0) {
    note_failure(connection, {});
    // CAF only checks for failure, which it still detects.
    ERR_clear_error();
  }
}

/// Of a context, for all of its connections: from version 3.2 on OpenSSL has not made a connection yet when it calls
/// back that there is a new one.
void on_new_context(void* made, void*, CRYPTO_EX_DATA*, int, long, void*) {
  SSL_CTX_set_info_callback(static_cast<SSL_CTX*>(made), on_progress);
}

void on_free(void* ending, void* kind, CRYPTO_EX_DATA*, int, long, void*) {
  if (kind == nullptr || *static_cast<const connection_kind*>(kind) != connection_kind::guarded) return;
  ERR_clear_error();
  const std::scoped_lock lock(guard::all().mutex);
  guard::all().connections.erase(static_cast<const SSL*>(ending));
}

}  // namespace

result<void> guard_connections(const std::filesystem::path& certificate, std::chrono::milliseconds handshake) {
  certificate_pointer read;
  if (std::FILE* in = std::fopen(certificate.c_str(), "r"); in != nullptr) {
    read.reset(PEM_read_X509(in, nullptr, nullptr, nullptr));
    (void)std::fclose(in);
  }
  ERR_clear_error();
  if (!read) return fail(error::kind::data, certificate.string(), "contains no certificate");
  static std::once_flag once;
  std::call_once(once, [] {
    static_cast<void>(kind_index());
    CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_CTX, 0, nullptr, on_new_context, nullptr, nullptr);
  });
  const std::scoped_lock lock(guard::all().mutex);
  guard::all().handshake = handshake;
  auto& known = guard::all().certificates;
  if (std::ranges::none_of(known, [&](const auto& one) { return X509_cmp(one.get(), read.get()) == 0; }))
    known.push_back(std::move(read));
  return {};
}

std::string certified_name(const std::string& address) {
  const std::scoped_lock lock(guard::all().mutex);
  for (const auto& [connection, record] : guard::all().connections)
    if (record.done && record.address == address) return record.name;
  return {};
}

std::string handshake_failure(const std::string& address, clock::time_point since) {
  const std::scoped_lock lock(guard::all().mutex);
  const auto& failures = guard::all().failures;
  const auto last = std::find_if(failures.rbegin(), failures.rend(),
                                 [&](const auto& one) { return one.address == address && one.at >= since; });
  return last == failures.rend() ? std::string() : last->reason;
}

}  // namespace furlong::actors::aggregator_transport
