// The furlong command with more algorithms, an aggregation rule and a selection policy.
#include "tools/cli/main.hpp"

#include "parts.hpp"

int main(int argc, char** argv) {
  using namespace furlong::federated;
  return furlong::tools::main(argc, argv, [] {
    register_algorithm(parts::fednova_entry());
    register_algorithm(parts::per_fedavg_entry());
    register_algorithm(parts::ifca_entry());
    register_rule(parts::sign_majority_entry());
    register_policy(parts::oort_entry());
  });
}
