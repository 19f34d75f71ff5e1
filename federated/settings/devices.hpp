// Settings of simulated devices: speed, availability, dropout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"

namespace furlong::federated {

/// [devices] availability
struct availability_settings {
  std::string kind = "always";  ///< of the table in world/availability.cpp
  double rate = 0.5;            ///< share of the time, or of the rounds, that a client is available on average
  double mean_online = 3600;    ///< markov: mean length of an available spell, seconds; offline spells follow from rate
  double step = 60;             ///< markov: length of a slot, seconds
  double swing = 4.0;           ///< diurnal: best hour against worst
  double peak_hour = 2.0;       ///< diurnal: local hour of the most availability
  double dwell = 1800;          ///< diurnal: how long a state lasts at least, seconds
  std::uint32_t zones = 24;     ///< diurnal: time zones, an hour apart, that the clients are spread over
  std::string trace = {};       ///< trace: file of intervals
  option_values options = {};   ///< the model's own keys
};

/// A class of devices in a table of classes.
struct device_class {
  double share = 1.0;  ///< of the clients, relative to the other classes
  double ms_per_example = 5.0;
  double mbit = 10.0;
  // Rates of dropout in each stage; none: those of [dropout].
  std::optional<double> download = {};
  std::optional<double> train = {};
  std::optional<double> upload = {};
};

/// [devices]
struct device_settings {
  double ms_per_example = 5.0;  ///< median; an example costs three times this in training (forward, backward, step)
  double speed_sigma = 0.6;     ///< standard deviation of the logarithm, over the clients
  double mbit = 10.0;           ///< median bandwidth, both ways, in 10^6 bits a second
  double network_sigma = 0.6;
  double latency = 0.0;          ///< seconds, once a message
  double straggler_share = 0.0;  ///< of tasks that take straggler_factor as long
  double straggler_factor = 10.0;
  std::vector<device_class> classes = {};  ///< in place of the lognormals; empty: none
  std::string table = {};                  ///< file of recorded devices, in place of both; empty: none
  availability_settings availability = {};
  // Correlations of standard normal scores: a fast device, one that is often available, and the client's taste.
  double speed_availability = 0.0;
  double speed_taste = 0.0;
  double availability_taste = 0.0;
};

enum class dropout_policy : std::uint8_t { abort, pause };
/// [dropout]: probabilities that a client is interrupted in a stage of its task, and what that means.
struct dropout_settings {
  double download = 0.0;
  double train = 0.0;
  double upload = 0.0;
  dropout_policy policy = dropout_policy::abort;  ///< also for a client that ceases to be available
  double mean_pause = 600.0;                      ///< pause: seconds until an interrupted client goes on (exponential)
};

}  // namespace furlong::federated
