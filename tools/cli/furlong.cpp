#include "tools/cli/main.hpp"

int main(int argc, char** argv) { return furlong::tools::main(argc, argv); }
