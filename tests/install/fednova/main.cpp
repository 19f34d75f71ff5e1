// The furlong command with one more algorithm and one more aggregation rule.
#include "tools/cli/main.hpp"

#include "federated/algorithm.hpp"
#include "fednova.hpp"
#include "sign_majority.hpp"

int main(int argc, char** argv) {
  return furlong::tools::main(argc, argv, [] {
    furlong::federated::register_algorithm(fednova::entry());
    furlong::federated::register_rule(sign_majority::entry());
  });
}
