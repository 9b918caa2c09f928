#include "base/process.h"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

namespace partita {

std::string process_name(pid_t pid) {
  std::ifstream comm(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(comm, name);
  return name;
}

Result<std::filesystem::path> own_program() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(ErrorCode::unavailable, "cannot read /proc/self/exe: " + error.message());
  return path;
}

}  // namespace partita
