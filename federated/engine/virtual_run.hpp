// Which run in virtual time the settings ask for.
#pragma once

#include <memory>

#include "federated/simulation/virtual_run.hpp"

namespace furlong::federated {

/// The run that the settings ask for: with [topology] nodes the processes of a federation, else one timeline. Goes on
/// from `start`. All but `start` must outlive it. One thread at a time.
/// @param mode that of add_mode_of(), or by_run
[[nodiscard]] std::unique_ptr<virtual_run> make_virtual_run(const experiment& e, server_state start,
                                                            private_store& store, const run_observer& observer,
                                                            add_mode mode = add_mode::by_run);

}  // namespace furlong::federated
