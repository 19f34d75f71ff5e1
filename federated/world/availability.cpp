#include "federated/world/availability.hpp"

#include <stdexcept>
#include <type_traits>

#include "base/registry.hpp"
#include "models/model.hpp"

namespace furlong::federated {

namespace {

registry<availability_entry>& table() {
  using source = availability_source;
  static registry<availability_entry> entries = {
      {{.kind = "always", .doc = "At any time.", .build = [](const source&) { return make_always(); }},
       {.kind = "bernoulli",
        .doc = "Drawn independently in each round.",
        .build = [](const source& given) { return make_bernoulli(given.settings, given.seed, given.score); }},
       {.kind = "markov",
        .doc = "A Markov chain of two states over slots of time.",
        .build = [](const source& given) { return make_markov(given.settings, given.seed, given.score); }},
       {.kind = "diurnal",
        .doc = "By the local hour of the client.",
        .build = [](const source& given) { return make_diurnal(given.settings, given.seed, given.score); }},
       {.kind = "trace", .doc = "As recorded in a file of intervals.", .build = [](const source& given) {
          return make_traced(given.trace);
        }}}};
  return entries;
}

/// Ends a run whose model, of another library, throws or would let time stand still.
class checked_availability final : public availability {
 public:
  checked_availability(std::string kind, std::unique_ptr<availability> model)
      : kind_(std::move(kind)), model_(std::move(model)) {}

  bool available(std::uint32_t client, virtual_time now, std::uint64_t round) const override {
    return ask("available()", [&] { return model_->available(client, now, round); });
  }
  virtual_time changes(std::uint32_t client, virtual_time now, std::uint64_t round) const override {
    const auto change = ask("changes()", [&] { return model_->changes(client, now, round); });
    if (change > now) return change;
    throw broken("whose changes() of client " + std::to_string(client) + " at " + std::to_string(to_seconds(now)) +
                     " s is not later",
                 "answer the end of the current state, or `never`");
  }
  bool by_round() const override {
    return ask("by_round()", [&] { return model_->by_round(); });
  }

 private:
  [[nodiscard]] models::broken_part broken(const std::string& fault, std::string fix) const {
    return models::broken_part(
        {error::kind::runtime, "devices.availability.kind", "is \"" + kind_ + "\", " + fault, std::move(fix)});
  }
  template <class Call>
  std::invoke_result_t<Call> ask(const std::string& call_name, const Call& call) const {
    try {
      return call();
    } catch (const std::exception& thrown) {
      throw broken("which failed in " + call_name + ": " + thrown.what(), "");
    }
  }

  std::string kind_;
  std::unique_ptr<availability> model_;
};

}  // namespace

const std::vector<availability_entry>& registered_availabilities() { return table().entries; }

void register_availability(availability_entry entry) {
  if (!entry.build) throw std::invalid_argument("availability \"" + entry.kind + "\" cannot be built");
  check_options(entry.options, "devices.availability", {});
  table().add(std::move(entry));
}

const availability_entry* find_availability(std::string_view kind) { return table().find(kind); }

std::unique_ptr<availability> make_availability(const availability_source& source) {
  const auto& kind = source.settings.kind;
  const auto* entry = find_availability(kind);
  auto made = entry == nullptr ? nullptr : entry->build(source);
  if (made == nullptr) throw std::logic_error("no availability \"" + kind + "\" can be built: correct its entry");
  if (is_registered(*entry)) return std::make_unique<checked_availability>(kind, std::move(made));
  return made;
}

}  // namespace furlong::federated
