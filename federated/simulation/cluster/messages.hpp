// Messages of the head of a run and its workers, as plain values. The head owns the run; a worker owns nothing that
// matters, and whatever it had is done again elsewhere when it is lost.
//
//   head --model_down, jobs_down, orders_down, collect_down, discard_down, scoring_down--> worker
//   head <--reports_up, sum_up, scores_up-- worker
//
// Each direction keeps its order. Private values travel with the jobs that need them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "federated/client/training_job.hpp"
#include "federated/experiment/client_score.hpp"
#include "federated/simulation/cluster/update_sums.hpp"
#include "models/packed_private.hpp"

namespace furlong::federated::cluster {

/// A model as clients get it. Workers keep the last models_kept of them.
struct model_down {
  std::uint64_t version = 0;
  std::shared_ptr<const models::shared_parameters> model;
};
constexpr std::size_t models_kept = 4;

/// Train this client.
struct job_request {
  std::uint64_t number = 0;  ///< of the request: a job that is given twice has two
  std::uint32_t client = 0;
  std::uint32_t attempt = 0;
  update_use use = update_use::returned;
  sum_number sum = 0;            ///< `added` only
  double freshness = 1.0;        ///< `added` only
  models::packed_private own{};  ///< its values before the task; empty: it has none
};
/// On a model that was sent before.
struct jobs_down {
  std::uint64_t version = 0;
  std::vector<double> reference;  ///< of the version, as broadcast has it
  update_limits limits;           ///< likewise
  std::vector<job_request> jobs;
};

/// What becomes of a kept update.
struct update_order {
  task_id task;
  bool counts = false;  ///< false: it is forgotten
  sum_number sum = 0;
  double freshness = 1.0;
};
struct orders_down {
  std::vector<update_order> orders;
};
/// Send this sum, to which nothing will be added any more.
struct collect_down {
  sum_number sum = 0;
};
/// This sum is void. Jobs that are to be added to it are still to be done.
struct discard_down {
  sum_number sum = 0;
};

/// Score these clients on a model that was sent before. Blocks of one evaluation have its number.
struct scoring_down {
  std::uint64_t evaluation = 0;
  std::uint64_t block = 0;
  std::uint64_t version = 0;
  struct client {
    group in = group::seen;
    std::uint32_t number = 0;
    models::packed_private own{};  ///< empty: it has none
  };
  std::vector<client> clients;
};
using to_worker = std::variant<model_down, jobs_down, orders_down, collect_down, discard_down, scoring_down>;

/// A job that is done, with the fields of training_job.
struct job_report {
  std::uint64_t number = 0;
  settlement report{};
  bool held = false;
  bool keeps = false;
  models::packed_private own{};
  client_update update{};  ///< update_use::returned only
  std::shared_ptr<const error> failure{};
  bool store_failed = false;
  bool part_failed = false;
  double seconds = 0.0;  ///< that it took
};
struct reports_up {
  std::vector<job_report> reports;
};
/// Answers collect_down.
struct sum_up {
  sum_number sum = 0;
  partial_sum content;
};
/// Answers scoring_down: scores in the order of its clients, or why there are none.
struct scores_up {
  std::uint64_t block = 0;
  std::vector<client_score> scores;
  std::shared_ptr<const error> failure{};
};
using from_worker = std::variant<reports_up, sum_up, scores_up>;

}  // namespace furlong::federated::cluster
