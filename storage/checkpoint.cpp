#include "storage/checkpoint.hpp"

#include "storage/checkpoint.capnp.h"
#include "storage/detail/files.hpp"
#include "storage/detail/message.hpp"
#include "storage/detail/sealed_file.hpp"

namespace furlong::storage {

namespace fs = std::filesystem;
using federated::protocol::accounting;
using federated::protocol::optimizer_state;
using federated::protocol::server_state;

namespace {

constexpr std::string_view magic = "FURLCKPT";
constexpr std::uint16_t format = 1;
constexpr auto file_name = "checkpoint.furlong";

unsigned count(std::size_t n) { return static_cast<unsigned>(n); }

tl::unexpected<error> unreadable(const fs::path& file, const std::string& reason) {
  return fail(error::kind::data, file.string(), reason, "restore the checkpoint from a copy, or start the run anew");
}

void write(schema::Checkpoint::Optimizer::Builder out, const optimizer_state& state) {
  out.setSteps(state.steps);
  auto slots = out.initSlots(count(state.slots.size()));
  for (std::size_t i = 0; i < state.slots.size(); ++i) slots.set(count(i), detail::as_data(state.slots[i]));
}

result<optimizer_state> read(schema::Checkpoint::Optimizer::Reader in, std::size_t size, const fs::path& file) {
  optimizer_state state{in.getSteps(), {}};
  for (const auto bytes : in.getSlots()) {
    state.slots.emplace_back(bytes.size() == 0 ? 0 : size);
    if (!detail::copy_floats(bytes, state.slots.back()))
      return unreadable(file, "the optimizer's memory has " + std::to_string(bytes.size()) + " bytes instead of " +
                                  std::to_string(size * sizeof(float)));
  }
  return state;
}

void write(schema::Checkpoint::Accounting::Builder out, const accounting& counts) {
  out.setSelected(counts.selected);
  out.setFolded(counts.folded);
  detail::fill(out.initRejected(count(counts.rejected.size())), counts.rejected);
  out.setClientsTrained(counts.clients_trained);
  out.setExamples(counts.examples);
  out.setBytesUp(counts.bytes_up);
  out.setBytesDown(counts.bytes_down);
}

result<accounting> read(schema::Checkpoint::Accounting::Reader in, const fs::path& file) {
  accounting counts;
  counts.selected = in.getSelected();
  counts.folded = in.getFolded();
  const auto rejected = in.getRejected();
  if (rejected.size() > counts.rejected.size())
    return unreadable(file, "the checkpoint counts reasons of rejection that this release does not know");
  std::copy(rejected.begin(), rejected.end(), counts.rejected.begin());
  counts.clients_trained = in.getClientsTrained();
  counts.examples = in.getExamples();
  counts.bytes_up = in.getBytesUp();
  counts.bytes_down = in.getBytesDown();
  return counts;
}

void write(schema::Checkpoint::Builder out, const server_state& state) {
  out.setFormat(format);
  out.setRun(state.run);
  out.setVersion(state.version);
  out.setSignature(state.model.shape()->signature());
  out.setModel(detail::as_data(state.model.values()));
  write(out.initOptimizer(), state.optimizer);
  detail::fill(out.initReference(count(state.reference.size())), state.reference);
  write(out.initCounts(), state.counts);
  detail::fill(out.initResumedAt(count(state.history.resumed_at.size())), state.history.resumed_at);
  out.setWallSeconds(state.wall_seconds);
  out.setCpuSeconds(state.cpu_seconds);
  out.setTrainSeconds(state.train_seconds);
  out.setTrainCpuSeconds(state.train_cpu_seconds);
  auto outputs = out.initOutputs(count(state.output_bytes.size()));
  unsigned i = 0;
  for (const auto& [name, bytes] : state.output_bytes) {
    outputs[i].setName(name);
    outputs[i++].setBytes(bytes);
  }
}

result<server_state> read(schema::Checkpoint::Reader in, const models::layout_ptr& layout, const fs::path& file) {
  if (in.getFormat() != format)
    return unreadable(file, "the checkpoint has format " + std::to_string(in.getFormat()) + ", this release reads " +
                                std::to_string(format));
  const auto signature = in.getSignature();
  if (std::string_view(signature.cStr(), signature.size()) != layout->signature())
    return fail(error::kind::usage, file.string(),
                std::string("the checkpoint is of another shared layout; its tensors are (name, rows, columns): ") +
                    signature.cStr(),
                "use the model settings that the run began with, or start a new run");
  server_state state;
  state.run = in.getRun();
  state.version = in.getVersion();
  state.model = models::shared_parameters(layout);
  const auto model = in.getModel();
  if (!detail::copy_floats(model, state.model.values()))
    return unreadable(file, "the model has " + std::to_string(model.size()) + " bytes instead of " +
                                std::to_string(layout->size() * sizeof(float)));
  auto optimizer = read(in.getOptimizer(), layout->size(), file);
  if (!optimizer) return tl::unexpected(optimizer.error());
  state.optimizer = std::move(*optimizer);
  state.reference = detail::to_vector(in.getReference());
  auto counts = read(in.getCounts(), file);
  if (!counts) return tl::unexpected(counts.error());
  state.counts = *counts;
  state.history.resumed_at = detail::to_vector(in.getResumedAt());
  state.wall_seconds = in.getWallSeconds();
  state.cpu_seconds = in.getCpuSeconds();
  state.train_seconds = in.getTrainSeconds();
  state.train_cpu_seconds = in.getTrainCpuSeconds();
  for (const auto output : in.getOutputs()) state.output_bytes[output.getName()] = output.getBytes();
  return state;
}

}  // namespace

result<void> write_checkpoint(const fs::path& folder, const server_state& state) {
  if (auto made = detail::make_folder(folder); !made) return made;
  capnp::MallocMessageBuilder message(count(state.model.values().size() + 1024));
  write(message.initRoot<schema::Checkpoint>(), state);
  const auto bytes = detail::seal(magic, detail::flat(message));
  return detail::replace_file(folder / file_name, std::as_bytes(std::span(bytes)));
}

bool has_checkpoint(const fs::path& folder) {
  std::error_code failed;
  return fs::exists(folder / file_name, failed);
}

result<server_state> read_checkpoint(const fs::path& folder, const models::layout_ptr& shared_layout) {
  const auto file = folder / file_name;
  if (!has_checkpoint(folder))
    return fail(error::kind::data, file.string(), "there is no checkpoint", "start the run anew, without --resume");
  const auto bytes = detail::read_file(file);
  if (!bytes) return tl::unexpected(bytes.error());
  return detail::unseal(magic, *bytes, file, "checkpoint").and_then([&](std::string_view payload) {
    return detail::with_message<schema::Checkpoint>(payload, file,
                                                    [&](auto message) { return read(message, shared_layout, file); });
  });
}

}  // namespace furlong::storage
