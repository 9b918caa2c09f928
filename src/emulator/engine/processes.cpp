#include "emulator/engine/processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace partita::emulator {

namespace {

// Who was seen alive, and when. Each half is written alone; the mark is the key mixed with the time, so halves of two
// writers are no entry.
struct Seen {
  std::atomic<std::uint64_t> time_ns{0}, mark{0};
};
constinit std::array<Seen, 256> seen;

std::uint64_t mark_of(pid_t pid, std::uint64_t start_time, std::uint64_t time_ns) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;  // multiplying by it loses nothing
  constexpr int kPidBits = 22;                         // the kernel's most
  return (start_time << kPidBits | static_cast<std::uint64_t>(pid)) ^ (time_ns * kOdd);
}

}  // namespace

std::optional<std::uint64_t> process_start_time(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char buffer[1024];
  const ssize_t length = ::read(fd, buffer, sizeof buffer);
  ::close(fd);
  if (length <= 0) return std::nullopt;
  const std::string_view text(buffer, static_cast<std::size_t>(length));
  // Field 2 is the name in parentheses and may hold anything; field 3, the state, follows the last ")".
  std::size_t at = text.rfind(')');
  if (at == std::string_view::npos || at + 2 >= text.size()) return std::nullopt;
  at += 2;
  if (text[at] == 'Z' || text[at] == 'X') return std::nullopt;
  for (int field = 3; field < 22; ++field) {
    at = text.find(' ', at);
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
  }
  std::uint64_t start = 0;
  if (std::from_chars(text.data() + at, text.data() + text.size(), start).ec != std::errc{}) return std::nullopt;
  return start;
}

bool process_lived_just_now(pid_t pid, std::uint64_t start_time) {
  using std::chrono::nanoseconds;
  constexpr std::uint64_t kBound = nanoseconds(kSeenAlive).count();
  const auto now = static_cast<std::uint64_t>(
      std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
  Seen& entry = seen[static_cast<unsigned>(pid) % seen.size()];
  const std::uint64_t then = entry.time_ns.load(std::memory_order_relaxed);
  const std::uint64_t mark = entry.mark.load(std::memory_order_relaxed);
  if (now - then < kBound && mark == mark_of(pid, start_time, then)) return true;
  if (!process_lives(pid, start_time)) return false;
  entry.time_ns.store(now, std::memory_order_relaxed);
  entry.mark.store(mark_of(pid, start_time, now), std::memory_order_relaxed);
  return true;
}

}  // namespace partita::emulator
