#include "actors/actor_engine.hpp"

#include "actors/timeline_actor.hpp"

namespace furlong::actors {

result<federated::run_outcome> run_actors(const federated::experiment& e, federated::protocol::server_state start,
                                          federated::private_store& store, const federated::run_observer& observer,
                                          const std::atomic<bool>& stop, const engine_options& options) {
  caf::actor_system_config config;
  config.add_message_types<caf::id_block::furlong>();
  // The default work-stealing queue is quadratic in the fan-out.
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", options.threads);
  config.set("logger.verbosity", caf::atom("quiet"));
  caf::actor_system system(config);
  const run_context run{e, store, observer, stop, options.threads};

  std::shared_ptr<result<federated::run_outcome>> outcome;
  {
    caf::scoped_actor self(system);
    auto from = std::make_shared<federated::protocol::server_state>(std::move(start));
    const auto driver = self->spawn(timeline_behavior, &run, std::move(from));
    // A request to an actor that ended by an exception would never be answered.
    self->monitor(driver);
    self->send(driver, run_request{});
    self->receive(
        [&](run_result& done) { outcome = std::move(done.outcome); },
        [&](caf::down_msg& down) {
          outcome = std::make_shared<result<federated::run_outcome>>(
              fail(error::kind::runtime, "actor engine", "the run's driver ended: " + caf::to_string(down.reason)));
        });
  }
  system.await_all_actors_done();
  return std::move(*outcome);
}

}  // namespace furlong::actors
