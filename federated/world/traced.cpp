#include <algorithm>
#include <stdexcept>

#include "federated/world/availability.hpp"
#include "federated/world/availability_trace.hpp"

namespace furlong::federated {

namespace {

class traced final : public availability {
 public:
  explicit traced(std::shared_ptr<const availability_trace> trace) : trace_(std::move(trace)) {
    if (!trace_ || trace_->devices() == 0 || trace_->length <= 0)
      throw std::logic_error("a run that follows a trace needs one with a device and a length");
  }

  bool available(std::uint32_t client, virtual_time now, std::uint64_t) const override {
    const auto device = intervals_of(client);
    const auto phase = now % trace_->length;
    const auto next = device.begun(phase);
    return next > 0 && phase < device.ends[next - 1];
  }

  virtual_time changes(std::uint32_t client, virtual_time now, std::uint64_t) const override {
    const auto device = intervals_of(client);
    const auto length = trace_->length;
    if (device.count == 0 || device.fills(length)) return never;
    const auto phase = now % length;
    const auto lap = now - phase;
    const auto next = device.begun(phase);
    if (next > 0 && phase < device.ends[next - 1]) return lap + device.end_of_spell(next - 1, length);
    if (next < device.count) return lap + device.starts[next];
    return lap + length + device.starts[0];
  }

 private:
  struct intervals {
    const virtual_time* starts;
    const virtual_time* ends;
    std::size_t count;

    /// How many have begun at `phase`: the last of these may hold it.
    [[nodiscard]] std::size_t begun(virtual_time phase) const {
      return static_cast<std::size_t>(std::upper_bound(starts, starts + count, phase) - starts);
    }
    [[nodiscard]] bool fills(virtual_time length) const { return count == 1 && starts[0] == 0 && ends[0] == length; }
    /// Where interval `at` ends; past the trace's end when the first interval of its next lap continues it.
    [[nodiscard]] virtual_time end_of_spell(std::size_t at, virtual_time length) const {
      return ends[at] == length && starts[0] == 0 ? length + ends[0] : ends[at];
    }
  };

  [[nodiscard]] intervals intervals_of(std::uint32_t client) const {
    const auto device = client % trace_->devices();
    const auto first = trace_->offsets[device];
    return {trace_->starts.data() + first, trace_->ends.data() + first,
            static_cast<std::size_t>(trace_->offsets[device + 1] - first)};
  }

  std::shared_ptr<const availability_trace> trace_;
};

}  // namespace

std::unique_ptr<availability> make_traced(std::shared_ptr<const availability_trace> trace) {
  return std::make_unique<traced>(std::move(trace));
}

}  // namespace furlong::federated
