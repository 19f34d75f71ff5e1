#include "storage/checkpoint.hpp"

#include <algorithm>

#include "models/kernels/kernels.hpp"
#include "storage/checkpoint.capnp.h"
#include "storage/detail/checkpoint_parts.hpp"
#include "storage/detail/files.hpp"
#include "storage/detail/message.hpp"
#include "storage/participation_log.hpp"

namespace furlong::storage {

namespace fs = std::filesystem;
using detail::unreadable;
using federated::accounting;
using federated::optimizer_state;
using federated::server_state;

namespace {

constexpr std::string_view magic = "FURLCKPT";
constexpr std::uint16_t format = 2;
constexpr std::uint8_t no_stage = 255;
constexpr auto file_name = "checkpoint.furlong";

unsigned count(std::size_t n) { return static_cast<unsigned>(n); }

void write(schema::Checkpoint::Optimizer::Builder out, const optimizer_state& state) {
  out.setSteps(state.steps);
  auto slots = out.initSlots(count(state.slots.size()));
  for (std::size_t i = 0; i < state.slots.size(); ++i) slots.set(count(i), detail::as_data(state.slots[i]));
}

result<optimizer_state> read(schema::Checkpoint::Optimizer::Reader reader, std::size_t size, const fs::path& file) {
  optimizer_state state{reader.getSteps(), {}};
  for (const auto bytes : reader.getSlots()) {
    state.slots.emplace_back(bytes.size() == 0 ? 0 : size);
    if (!detail::copy_floats(bytes, state.slots.back()))
      return unreadable(file, "the optimizer state has " + std::to_string(bytes.size()) + " bytes instead of " +
                                  std::to_string(size * sizeof(float)));
  }
  return state;
}

/// Calls visit(member, setter, getter) for each number of the accounting.
template <class Visit>
void each_count(const Visit& visit) {
  using out = schema::Checkpoint::Accounting::Builder;
  using reader = schema::Checkpoint::Accounting::Reader;
  visit(&accounting::selected, &out::setSelected, &reader::getSelected);
  visit(&accounting::folded, &out::setFolded, &reader::getFolded);
  visit(&accounting::clients_trained, &out::setClientsTrained, &reader::getClientsTrained);
  visit(&accounting::examples, &out::setExamples, &reader::getExamples);
  visit(&accounting::bytes_up, &out::setBytesUp, &reader::getBytesUp);
  visit(&accounting::bytes_down, &out::setBytesDown, &reader::getBytesDown);
  visit(&accounting::late, &out::setLate, &reader::getLate);
  visit(&accounting::surplus, &out::setSurplus, &reader::getSurplus);
  visit(&accounting::abandoned, &out::setAbandoned, &reader::getAbandoned);
  visit(&accounting::rounds_abandoned, &out::setRoundsAbandoned, &reader::getRoundsAbandoned);
  visit(&accounting::staleness_sum, &out::setStalenessSum, &reader::getStalenessSum);
  visit(&accounting::staleness_max, &out::setStalenessMax, &reader::getStalenessMax);
}

void write(schema::Checkpoint::Accounting::Builder out, const accounting& counts) {
  each_count([&](auto member, auto set, auto /*get*/) { (out.*set)(counts.*member); });
  detail::fill(out.initRejected(count(counts.rejected.size())), counts.rejected);
  detail::fill(out.initDropped(count(counts.dropped.size())), counts.dropped);
}

result<accounting> read(schema::Checkpoint::Accounting::Reader reader, const fs::path& file) {
  accounting counts;
  each_count([&](auto member, auto /*set*/, auto get) { counts.*member = (reader.*get)(); });
  const auto rejected = reader.getRejected();
  if (rejected.size() != counts.rejected.size())
    return unreadable(file, "the checkpoint has a different set of rejection reasons than this release");
  std::copy(rejected.begin(), rejected.end(), counts.rejected.begin());
  const auto dropped = reader.getDropped();
  if (dropped.size() != counts.dropped.size())
    return unreadable(file, "the checkpoint has a different set of dropout stages than this release");
  std::copy(dropped.begin(), dropped.end(), counts.dropped.begin());
  return counts;
}

void write_tasks(schema::Checkpoint::Builder out, const server_state& state) {
  auto open = out.initOpen(count(state.open.size()));
  for (unsigned i = 0; i < open.size(); ++i) {
    const auto& task = state.open[i];
    auto entry = open[i];
    entry.setVersion(task.id.version);
    entry.setClient(task.id.client);
    entry.setAttempt(task.id.attempt);
    entry.setAggregator(task.aggregator);
    entry.setStartedAt(task.started_at);
    entry.setClosed(task.closed);
    entry.setSurplus(task.surplus);
  }
  auto models = out.initStartedFrom(count(state.started_from.size()));
  unsigned m = 0;
  for (const auto& [version, start] : state.started_from) {
    auto entry = models[m++];
    entry.setVersion(version);
    entry.setModel(detail::as_data(start.model.values()));
    entry.setNormLimit(start.limits.norm);
    entry.setRowLimit(start.limits.row);
    entry.setWeightLimit(start.limits.weight);
  }
}

void write_stores(schema::Checkpoint::Builder out, const federated::known_stores& stores) {
  out.setStateLost(stores.lost());
  auto list = out.initStores(count(stores.entries().size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    const auto& store = stores.entries()[i];
    auto entry = list[i];
    entry.setFirst(store.clients.first);
    entry.setLast(store.clients.last);
    entry.setStore(store.store);
    entry.setOpenings(store.openings);
    entry.setSince(store.since);
    entry.setNode(store.node);
  }
}

federated::known_stores read_stores(schema::Checkpoint::Reader reader) {
  std::vector<federated::known_stores::entry> entries;
  for (const auto entry : reader.getStores())
    entries.push_back({{entry.getFirst(), entry.getLast()},
                       entry.getStore(),
                       entry.getOpenings(),
                       entry.getSince(),
                       entry.getNode().cStr()});
  return federated::known_stores(std::move(entries), reader.getStateLost());
}

void write(schema::Checkpoint::Simulation::Builder out, const federated::simulation_state& state) {
  auto tasks = out.initTasks(count(state.tasks.size()));
  for (unsigned i = 0; const auto& task : state.tasks) {
    auto record = tasks[i++];
    record.setVersion(task.id.version);
    record.setClient(task.id.client);
    record.setAttempt(task.id.attempt);
    record.setStartedAt(task.started_at);
    record.setTrainedAt(task.trained_at);
    record.setEndsAt(task.ends_at);
    if (task.dropped) record.setDropped(static_cast<std::uint8_t>(*task.dropped));
    record.setCause(static_cast<std::uint8_t>(task.cause));
    std::vector<federated::virtual_time> times;
    for (const auto& gap : task.offline) times.insert(times.end(), {gap.from, gap.to});
    detail::fill(record.initOffline(count(times.size())), times);
  }
  detail::fill(out.initEvents(count(state.events.size())), state.events);
  detail::fill(out.initErasures(count(state.erasures.size())), state.erasures);
}

result<void> read_tasks(schema::Checkpoint::Reader reader, const models::layout_ptr& down, server_state& state,
                        const fs::path& file) {
  for (const auto entry : reader.getOpen())
    state.open.push_back({{state.run, entry.getVersion(), entry.getClient(), entry.getAttempt()},
                          entry.getAggregator(),
                          entry.getStartedAt(),
                          entry.getClosed(),
                          entry.getSurplus()});
  for (const auto entry : reader.getStartedFrom()) {
    models::shared_parameters model(down);
    if (!detail::copy_floats(entry.getModel(), model.values()))
      return unreadable(file, "an earlier model has a different size than the model");
    const federated::update_limits limits{entry.getNormLimit(), entry.getRowLimit(), entry.getWeightLimit()};
    state.started_from.emplace(entry.getVersion(), federated::earlier_model{std::move(model), limits});
  }
  for (const auto& task : state.open)  // a closed task may no longer need its model
    if (!task.closed && !state.started_from.contains(task.id.version))
      return unreadable(file, "the model that client " + std::to_string(task.id.client) + " started from is missing");
  return {};
}

result<federated::simulation_state> read(schema::Checkpoint::Simulation::Reader reader, std::uint64_t run,
                                         const fs::path& file) {
  federated::simulation_state state;
  for (const auto entry : reader.getTasks()) {
    federated::simulated_task task{{run, entry.getVersion(), entry.getClient(), entry.getAttempt()},
                                   entry.getStartedAt(),
                                   entry.getTrainedAt(),
                                   entry.getEndsAt(),
                                   {}};
    const auto stage = entry.getDropped();
    if ((stage != no_stage && stage >= federated::drop_stage_count) || entry.getCause() >= federated::drop_cause_count)
      return unreadable(file, "a task has an unknown dropout stage or cause");
    if (stage != no_stage) task.dropped = static_cast<federated::drop_stage>(stage);
    task.cause = static_cast<federated::drop_cause>(entry.getCause());
    for (unsigned n = 0; n + 1 < entry.getOffline().size(); n += 2)
      task.offline.push_back({entry.getOffline()[n], entry.getOffline()[n + 1]});
    state.tasks.push_back(task);
  }
  state.events = detail::to_vector(reader.getEvents());
  state.erasures = detail::to_vector(reader.getErasures());
  return state;
}

void write(schema::Checkpoint::Builder out, const server_state& state) {
  out.setFormat(format);
  out.setRun(state.run);
  out.setVersion(state.version);
  out.setStartId(state.start_id);
  out.setDataSha256(state.data_sha256);
  out.setCode(state.code);
  out.setCodeChanged(state.code_changed);
  out.setArithmetic(state.arithmetic);
  out.setSignature(state.model.shape()->signature());
  out.setModel(detail::as_data(state.model.values()));
  if (state.added.shape()) {
    out.setAddedSignature(state.added.shape()->signature());
    out.setAdded(detail::as_data(state.added.values()));
  }
  write(out.initOptimizer(), state.optimizer);
  detail::fill(out.initReference(count(state.reference.size())), state.reference);
  write(out.initCounts(), state.counts);
  detail::fill(out.initResumedAt(count(state.history.resumed_at.size())), state.history.resumed_at);
  detail::fill(out.initLives(count(state.history.ids.size())), state.history.ids);
  out.setWallSeconds(state.wall_seconds);
  out.setCpuSeconds(state.cpu_seconds);
  out.setTrainSeconds(state.train_seconds);
  out.setTrainCpuSeconds(state.train_cpu_seconds);
  out.setNow(state.now);
  out.setKernelLevel(models::kernels().level);
  write_stores(out, state.stores);
  auto levels = out.initKernelLevels(count(state.kernel_levels.size()));
  unsigned level = 0;
  for (const auto& kernel : state.kernel_levels) levels.set(level++, kernel);
  write_tasks(out, state);
  detail::write(out.initSizes(), state.sizes.recent());
  detail::write(out.initLosses(), state.losses);
  write(out.initSimulation(), state.simulation);
  if (state.target_reached) out.setTargetReached(*state.target_reached);
  out.setTargetVersion(state.target_version);
  out.setTargetId(state.target_id);
  if (const auto& saved = state.private_save; saved.store != 0) {
    auto save = out.initPrivateSave();
    save.setStore(saved.store);
    save.setId(saved.id);
    save.setVersion(saved.version);
  }
  if (state.best) {
    auto best = out.initBest();
    best.setMetric(state.best->metric);
    best.setScoring(state.best->scoring);
    best.setFigure(state.best->figure);
    best.setVersion(state.best->version);
    best.setModel(detail::as_data(state.best->model.values()));
    best.setAdded(detail::as_data(state.best->added.values()));
  }
  if (state.progress) detail::write(out.initProgress(), *state.progress);
  out.setEvaluationDue(state.evaluation_due);
  out.setUnwrittenRound(state.unwritten_round);
  if (state.ledger) {
    out.setClients(state.ledger->size());
    out.setParticipationBytes(state.ledger->stored_bytes());
  }
  auto outputs = out.initOutputs(count(state.output_bytes.size()));
  unsigned i = 0;
  for (const auto& [name, bytes] : state.output_bytes) {
    outputs[i].setName(name);
    outputs[i++].setBytes(bytes);
  }
}

/// Fails if Cap'n Proto rejects the checkpoint: a list can exceed its size limit.
result<void> write_file(const fs::path& file, const server_state& state) {
  try {
    capnp::MallocMessageBuilder message(count(state.model.values().size() + state.added.values().size() + 1024));
    write(message.initRoot<schema::Checkpoint>(), state);
    return detail::write_sealed(file, magic, message);
  } catch (const kj::Exception& bad) {
    return fail(error::kind::runtime, file.string(),
                std::string("the checkpoint cannot be written: ") + bad.getDescription().cStr(),
                "make the model smaller (model.*)");
  }
}

result<server_state> read(schema::Checkpoint::Reader reader, const state_layouts& layouts, const fs::path& file,
                          const origin_check& check) {
  const auto& layout = layouts.shared;
  if (reader.getFormat() != format)
    return unreadable(file, "the checkpoint has format " + std::to_string(reader.getFormat()) +
                                ", this release reads " + std::to_string(format));
  if (check)
    if (auto right = check({reader.getRun(), reader.getDataSha256().cStr(), reader.getCode().cStr()}); !right)
      return tl::unexpected(right.error());
  if (auto same = detail::check_signature(reader.getSignature(), layout->signature(), "model", file); !same)
    return tl::unexpected(same.error());
  const auto added_signature = layouts.server ? layouts.server->signature() : std::string();
  if (auto same = detail::check_signature(reader.getAddedSignature(), added_signature, "algorithm", file); !same)
    return tl::unexpected(same.error());
  server_state state;
  state.run = reader.getRun();
  state.version = reader.getVersion();
  state.model = models::shared_parameters(layout);
  const auto model = reader.getModel();
  if (!detail::copy_floats(model, state.model.values()))
    return unreadable(file, "the model has " + std::to_string(model.size()) + " bytes instead of " +
                                std::to_string(layout->size() * sizeof(float)));
  auto added = detail::read_added(reader.getAdded(), layouts.server, file);
  if (!added) return tl::unexpected(added.error());
  state.added = std::move(*added);
  auto optimizer = read(reader.getOptimizer(), layout->size(), file);
  if (!optimizer) return tl::unexpected(optimizer.error());
  state.optimizer = std::move(*optimizer);
  state.start_id = reader.getStartId();
  state.data_sha256 = reader.getDataSha256().cStr();
  state.code = reader.getCode().cStr();
  state.code_changed = reader.getCodeChanged();
  state.arithmetic = reader.getArithmetic().cStr();
  state.reference = detail::to_vector(reader.getReference());
  auto counts = read(reader.getCounts(), file);
  if (!counts) return tl::unexpected(counts.error());
  state.counts = *counts;
  state.history.resumed_at = detail::to_vector(reader.getResumedAt());
  state.history.ids = detail::to_vector(reader.getLives());
  if (const auto ids = state.history.ids.size(); ids != state.history.resumed_at.size())
    return unreadable(file, "it has " + std::to_string(ids) + " run ids, but " +
                                std::to_string(state.history.resumed_at.size()) + " resumptions");
  state.wall_seconds = reader.getWallSeconds();
  state.cpu_seconds = reader.getCpuSeconds();
  state.train_seconds = reader.getTrainSeconds();
  state.train_cpu_seconds = reader.getTrainCpuSeconds();
  state.now = reader.getNow();
  state.stores = read_stores(reader);
  state.kernel_level = reader.getKernelLevel().cStr();
  for (const auto level : reader.getKernelLevels()) state.kernel_levels.emplace(level.cStr());
  if (!state.kernel_level.empty()) state.kernel_levels.insert(state.kernel_level);
  if (auto tasks = read_tasks(reader, layouts.down, state, file); !tasks) return tl::unexpected(tasks.error());
  auto sizes = detail::read(reader.getSizes(), file);
  if (!sizes) return tl::unexpected(sizes.error());
  state.sizes = *sizes;
  auto losses = detail::read(reader.getLosses(), file);
  if (!losses) return tl::unexpected(losses.error());
  state.losses = *losses;
  auto simulation = read(reader.getSimulation(), state.run, file);
  if (!simulation) return tl::unexpected(simulation.error());
  state.simulation = std::move(*simulation);
  if (reader.getTargetReached() >= 0) state.target_reached = reader.getTargetReached();
  state.target_version = reader.getTargetVersion();
  state.target_id = reader.getTargetId().cStr();
  if (reader.hasPrivateSave())
    state.private_save = {reader.getPrivateSave().getStore(), reader.getPrivateSave().getId(),
                          reader.getPrivateSave().getVersion()};
  if (reader.hasBest()) {
    const auto kept = reader.getBest();
    federated::best_model best{kept.getMetric().cStr(), kept.getScoring().cStr(), kept.getFigure(), kept.getVersion(),
                               models::shared_parameters(layout)};
    if (!detail::copy_floats(kept.getModel(), best.model.values()))
      return unreadable(file, "the best model has a different size than the model");
    auto of_best = detail::read_added(kept.getAdded(), layouts.server, file);
    if (!of_best) return tl::unexpected(of_best.error());
    best.added = std::move(*of_best);
    state.best = std::make_shared<const federated::best_model>(std::move(best));
  }
  if (reader.hasProgress()) state.progress = detail::read(reader.getProgress());
  state.evaluation_due = reader.getEvaluationDue();
  state.unwritten_round = reader.getUnwrittenRound().cStr();
  auto ledger = read_participation(file.parent_path(), reader.getClients(), reader.getParticipationBytes());
  if (!ledger) return tl::unexpected(ledger.error());
  state.ledger = std::move(*ledger);
  for (const auto output : reader.getOutputs()) state.output_bytes[output.getName()] = output.getBytes();
  return state;
}

result<void> write_into(const fs::path& folder, const server_state& state) {
  if (state.ledger)
    if (auto appended = append_participation(folder, *state.ledger); !appended) return appended;
  return write_file(folder / file_name, state);
}

}  // namespace

result<void> write_checkpoint(const fs::path& folder, const server_state& state) {
  if (detail::is_there(folder)) return write_into(folder, state);
  auto fresh = folder;
  fresh += ".new";
  if (auto removed = detail::remove_folder(fresh); !removed) return removed;
  if (auto made = detail::make_folder(fresh, detail::durability::later); !made) return made;
  if (auto written = write_into(fresh, state); !written) return written;
  return detail::rename_path(fresh, folder);
}

result<void> copy_checkpoint(const std::filesystem::path& source, const std::filesystem::path& target) {
  return detail::snapshot_folder(source, target);
}

bool has_checkpoint(const fs::path& folder) { return detail::is_there(folder / file_name); }
result<server_state> read_checkpoint(const fs::path& folder, const state_layouts& layouts, const origin_check& check) {
  const auto file = folder / file_name;
  if (!has_checkpoint(folder))
    return fail(error::kind::data, file.string(), "there is no checkpoint", "start a new run, without --resume");
  return detail::read_sealed<schema::Checkpoint>(file, magic, "checkpoint",
                                                 [&](auto message) { return read(message, layouts, file, check); });
}

}  // namespace furlong::storage
