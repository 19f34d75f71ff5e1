#include "tools/runs/node_store.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "federated/client/client_work.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"
#include "storage/confirmed_store.hpp"
#include "storage/durable_folder.hpp"
#include "storage/memory_store.hpp"
#include "storage/rocks_store.hpp"
#include "tools/runs/run_directory.hpp"
#include "tools/runs/run_start.hpp"

namespace furlong::tools {

using federated::client_range;
using federated::store_claim;

namespace {

/// A run that restarts from nothing keeps its id: values of the earlier start must not be mistaken for values of this
/// one. Called before the store is opened for the run, which may invalidate them permanently.
result<void> check_start(const federated::experiment& experiment, const std::filesystem::path& folder) {
  const auto store =
      storage::rocks_store::inspect(folder, storage::store_access::read, experiment.settings.own->key_file);
  if (!store) return tl::unexpected(store.error());
  if ((*store)->run() != experiment.run) return {};  // opening it gives a better reason
  const auto values = (*store)->list();
  if (!values) return tl::unexpected(values.error());
  std::size_t pending = 0;
  if (auto counted = (*store)->visit_pending([&](const auto&, const auto&) { ++pending; }); !counted) return counted;
  if (values->empty() && pending == 0) return {};
  return fail(error::kind::usage, folder.string(),
              "has the private values of an earlier start of this run, and the server has started it from nothing",
              "name another --store, or remove this folder");
}

/// The training part depends on all ratings of a client: with other data, some test ratings would be trained on, and
/// the scores would be too high.
result<void> check_data(const node_record& before, const node_place& place) {
  if (before.data_sha256 == place.data.sha256) return {};
  if (place.accept_changed_data) {
    spdlog::warn(
        "the data have changed since this node first took part: they are split again, and test examples "
        "may now be used for training");
    return {};
  }
  return fail(error::kind::data, place.folder.string(),
              "the data differ from those that this node first took part with: the content of " + place.data.place +
                  " has changed, and ratings that were for testing might be trained on",
              "restore the data, or split them again with --accept-changed-data");
}

/// A server folder restored from a copy does not know later versions: private values from that time belong to a model
/// that no longer exists, and may have replaced those that match the copy's model.
result<bool> values_are_void(const node_record& before, const federated::protocol::welcome& got,
                             const node_place& place) {
  if (got.history.knows(before.life)) return false;
  if (place.accept_state_loss) return true;
  return fail(
      error::kind::data, place.folder.string(),
      "the server does not know the part of the run that this node served last: its folder was restored "
      "from an earlier copy",
      "restore the server's folder and every --store from the same copy, or let this node's clients start again "
      "with --accept-state-loss");
}

/// Empties a store's folder, which may be a mount point. What clients have helped to open stays known.
result<void> clear(const std::filesystem::path& folder) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    if (!failed && entry.path().filename() != "lost+found" &&
        entry.path() != storage::confirmed_store::place_in(folder))
      std::filesystem::remove_all(entry.path(), failed);
  if (failed) return fail(error::kind::runtime, folder.string(), "cannot be emptied: " + failed.message());
  spdlog::warn("{}: emptied; the clients of this node start from initial values", folder.string());
  return {};
}

store_claim claim_of(const node_record& record) { return {record.store, record.openings, record.served, false}; }

/// A store with values of other clients was given to the wrong node.
result<void> check_clients(storage::rocks_store& store, const std::filesystem::path& folder,
                           const client_range& clients) {
  const auto values = store.list();
  if (!values) return tl::unexpected(values.error());
  const auto stranger =
      std::ranges::find_if(*values, [&](const auto& value) { return !clients.contains(value.client); });
  if (stranger == values->end()) return {};
  return fail(error::kind::usage, folder.string(),
              "has the private values of client " + std::to_string(stranger->client) +
                  ", which is not among the clients " + std::to_string(clients.first) + " to " +
                  std::to_string(clients.last) + " of this node",
              "name the --store of these clients, or correct --clients; what is of no use any more can be removed with "
              "`furlong store erase`");
}

/// node.json and the store are copied and restored together: a record of a missing or older store would be wrong.
result<void> check_fits(const node_record& record, const federated::store_save& last,
                        const std::filesystem::path& folder) {
  if (record.store == 0) return {};
  constexpr auto remedy =
      "restore all of the folder from one copy, or remove it and let this node's clients start again with "
      "--accept-state-loss";
  if (record.store != last.store)
    return fail(error::kind::data, folder.string(),
                "its node.json belongs to another private store than the one next to it", remedy);
  if (last.version < record.served)
    return fail(error::kind::data, folder.string(),
                "the private store is older than its node.json: it was last saved at version " +
                    std::to_string(last.version) + ", and the node has served up to version " +
                    std::to_string(record.served),
                remedy);
  return {};
}

/// True if a folder is free, or was used by a node.
result<void> check_folder(const std::filesystem::path& folder, bool has_record) {
  if (has_record || storage::rocks_store::is_in(folder) || storage::rocks_store::is_vacant(folder)) return {};
  return fail(error::kind::usage, folder.string(), "is not empty, and has no private store",
              "name a new or empty folder with --store, or the one that this node had before");
}

/// Opens the store. `same_start`: the folder was used for this start of the run.
result<std::shared_ptr<federated::private_store>> open_values(const federated::experiment& experiment,
                                                              const federated::protocol::welcome& got,
                                                              const node_place& place, bool same_start) {
  const bool there = storage::rocks_store::is_in(place.folder);
  if (!experiment.settings.algorithm->traits.keeps_state) {
    if (there)
      return fail(error::kind::usage, place.folder.string(),
                  "has a private store, and this run keeps no private values", "name another --store");
    return std::make_shared<storage::memory_store>(experiment.parts.private_);  // stays empty
  }
  if (storage::rocks_store::is_headless(place.folder)) {
    if (!place.accept_state_loss)
      return fail(error::kind::data, place.folder.string(),
                  "has shards of a private store, but its store.furlong is missing",
                  "restore the folder from a copy, or let this node's clients start again with --accept-state-loss");
    if (auto emptied = clear(place.folder); !emptied) return tl::unexpected(emptied.error());
  }
  if (there && !same_start)
    if (auto same = check_start(experiment, place.folder); !same) return tl::unexpected(same.error());
  auto values =
      open_private_store(experiment, place.folder, got.history, place.clients.last - place.clients.first + 1, true, {});
  if (!values) return tl::unexpected(values.error());
  return std::shared_ptr<federated::private_store>(std::move(*values));
}

/// What this node's clients have helped to open, under secure aggregation.
result<federated::confirmed_sums> open_confirmed(const federated::experiment& experiment, std::uint64_t start_id,
                                                 const node_place& place) {
  if (!experiment.settings.privacy->secure_aggregation) return {};
  // Not by the terms: a run that is resumed with other settings has updates as before.
  sha256_stream run;
  run.add(place.described_run);
  auto store = storage::confirmed_store::open(place.folder, run.finish(), start_id);
  if (!store) return tl::unexpected(store.error());
  auto lists = (*store)->read();
  if (!lists) return tl::unexpected(lists.error());
  const std::shared_ptr<storage::confirmed_store> kept = std::move(*store);
  return federated::confirmed_sums{std::move(*lists), [kept](auto sums) { return kept->add(sums); }};
}

}  // namespace

result<store_claim> check_node_store(const std::filesystem::path& folder, const std::filesystem::path& key_file,
                                     const client_range& clients) {
  const auto record = read_node_record(folder);
  if (!record) return tl::unexpected(record.error());
  if (!storage::rocks_store::is_in(folder)) return store_claim{};
  {  // no other process uses it
    const auto opened = storage::rocks_store::inspect(folder, storage::store_access::change, key_file);
    if (!opened) return tl::unexpected(opened.error());
  }
  const auto opened = storage::rocks_store::inspect(folder, storage::store_access::read, key_file);
  if (!opened) return tl::unexpected(opened.error());
  if (*record)
    if (auto fits = check_fits(**record, (*opened)->last_save(), folder); !fits) return tl::unexpected(fits.error());
  // Otherwise clients of a damaged shard would fail one by one while the run continues without them.
  if (auto sound = (*opened)->check_shards(); !sound) return tl::unexpected(sound.error());
  if (!*record || (*record)->clients != clients)
    if (auto own = check_clients(**opened, folder, clients); !own) return tl::unexpected(own.error());
  return *record ? claim_of(**record) : store_claim{};
}

result<node_store> open_node_store(const federated::experiment& experiment, const federated::protocol::welcome& got,
                                   const node_place& place) {
  const auto before = read_node_record(place.folder);
  if (!before) return tl::unexpected(before.error());
  if (auto fit = check_folder(place.folder, before->has_value()); !fit) return tl::unexpected(fit.error());
  const bool stateful = experiment.settings.algorithm->traits.keeps_state;
  const bool same_start = *before && (*before)->start_id == got.start_id;
  if (same_start)
    if (auto same = check_data(**before, place); !same) return tl::unexpected(same.error());
  if (same_start)
    if (auto same = check_same_code(place.code, (*before)->code, place.folder, place.change); !same)
      return tl::unexpected(same.error());
  if (same_start && stateful) {
    const auto over = values_are_void(**before, got, place);
    if (!over) return tl::unexpected(over.error());
    if (*over)
      if (auto emptied = clear(place.folder); !emptied) return tl::unexpected(emptied.error());
  }
  const bool goes_on = same_start && storage::rocks_store::is_in(place.folder);
  auto confirmed = open_confirmed(experiment, got.start_id, place);
  if (!confirmed) return tl::unexpected(confirmed.error());
  auto values = open_values(experiment, got, place, same_start);
  if (!values) return tl::unexpected(values.error());
  const bool secure = experiment.settings.privacy->secure_aggregation;
  if (!stateful && place.data.sha256.empty() && place.code.empty() && !secure)
    return node_store{std::move(*values), {}, {}};  // nothing to record
  node_record now;
  if (goes_on) now = **before;
  if (stateful) now.store = dynamic_cast<const storage::rocks_store&>(**values).last_save().store;
  if (stateful) ++now.openings;
  now.start_id = got.start_id;
  now.life = got.history.id();
  now.clients = place.clients;
  now.data_sha256 = place.data.sha256;
  now.code = scenarios::code_text(place.code);
  if (auto noted = write_node_record(place.folder, now); !noted) return tl::unexpected(noted.error());
  node_store made{std::move(*values), claim_of(now), {}, std::move(*confirmed)};
  made.claim.accepts_loss = place.accept_state_loss;
  if (stateful)
    made.note_served = [folder = place.folder, now](std::uint64_t served) mutable {
      now.served = served;
      return write_node_record(folder, now);
    };
  return made;
}

using json = nlohmann::ordered_json;

std::filesystem::path node_record_file(const std::filesystem::path& folder) { return folder / "node.json"; }

result<std::optional<node_record>> read_node_record(const std::filesystem::path& folder) {
  const auto file = node_record_file(folder);
  std::ifstream input(file);
  if (!input) return std::optional<node_record>();
  const auto read = json::parse(input, nullptr, false);
  node_record record;
  try {
    record.start_id = read.at("start_id").get<std::uint64_t>();
    record.life = read.at("life").get<std::uint64_t>();
    record.store = read.at("store").get<std::uint64_t>();
    record.openings = read.at("openings").get<std::uint64_t>();
    record.served = read.at("served").get<std::uint64_t>();
    record.clients = {read.at("clients").at(0).get<std::uint32_t>(), read.at("clients").at(1).get<std::uint32_t>()};
    record.data_sha256 = read.at("data_sha256").get<std::string>();
    record.code = read.value("code", "");
  } catch (const json::exception&) {
    return fail(error::kind::data, file.string(), "is damaged",
                "restore the folder from a copy, or name another --store");
  }
  return record;
}

result<void> write_node_record(const std::filesystem::path& folder, const node_record& record) {
  if (const auto failed = storage::make_durable_folder(folder))
    return fail(error::kind::runtime, folder.string(), "cannot be made: " + failed.message());
  const json out = {{"start_id", record.start_id},
                    {"life", record.life},
                    {"store", record.store},
                    {"openings", record.openings},
                    {"served", record.served},
                    {"clients", {record.clients.first, record.clients.last}},
                    {"data_sha256", record.data_sha256},
                    {"code", record.code}};
  return write_atomically(node_record_file(folder), out.dump());
}

}  // namespace furlong::tools
