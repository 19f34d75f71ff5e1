#include "tools/cli/federation.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include "tools/dashboard/dashboard_server.hpp"
#include "tools/runs/messages.hpp"
#include "wire/control.hpp"

namespace furlong::tools {

namespace {

/// The wildcard addresses: valid for listening, not for connecting.
bool is_any_address(const std::string& host) {
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return four.s_addr == htonl(INADDR_ANY);
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_UNSPECIFIED(&six);
}

void print_notes(const std::vector<std::string>& notes) {
  for (const auto& note : notes) fmt::print(stderr, "note: {}\n", note);
}

}  // namespace

result<void> check_open_files() {
  constexpr rlim_t least = 64;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= least) return {};
  return fail(error::kind::runtime, "open files",
              fmt::format("the limit (ulimit -n) is {}, and a process of a federation needs {} at least",
                          files.rlim_cur, least),
              "raise it");
}

result<federated::client_range> read_clients(const std::string& text) {
  auto read = actors::tls::parse_client_range(text);
  if (!read) return fail(error::kind::usage, "--clients", read.error().text());
  return read;
}

result<void> check_name(const std::string& name) {
  if (name.size() <= wire::longest_name && for_people(name) == name) return {};
  return fail(error::kind::usage, "--name",
              fmt::format("has control characters, or more than {} bytes", wire::longest_name),
              "write letters, digits and - _ .");
}

result<actors::net::host_port> read_address(const char* option, const std::string& text) {
  auto read = actors::net::parse_address(text);
  if (!read) return fail(error::kind::usage, option, read.error().text());
  return read;
}

result<void> check_advertised(const char* option, const std::string& text, const actors::net::host_port& listening) {
  const auto address = text.empty() ? result<actors::net::host_port>(listening) : read_address(option, text);
  if (!address) return tl::unexpected(address.error());
  if (!is_any_address(address->host)) return {};
  return fail(error::kind::usage, option,
              (text.empty() ? "is missing: others would be sent to " : "sends others to ") + address->text() +
                  ", which names no machine",
              "name the address by which they reach this one");
}

result<void> check_trust(const trust_options& trust, const std::vector<actors::net::host_port>& addresses) {
  if (!trust.tls.empty() && trust.insecure)
    return fail(error::kind::usage, "--insecure", "cannot be combined with --tls", "remove one of them");
  if (!trust.tls.empty()) return {};
  if (!trust.insecure)
    return fail(error::kind::usage, "--tls", "is missing",
                "make certificates with `furlong certs`, or try things out on one machine with --insecure");
  for (const auto& address : addresses)
    if (!dashboard::is_loopback(address.host) && !trust.i_know)
      return fail(
          error::kind::usage, "--insecure",
          address.text() + " is not a loopback address: connections would be neither encrypted nor authenticated",
          "use --tls, or add --i-know");
  return {};
}

result<std::optional<actors::tls::operator_credentials>> load_operator(const trust_options& trust) {
  if (trust.tls.empty()) return std::optional<actors::tls::operator_credentials>();
  auto loaded = actors::tls::load_operator_credentials(trust.tls);
  if (!loaded) return tl::unexpected(loaded.error());
  print_notes(loaded->notes);
  return std::optional(std::move(*loaded));
}

result<std::optional<actors::tls::node_credentials>> load_node(const trust_options& trust) {
  if (trust.tls.empty()) return std::optional<actors::tls::node_credentials>();
  auto loaded = actors::tls::load_node_credentials(trust.tls);
  if (!loaded) return tl::unexpected(loaded.error());
  print_notes(loaded->notes);
  return std::optional(std::move(*loaded));
}

std::vector<actors::tls::tier_credentials> tiers_of(
    const std::optional<actors::tls::operator_credentials>& credentials) {
  if (!credentials) return {};
  return {credentials->operator_tier, credentials->gateway};
}

std::vector<actors::tls::tier_credentials> tiers_of(const std::optional<actors::tls::node_credentials>& credentials) {
  if (!credentials) return {};
  return {credentials->tier};
}

void log_to_stderr(const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>("furlong", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  logger->set_formatter(log_format());
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace furlong::tools
