// The furlong command with one more model.
#include "tools/cli/main.hpp"

#include "item_bias.hpp"

int main(int argc, char** argv) {
  return furlong::tools::main(argc, argv, [] { furlong::models::register_model(item_bias::entry()); });
}
