// The script that has started the command with the Python package (python/furlong/command.py).
#pragma once

#include "tools/runs/json.hpp"

namespace furlong::tools {

/// To be called first: the command ends with its script, as by Ctrl-C, and takes the descriptors that the script has
/// opened for it, so that no process that it starts has them.
void attach_to_script();
/// Sends a line: the run directory, a round, an evaluation. Waits until the script has seen it, so that it can stop the
/// run there, as by Ctrl-C. Does nothing without a script that asks for lines. One thread at a time.
void tell_script(const json& line);

}  // namespace furlong::tools
