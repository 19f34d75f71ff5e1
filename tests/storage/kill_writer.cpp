// Writes to a private store until it is killed: kill_writer FOLDER FIRST-COMMIT PIPE LAYOUT KEY-FILE.
#include "tests/storage/kill_trial.hpp"

int main(int count, char** arguments) { return furlong::tests::write_until_killed({arguments + 1, arguments + count}); }
