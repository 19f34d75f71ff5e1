// How many bytes a run sends: the sizes of its messages, of those that are encoded and of those that are not.
#pragma once

#include "federated/experiment/experiment.hpp"

namespace furlong::wire {

/// Estimates network traffic, in every mode of running: sets upload_bytes and download_bytes of an experiment whose
/// clients send anything.
void meter_traffic(federated::experiment& run);
/// The size of a client's update in the simulation: exact if dense; otherwise as if each of the client's examples
/// and its negatives touched a different row, or all rows if the algorithm needs them. Needs meter_traffic().
void plan_traffic(federated::experiment& run);
/// With zstd the size of a frame requires encoding it. A frame that cannot be encoded is not sent and counts as
/// uncompressed. Needs meter_traffic().
void meter_frames(federated::experiment& run);

}  // namespace furlong::wire
