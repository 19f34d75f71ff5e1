// The dashboard of a server.
#pragma once

#include <map>
#include <vector>

#include "actors/federation/processes.hpp"
#include "federated/rounds/run_observer.hpp"
#include "tools/dashboard/dashboard_server.hpp"
#include "tools/runs/prepared_run.hpp"

namespace furlong::tools {

/// Fills a status board from a server's run, and serves it.
class serve_board {
 public:
  /// Listens at "host:port". The run must outlive the board. Errors name --dashboard.
  [[nodiscard]] static result<std::unique_ptr<serve_board>> open(const std::string& address, const prepared_run& run);

  /// Publishes the current state.
  void show(const actors::federation::federation_view& view);
  /// The observer, which also updates the board. The board must outlive it.
  [[nodiscard]] federated::run_observer watching(federated::run_observer next);
  [[nodiscard]] const dashboard::dashboard_server& server() const { return *server_; }

 private:
  explicit serve_board(const prepared_run& run);
  void account(const actors::federation::federation_view& view, double now);
  void list_nodes(const actors::federation::federation_view& view, const std::map<std::uint32_t, std::string>& names,
                  double now);
  void tell_of_links(const dashboard::live_status& live);
  void count(const federated::run_event& event);

  /// Outcomes of a client's updates since the server started.
  struct client_counts {
    std::uint32_t folded = 0;
    std::uint32_t rejected = 0;
    std::uint32_t late = 0;
  };

  const prepared_run& run_;
  dashboard::live_status fixed_;  ///< constant part
  std::optional<dashboard::privacy_status> privacy_;
  std::uint64_t accounted_version_ = 0;  ///< that it is of
  double accounted_at_ = 0.0;            ///< seconds since 1970
  dashboard::status_board board_;
  dashboard::checkpoint_status checkpoint_;
  std::map<std::uint32_t, dashboard::node_status> nodes_;  ///< by their first client; including disconnected ones
  std::map<std::string, dashboard::unix_time> links_;      ///< connected nodes and aggregators, since when
  std::vector<client_counts> counts_;                      ///< by client
  std::uint64_t peak_bytes_ = 0;                           ///< peak memory observed
  double last_round_ended_;                                ///< seconds since 1970
  std::unique_ptr<dashboard::dashboard_server> server_;
};

}  // namespace furlong::tools
