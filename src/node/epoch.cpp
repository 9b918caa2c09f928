#include "node/epoch.h"

#include <sys/stat.h>

#include <fstream>

namespace partita::node {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

Epoch read_epoch(const std::filesystem::path& device_root) {
  constexpr auto kBootId = "proc/sys/kernel/random/boot_id";
  Epoch epoch;
  epoch.boot_id = first_line(device_root / kBootId);
  if (epoch.boot_id.empty()) epoch.boot_id = first_line(std::filesystem::path("/") / kBootId);
  struct stat module{};
  if (stat((device_root / "sys/module/nvidia").c_str(), &module) == 0)
    epoch.driver_load = std::to_string(module.st_ino);
  return epoch;
}

}  // namespace partita::node
