#include "tools/certs/index.hpp"

#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "actors/tls/pem_files.hpp"

namespace furlong::tools::certs {

namespace tls = actors::tls;
using json = nlohmann::ordered_json;

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30U;

std::optional<tls::instant> parse_instant(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return tls::instant(std::chrono::seconds(::timegm(&parts)));
}

std::optional<issued> parse_line(const std::string& line) {
  const auto from = json::parse(line, nullptr, false);
  if (!from.is_object()) return std::nullopt;
  const auto text = [&](const char* key) {
    const auto at = from.find(key);
    return at != from.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  const auto serial = from.find("serial");
  const auto until = parse_instant(text("not_after"));
  if (serial == from.end() || !serial->is_number_unsigned() || !until) return std::nullopt;
  issued one{serial->get<std::uint64_t>(), text("name"), text("role"), std::nullopt, *until};
  if (const auto clients = tls::parse_client_range(text("clients"))) one.clients = *clients;
  if (!tls::is_name(one.name) || one.role.empty() || one.clients.has_value() != (one.role == "node"))
    return std::nullopt;
  return one;
}

}  // namespace

std::string issued::common_name() const { return clients ? tls::to_common_name({name, *clients, serial}) : name; }

std::string to_line(const issued& one) {
  json line = {{"serial", one.serial}, {"name", one.name}, {"role", one.role}};
  line["clients"] = one.clients ? json(tls::to_string(*one.clients)) : json(nullptr);
  line["not_after"] = tls::to_string(one.not_after);
  return line.dump() + '\n';
}

result<std::vector<issued>> read_index(const std::filesystem::path& file) {
  const auto text = tls::read_text_file(file, most_bytes);
  if (!text) return tl::unexpected(text.error());
  std::vector<issued> all;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const auto one = parse_line(line);
    if (!one)
      return fail(error::kind::data, file.string() + ", line " + std::to_string(all.size() + 1),
                  "is not a line of an index of certificates", "restore the file from a copy");
    all.push_back(*one);
  }
  return all;
}

}  // namespace furlong::tools::certs
