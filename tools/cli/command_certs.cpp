// furlong certs
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/certs/listing.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/federation.hpp"
#include "tools/cli/figures_json.hpp"
#include "tools/cli/messages.hpp"
#include "tools/cli/run_end.hpp"

namespace furlong::tools {

namespace {

json to_json(const certs::listing& found) {
  json out = {{"certificates", json::array()}};
  for (const auto& one : found.rows) {
    json row = {{"tier", one.tier}, {"role", one.role}, {"name", one.name}};
    if (!one.clients.empty()) row["clients"] = one.clients;
    row["serial"] = one.serial;
    row["not_after"] = actors::tls::to_string(one.not_after);
    row["state"] = one.state;
    if (!one.hosts.empty()) row["hosts"] = one.hosts;
    out["certificates"].push_back(std::move(row));
  }
  out["notes"] = found.notes;
  out["problem"] = found.problem ? json(found.problem->text()) : json(nullptr);
  return out;
}

void print(const certs::listing& found) {
  fmt::print("{:<9} {:<11} {:>7} {:<21} {:<13} {}\n", "tier", "role", "serial", "not after", "state", "name");
  for (const auto& one : found.rows) {
    std::string name = one.clients.empty() ? one.name : one.name + ", clients " + one.clients;
    if (!one.hosts.empty()) name += fmt::format(", gateway at {}", fmt::join(one.hosts, " "));
    fmt::print("{:<9} {:<11} {:>7} {:<21} {:<13} {}\n", one.tier, one.role, one.serial,
               actors::tls::to_string(one.not_after), one.state, name);
  }
}

}  // namespace

int certs_init_command(const certs_init_options& options) {
  if (auto made = certs::pki::create(options.out, options.days); !made) return report_failure(made.error());
  fmt::print("{}: two authorities, for {} days. Keep the folder to yourself: its keys make certificates.\n",
             options.out.string(), options.days);
  return done;
}

int certs_issue_command(const certs_issue_options& options) {
  auto request = options.request;
  if (!options.clients.empty()) {
    const auto clients = read_clients(options.clients);
    if (!clients) return report_failure(clients.error());
    request.clients = *clients;
  }
  const auto from = certs::pki::open(options.pki);
  if (!from) return report_failure(from.error());
  const auto made = from->issue(request);
  if (!made) return report_failure(made.error());
  fmt::print("{}: {}, valid until {}\n", request.out.string(), fmt::join(made->common_names, ", "),
             actors::tls::to_string(made->not_after));
  if (!made->hosts.empty()) fmt::print("nodes may connect to it as {}\n", fmt::join(made->hosts, ", "));
  return done;
}

int certs_deny_command(const certs_deny_options& options) {
  const auto in = certs::pki::open(options.pki);
  if (!in) return report_failure(in.error());
  const auto outcome = in->deny(options.name);
  if (!outcome) return report_failure(outcome.error());
  for (const auto& one : outcome->added) fmt::print("denied {}\n", one);
  if (outcome->before > 0) fmt::print("denied before: {} certificates\n", outcome->before);
  for (const auto& folder : options.copy_to) {
    if (auto copied = in->copy_deny_list(folder); !copied) return report_failure(copied.error());
    fmt::print("{}: replaced\n", (folder / "deny.txt").string());
  }
  fmt::print(
      "It takes effect at the gateways that have it: copy {} to deny.txt in the --tls folder of each server and "
      "aggregator.\n",
      in->clients().deny().string());
  return done;
}

int certs_show_command(const certs_show_options& options) {
  const auto found = certs::list_certificates(options.place);
  if (!found) return report_failure(found.error());
  if (options.format == output_format::json)
    std::cout << json_text(to_json(*found)) << '\n';
  else
    print(*found);
  for (const auto& note : found->notes) std::cerr << "furlong: " << for_people(note) << '\n';
  return found->problem ? report_failure(*found->problem) : done;
}

}  // namespace furlong::tools
