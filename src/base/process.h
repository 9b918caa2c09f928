// What /proc tells about processes, and where programs are.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/error.h"

namespace partita {

// The name that the kernel keeps (/proc/PID/comm, at most 15 bytes); "" when there is no such process.
std::string process_name(pid_t pid);

// The path of this program. `unavailable` when /proc is not mounted.
Result<std::filesystem::path> own_program();

// The file that starting the program `name` would run, looked for in PATH as a shell does. `not_found` says so.
Result<std::filesystem::path> find_program(const std::string& name);

}  // namespace partita
