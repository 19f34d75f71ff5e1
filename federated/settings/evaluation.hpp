// Settings of evaluation.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace furlong::federated {

struct client_groups;  // federated/experiment/client_groups.hpp

/// A figure of an evaluation, and the value that is asked of it: "validation.rmse", at most 0.9.
struct target_settings {
  std::string metric;  ///< group and figure, "unseen.accuracy"; empty: none
  double value = 0.0;
  bool at_most = true;  ///< else at least
};

/// How rankings are scored: of data with models::objective::ranking only.
struct ranking_settings {
  std::vector<std::uint32_t> top = {5, 10, 20};  ///< the places K of the figures, ascending
  bool sampled = true;                           ///< rank held-out items among drawn candidates
  bool full = true;                              ///< rank them among all items
  std::uint32_t candidates = 99;                 ///< drawn for each client and part
  bool one_held_out = false;              ///< the split holds out one item of a client: some figures say the same then
  std::vector<std::string> exposed = {};  ///< items whose exposure is reported, by their names in the data
  std::vector<std::uint32_t> exposed_items = {};  ///< their features, ascending; set by scenarios::fit()
};

/// [evaluation]
struct evaluation_settings {
  std::uint32_t every = 0;        ///< rounds between evaluations; 0: only at the end
  std::uint32_t batch_size = 32;  ///< examples scored at a time; 0: all of a client
  std::uint32_t clients = 0;      ///< score at most this many of each group, drawn once; 0: all
  bool clip = false;              ///< clip predicted ratings to the dataset's range
  float clip_low = 1.0F;
  float clip_high = 5.0F;
  std::vector<std::string> reconstruct;  ///< tensors rebuilt for each unseen client; shared ones are fine-tuned for all
  target_settings target = {};           ///< when was it first reached?
  std::string metric = {};  ///< figure of the validation clients by which models are compared: selection_metric()
  /// Whether it is scored, by number of the group.
  static constexpr std::array<bool, 4> default_groups = {true, true, true, false};
  std::array<bool, 4> groups = default_groups;
  /// Unseen clients without a part to score: whether half of their examples are support. Empty: if one is adapted.
  std::optional<bool> split = {};
  bool keep_best = false;        ///< select = "best": the run ends with the model of the best validation figure
  std::string groups_file = {};  ///< client_groups: file with the group of each client; empty: none
  std::shared_ptr<const client_groups> groups_of_clients = nullptr;  ///< its content, where figures are divided by it
  ranking_settings ranking = {};
  bool attention = false;  ///< rules that measure distance: report what each update weighed
};

}  // namespace furlong::federated
