// What a dataset of a test builds.
#pragma once

#include <memory>
#include <utility>

#include "scenarios/data/dataset.hpp"

namespace furlong::scenarios::testing {

/// A dataset "broken-data" of these clients.
inline dataset_entry dataset_of(std::shared_ptr<const federated::population> clients) {
  return {
      .kind = "broken-data",
      .doc = "A dataset of this test.",
      .options = {},
      .check = nullptr,
      .facts = nullptr,
      .build = [clients = std::move(clients)](const option_values&, const std::filesystem::path&) -> result<dataset> {
        dataset made;
        made.clients = clients;
        return made;
      }};
}

}  // namespace furlong::scenarios::testing
