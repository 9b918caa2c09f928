// A process is its pid and its start time: a pid that was given to another process is not mistaken for it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>

namespace partita::emulator {

// Clock ticks since boot (/proc/PID/stat field 22); nullopt when there is no such process or it has ended (zombie).
std::optional<std::uint64_t> process_start_time(pid_t pid);

inline bool process_lives(pid_t pid, std::uint64_t start_time) { return process_start_time(pid) == start_time; }

// The same for callers that count nanoseconds and ask again and again: a process that was seen alive is taken to live
// for kSeenAlive more. What changes state, or lists processes, asks process_lives().
inline constexpr std::chrono::microseconds kSeenAlive{50};
bool process_lived_just_now(pid_t pid, std::uint64_t start_time);

}  // namespace partita::emulator
