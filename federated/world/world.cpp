#include "federated/world/world.hpp"

#include "federated/settings/devices.hpp"
#include "federated/settings/settings.hpp"
#include "federated/world/attackers.hpp"

namespace furlong::federated {

std::shared_ptr<const world> make_world(const run_settings& settings, const population& clients,
                                        std::shared_ptr<const availability_trace> trace,
                                        std::shared_ptr<const device_table> recorded) {
  const auto& devices = *settings.devices;
  auto made =
      std::make_shared<world>(world{device_park(devices, settings.seed, clients, std::move(recorded)), nullptr});
  availability_score score;
  // The park stays where it is as long as the world exists, and with it the presence that looks at it.
  if (devices.speed_availability != 0.0 || devices.availability_taste != 0.0)
    score = [park = &made->devices](std::uint32_t client) { return park->scores_of(client).availability; };
  made->presence = make_availability({devices.availability, settings.seed, std::move(score), std::move(trace)});
  made->attackers = draw_attackers(settings, clients.training());
  return made;
}

}  // namespace furlong::federated
