#include "base/process.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <system_error>

#include "base/text.h"

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

Result<std::filesystem::path> find_program(const std::string& name) {
  const auto runnable = [](const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    if (runnable(name)) return name;
    return fail(ErrorCode::not_found, fmt::format("{} is no program that can be run", quote(name)));
  }
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path ? path : "/usr/bin:/bin", ':'))
    if (const auto file = std::filesystem::path(folder.empty() ? "." : folder) / name; !name.empty() && runnable(file))
      return file;
  return fail(ErrorCode::not_found, fmt::format("no program {} is in the folders of PATH", quote(name)));
}

}  // namespace partita
