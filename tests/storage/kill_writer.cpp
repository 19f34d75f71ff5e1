// Writes to a private store until it is killed: kill_writer FOLDER FIRST-COMMIT PIPE.
#include <string>

#include "tests/storage/kill_trial.hpp"

int main(int count, char** arguments) {
  if (count != 4) return 2;
  return furlong::tests::write_until_killed(arguments[1], std::stoull(arguments[2]), std::stoi(arguments[3]));
}
