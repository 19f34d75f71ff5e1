// furlong certs
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/certs/pki.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/federation.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/figures_json.hpp"
#include "tools/runs/messages.hpp"

namespace furlong::tools {

namespace {

struct certs_init_options {
  std::filesystem::path out;
  int days = certs::authority_days;
};

struct certs_issue_options {
  std::filesystem::path pki;
  certs::issue_request request;
  std::string clients;  ///< "FIRST-LAST", or empty
};

struct certs_deny_options {
  std::filesystem::path pki;
  std::string name;
  std::vector<std::filesystem::path> copy_to;  ///< folders of servers and aggregators
};

struct certs_show_options {
  std::filesystem::path place;
  output_format format = output_format::text;
};

const std::map<std::string, certs::role> certificate_roles = {
    {"server", certs::role::server}, {"aggregator", certs::role::aggregator}, {"node", certs::role::node}};

json to_json(const certs::listing& found) {
  json out = {{"certificates", json::array()}};
  for (const auto& entry : found.rows) {
    json row = {{"tier", entry.tier}, {"role", entry.role}, {"name", entry.name}};
    if (!entry.clients.empty()) row["clients"] = entry.clients;
    row["serial"] = entry.serial;
    row["not_after"] = actors::tls::to_string(entry.not_after);
    row["state"] = entry.state;
    if (!entry.hosts.empty()) row["hosts"] = entry.hosts;
    out["certificates"].push_back(std::move(row));
  }
  out["notes"] = found.notes;
  out["problem"] = found.problem ? json(found.problem->text()) : json(nullptr);
  return out;
}

void print(const certs::listing& found) {
  fmt::print("{:<9} {:<11} {:>7} {:<21} {:<13} {}\n", "tier", "role", "serial", "not after", "state", "name");
  for (const auto& row : found.rows) {
    std::string name = row.clients.empty() ? row.name : row.name + ", clients " + row.clients;
    if (!row.hosts.empty())
      name +=
          fmt::format(", {} at {}", row.tier == "operator" ? "operator port" : "gateway", fmt::join(row.hosts, " "));
    fmt::print("{:<9} {:<11} {:>7} {:<21} {:<13} {}\n", row.tier, row.role, row.serial,
               actors::tls::to_string(row.not_after), row.state, name);
  }
}

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
  const auto authorities = certs::pki::open(options.pki);
  if (!authorities) return report_failure(authorities.error());
  const auto made = authorities->issue(request);
  if (!made) return report_failure(made.error());
  fmt::print("{}: {}, valid until {}\n", request.out.string(), fmt::join(made->common_names, ", "),
             actors::tls::to_string(made->not_after));
  if (!made->hosts.empty()) fmt::print("nodes and aggregators may connect to it as {}\n", fmt::join(made->hosts, ", "));
  return done;
}

int certs_deny_command(const certs_deny_options& options) {
  const auto authorities = certs::pki::open(options.pki);
  if (!authorities) return report_failure(authorities.error());
  const auto outcome = authorities->deny(options.name);
  if (!outcome) return report_failure(outcome.error());
  for (const auto& certificate : outcome->added) fmt::print("denied {}\n", certificate);
  if (outcome->before > 0) fmt::print("denied before: {} certificates\n", outcome->before);
  for (const auto& folder : options.copy_to) {
    if (auto copied = authorities->copy_deny_list(folder); !copied) return report_failure(copied.error());
    fmt::print("{}: replaced\n", (folder / "deny.txt").string());
  }
  fmt::print(
      "It takes effect at the gateways that have it: copy {} to deny.txt in the --tls folder of each server and "
      "aggregator.\n",
      authorities->clients().deny().string());
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

void add_certs_issue(CLI::App& group, command& chosen) {
  const auto [sub, options] =
      add_command(group, chosen, "issue", "make the folder that --tls of a process names", certs_issue_command);
  auto& request = options->request;
  sub->add_option("--pki", options->pki, "the authorities")->required()->option_text("PKI");
  sub->add_option("--role", request.as, "of the process")
      ->required()
      ->transform(one_of(certificate_roles))
      ->option_text("server|aggregator|node");
  sub->add_option("--name", request.name, "of the process: letters, digits and - _ .")->required()->option_text("NAME");
  sub->add_option("--clients", options->clients, "node: the clients that it hosts")->option_text("FIRST-LAST");
  repeated(sub->add_option("--host", request.hosts,
                           "server, aggregator: name or address that nodes and aggregators connect to; may be "
                           "given often (default localhost and 127.0.0.1)"),
           "HOST");
  sub->add_option("--days", request.days, "how long it is valid (default 365)")->option_text("N");
  sub->add_option("--out", request.out, "the folder to make")->required()->option_text("DIR");
}

}  // namespace

void add_certs(CLI::App& app, command& chosen) {
  auto* group = app.add_subcommand("certs", "make, deny and show the certificates of a federation");
  group->require_subcommand(1);
  const auto [init, made] = add_command(
      *group, chosen, "init", "make the authorities: one of the operator, one of the nodes", certs_init_command);
  init->add_option("--out", made->out, "the folder to make")->required()->option_text("PKI");
  init->add_option("--days", made->days, "how long they are valid (default 3650)")->option_text("N");

  add_certs_issue(*group, chosen);

  const auto [deny, denied] =
      add_command(*group, chosen, "deny", "reject a node: all certificates that were issued to it", certs_deny_command);
  deny->add_option("--pki", denied->pki, "the authorities")->required()->option_text("PKI");
  deny->add_option("name", denied->name, "of the node")->required()->option_text("NAME");
  repeated(deny->add_option("--copy-to", denied->copy_to, "folder of a server or aggregator; may be given often"),
           "DIR");

  const auto [show, shown] =
      add_command(*group, chosen, "show", "list certificates and until when they are valid", certs_show_command);
  show->add_option("place", shown->place, "the authorities, or a folder that was issued")
      ->required()
      ->option_text("PKI-OR-DIR");
  add_format(show, shown->format);
}

}  // namespace furlong::tools
