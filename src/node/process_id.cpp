#include "node/process_id.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

namespace partita::node {

std::optional<ProcessFacts> process_facts(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const std::string path = fmt::format("/proc/{}/stat", pid);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::array<char, 1024> buffer{};
  struct stat owner{};
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  const bool known = ::fstat(fd, &owner) == 0;
  ::close(fd);
  if (size <= 0 || !known) return std::nullopt;
  // "pid (name) S ...": the name may hold anything, so count from its last parenthesis; the start time is field 22.
  std::string_view text(buffer.data(), static_cast<std::size_t>(size));
  const auto name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  text.remove_prefix(name_end + 2);
  if (text.front() == 'Z' || text.front() == 'X') return std::nullopt;
  for (int field = 3; field < 22; ++field) {
    const auto space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    text.remove_prefix(space + 1);
  }
  ProcessFacts facts{{pid, 0}, owner.st_uid};
  if (std::from_chars(text.data(), text.data() + text.size(), facts.id.start_time).ec != std::errc{})
    return std::nullopt;
  return facts;
}

bool is_alive(const api::ProcessId& process) {
  const auto facts = process_facts(process.pid);
  return facts && facts->id == process;
}

}  // namespace partita::node
