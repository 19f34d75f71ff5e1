// The furlong command with two more algorithms and one more aggregation rule.
#include "tools/cli/main.hpp"

#include "fedalt.hpp"
#include "federated/algorithm.hpp"
#include "scaffold.hpp"
#include "sign_majority.hpp"

int main(int argc, char** argv) {
  furlong::federated::register_algorithm(fedalt::entry());
  furlong::federated::register_algorithm(scaffold::entry());
  furlong::federated::register_rule(sign_majority::entry());
  return furlong::tools::main(argc, argv);
}
