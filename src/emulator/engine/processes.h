// A process is its pid and its start time: a pid that was given to another process is not mistaken for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace partita::emulator {

// Clock ticks since boot (/proc/PID/stat field 22); nullopt when there is no such process or it has ended (zombie).
std::optional<std::uint64_t> process_start_time(pid_t pid);

inline bool process_lives(pid_t pid, std::uint64_t start_time) { return process_start_time(pid) == start_time; }

}  // namespace partita::emulator
