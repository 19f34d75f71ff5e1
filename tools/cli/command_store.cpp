// furlong store
#include <algorithm>
#include <fmt/format.h>
#include <iostream>

#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"
#include "storage/rocks_store.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/kept_checkpoints.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

namespace {

enum class store_action : std::uint8_t { list, show, erase, verify };
struct store_options {
  store_action action = store_action::list;
  std::filesystem::path place;     ///< a run directory, or a store in it
  std::filesystem::path key_file;  ///< empty: the one that the run's scenario names, if any
  std::optional<std::uint32_t> client;
  output_format format = output_format::text;
};

/// The store of a run directory, or the path itself.
std::filesystem::path store_in(const std::filesystem::path& place) {
  return std::filesystem::exists(place / "private") ? place / "private" : place;
}

int list(storage::rocks_store& store, output_format format) {
  auto clients = store.list();
  if (!clients) return report_failure(clients.error());
  if (format == output_format::json) {
    json out = {{"shards", store.shards()}, {"clients", json::array()}};
    for (const auto& entry : *clients)
      out["clients"].push_back(
          {{"client", entry.client}, {"version", entry.version}, {"life", entry.life}, {"bytes", entry.bytes}});
    std::cout << json_text(out) << '\n';
    return done;
  }
  fmt::print("{:>10} {:>10} {:>6} {:>8}\n", "client", "version", "life", "bytes");
  for (const auto& entry : *clients)
    fmt::print("{:>10} {:>10} {:>6} {:>8}\n", entry.client, entry.version, entry.life, entry.bytes);
  fmt::print("{} clients in {} shards\n", clients->size(), store.shards());
  return done;
}

/// Reads a client's values.
result<models::private_parameters> values_of(storage::rocks_store& store, std::uint32_t client) {
  models::private_parameters own(store.layout());
  const auto found = store.load(client, own);
  if (!found) return tl::unexpected(found.error());
  if (!*found)
    return fail(error::kind::data, "client " + std::to_string(client), "has no private values here",
                "furlong store ls shows the clients that have");
  return own;
}

/// The values of a client; of all that have some, if none is named.
int show(storage::rocks_store& store, std::optional<std::uint32_t> client, output_format format) {
  std::vector<std::uint32_t> clients;
  if (client) {
    clients = {*client};
  } else {
    const auto listed = store.list();
    if (!listed) return report_failure(listed.error());
    for (const auto& entry : *listed) clients.push_back(entry.client);
  }
  const auto& layout = *store.layout();
  json shown = json::array();
  for (const auto number : clients) {
    const auto own = values_of(store, number);
    if (!own) return report_failure(own.error());
    if (format == output_format::text) {
      if (!client) fmt::print("client {}\n", number);
      for (std::size_t t = 0; t < layout.count(); ++t) {
        fmt::print("{} ({} x {}):\n", layout[t].name, layout[t].rows, layout[t].cols);
        for (const float value : own->tensor(t)) fmt::print("  {:g}", value);
        fmt::print("\n");
      }
      continue;
    }
    auto& out = shown.emplace_back(json{{"client", number}, {"tensors", json::object()}});
    for (std::size_t t = 0; t < layout.count(); ++t) {
      const auto values = own->tensor(t);
      out["tensors"][layout[t].name] = std::vector<float>(values.begin(), values.end());
    }
  }
  if (format == output_format::json) std::cout << json_text(client ? shown.front() : json{{"clients", shown}}) << '\n';
  return done;
}

/// What shared state keeps of an erased client, where the run's scenario is beside the store.
std::string erase_note(const std::filesystem::path& store) {
  const auto scenario = scenarios::parse_scenario(run_directory(store.parent_path()).scenario());
  return scenario ? scenario->settings.algorithm->traits.erase_note : std::string();
}

/// Erases a client from the store and from the kept checkpoints of its run.
int erase(storage::rocks_store& store, const store_options& options, const std::filesystem::path& key_file,
          const std::string& note) {
  const auto client = *options.client;
  const run_directory run(options.place);
  const bool of_run = run.is_of_run();
  auto erased = store.erase(client);
  if (!erased) return report_failure(erased.error());
  const auto dropped =
      of_run ? kept_checkpoints(run).drop(std::span(&client, 1), key_file) : result<std::size_t>(std::size_t{0});
  if (!dropped) return report_failure(dropped.error());
  const auto unlearn =
      of_run ? fmt::format("furlong replay {} --without {}", run.root().string(), client) : std::string();
  if (options.format == output_format::json) {
    json out = {{"client", client}, {"erased", *erased}, {"kept_checkpoints_removed", *dropped}};
    if (*erased && !note.empty()) out["note"] = note;
    if (of_run) out["unlearn"] = unlearn;
    std::cout << json_text(out) << '\n';
    return done;
  }
  fmt::print("client {}: {}\n", client, *erased ? "erased, no byte of its values remains" : "had no private values");
  if (*erased && !note.empty()) fmt::print("note: {}\n", note);
  if (*dropped > 0) fmt::print("{} kept checkpoints that had its values were removed\n", *dropped);
  if (of_run)
    fmt::print("if its updates are in the shared model, train it again without them:\n  {}\n", for_people(unlearn));
  return done;
}

int verify(storage::rocks_store& store, output_format format) {
  const auto problems = store.verify();
  if (format == output_format::json) {
    json out = {{"sound", problems.empty()}, {"problems", json::array()}};
    for (const auto& problem : problems) out["problems"].push_back(problem.text());
    std::cout << json_text(out) << '\n';
  } else {
    for (const auto& problem : problems) fmt::print("{}\n", problem.text());
    fmt::print("{}\n", problems.empty() ? "sound" : fmt::format("{} problems", problems.size()));
  }
  if (problems.empty()) return done;
  const auto damaged = [](const auto& problem) { return problem.what == error::kind::data; };
  return std::ranges::any_of(problems, damaged) ? data : failure;
}

/// The key of an encrypted store: the option's, or that of the scenario next to the store.
std::filesystem::path key_of(const store_options& options, const std::filesystem::path& store) {
  if (!options.key_file.empty()) return options.key_file;
  const auto scenario = scenarios::parse_scenario(run_directory(store.parent_path()).scenario());
  return scenario ? std::filesystem::path(scenario->settings.own->key_file) : std::filesystem::path();
}

int store_command(const store_options& options) {
  const auto folder = store_in(options.place);
  const auto key_file = key_of(options, folder);
  const auto access =
      options.action == store_action::erase ? storage::store_access::change : storage::store_access::read;
  auto store = storage::rocks_store::inspect(folder, access, key_file);
  if (!store) return report_failure(store.error());
  switch (options.action) {
    case store_action::list: return list(**store, options.format);
    case store_action::show: return show(**store, options.client, options.format);
    case store_action::erase: return erase(**store, options, key_file, erase_note(folder));
    case store_action::verify: return verify(**store, options.format);
  }
  return failure;
}

}  // namespace

void add_store(CLI::App& app, command& chosen) {
  auto* sub = app.add_subcommand("store", "look into a run's private store, or erase a client from it");
  sub->require_subcommand(1);
  struct action_line {
    const char* name;
    const char* description;
    store_action action;
    const char* client;  ///< what its option means; null: it takes none
  };
  for (const auto& line :
       {action_line{"ls", "list the clients that have private values", store_action::list, nullptr},
        action_line{"show", "show the values of a client, or of all", store_action::show,
                    "its number; default: all that have values"},
        action_line{"erase", "erase a client: no byte of its values remains", store_action::erase, "its number"},
        action_line{"verify", "check every record and every file", store_action::verify, nullptr}}) {
    const auto [act, options] = add_command(*sub, chosen, line.name, line.description, store_command);
    options->action = line.action;
    act->add_option("place", options->place, "run directory or store")->required()->option_text("RUN-OR-STORE");
    act->add_option("--key-file", options->key_file, "key of an encrypted store; default: the run's private.key_file")
        ->option_text("FILE");
    if (line.client != nullptr)
      act->add_option("--client", options->client, line.client)
          ->required(line.action == store_action::erase)
          ->transform(client_number())
          ->option_text("ID");
    add_format(act, options->format);
  }
}

}  // namespace furlong::tools
