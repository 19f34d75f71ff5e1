// The furlong command with more algorithms, aggregation rules, a selection policy, availability and a model.
#include "tools/cli/main.hpp"

#include "parts.hpp"

int main(int argc, char** argv) {
  using namespace furlong::federated;
  return furlong::tools::main(argc, argv, [] {
    register_algorithm(parts::fednova_entry());
    register_algorithm(parts::per_fedavg_entry());
    register_algorithm(parts::ifca_entry());
    register_algorithm(parts::fedproto_entry());
    register_rule(parts::sign_majority_entry());
    register_rule(parts::median_of_means_entry());
    furlong::models::register_model(parts::perceptron_entry());
    register_policy(parts::oort_entry());
    register_availability(parts::shifts_entry());
  });
}
