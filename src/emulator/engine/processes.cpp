#include "emulator/engine/processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <string_view>

namespace partita::emulator {

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

}  // namespace partita::emulator
