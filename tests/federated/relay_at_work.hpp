// A relay's machine with gateways below it, which do as they are told.
#pragma once

#include <boost/test/unit_test.hpp>

#include "federated/protocol/gateway_machine.hpp"
#include "federated/protocol/relay_machine.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/updates.hpp"

namespace furlong::federated::protocol::testing {

inline constexpr std::uint32_t relay_number = 7;

inline federated::run_settings settings_of(bool async) {
  federated::run_settings settings;
  settings.rounds = 9;
  settings.topology->fan_in = 2;
  if (async) settings.participation->mode = federated::participation_mode::async;
  return settings;
}

/// A relay whose children are gateways: 0 with clients 0 to 4, 1 with 5 to 9, 2 with 10 to 14.
struct relay {
  explicit relay(bool async = false)
      : e(tests::make_experiment(settings_of(async), tests::make_ratings(12), {}, {})), machine(e, relay_number, 24) {
    for (const auto* name : {"a", "b"})
      BOOST_TEST(machine.add_child({"test", name, std::string(name) + ":1", std::string(name) + ":2"}) != 0U);
    for (std::uint32_t child = 0; child < 3; ++child) {
      const client_range clients{5 * child, 5 * child + 4};
      auto& at = gateways.try_emplace(child, e, child).first->second;
      gateway_effects told;
      at.on_hello(1, {"test", {0, 23}, 0, {}, ""}, 0, told);
      tell(child, attached{clients, {}});
    }
    out.clear();
  }
  [[nodiscard]] task_id task(std::uint32_t client, std::uint64_t version = 0) const {
    return {e.run, version, client, 0};
  }
  [[nodiscard]] federated::broadcast_ptr model(std::uint64_t version) const {
    const federated::broadcast from{e.run, version, models::shared_parameters(e.parts.shared), {}};
    return std::make_shared<const federated::broadcast>(from);
  }
  void share(std::uint64_t version, const std::vector<std::uint32_t>& clients, bool begins = true) {
    std::vector<task_id> tasks;
    for (const auto client : clients) tasks.push_back(task(client, version));
    machine.on_order(assign{0, model(version), tasks, begins}, out);
    // Gateways do as they are told.
    for (const auto& effect : out)
      if (const auto* down = std::get_if<tell_child>(&effect))
        if (const auto* part = std::get_if<assign>(&down->content)) {
          gateway_effects told;
          gateways.at(down->child).on_assignment(part->from, part->tasks, part->begins, 0, told);
        }
  }
  result<void> tell(std::uint32_t child, upward what) { return machine.on_told(child, std::move(what), out); }
  [[nodiscard]] federated::client_update update(const task_id& id) const {
    random_stream stream(id.client, purpose::test);
    auto made = tests::random_update(stream, e.parts.shared);
    made.id = id;
    return made;
  }
  void report(std::uint32_t child, const task_id& id) {
    gateway_effects told;
    gateways.at(child).on_update(1, update(id), 0, told);
    pass(child, told);
  }
  void close(std::uint32_t child, std::uint64_t version) {
    gateway_effects told;
    gateways.at(child).on_close(version, true, 0, told);
    pass(child, told);
  }
  void pass(std::uint32_t child, gateway_effects& told) {
    for (auto& effect : told)
      if (auto* up = std::get_if<tell_parent>(&effect)) BOOST_TEST(tell(child, std::move(up->content)).has_value());
  }
  federated::settlement ended(std::uint32_t client, outcome what) const {
    federated::settlement one;
    one.id = task(client);
    one.what = what;
    return one;
  }

  /// What the parent was told of this kind since the last call; everything else is forgotten.
  template <class What>
  std::vector<What> up() {
    std::vector<What> found;
    for (auto& effect : std::exchange(out, {}))
      if (auto* told = std::get_if<tell_parent>(&effect))
        if (auto* content = std::get_if<What>(&told->content)) found.push_back(std::move(*content));
    return found;
  }
  /// The same of the children, by child.
  template <class What>
  std::map<std::uint32_t, std::vector<What>> down() {
    std::map<std::uint32_t, std::vector<What>> found;
    for (auto& effect : std::exchange(out, {}))
      if (auto* told = std::get_if<tell_child>(&effect))
        if (auto* content = std::get_if<What>(&told->content)) found[told->child].push_back(std::move(*content));
    return found;
  }

  federated::experiment e;
  relay_machine machine;
  std::map<std::uint32_t, gateway_machine> gateways;
  relay_effects out;
};

}  // namespace furlong::federated::protocol::testing
