// modprobe for emulated nodes: the driver's modules are loaded, whatever this machine has. Other modules are the real
// modprobe's business.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/text.h"

namespace {

bool is_drivers(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name == "nvidia" || name.starts_with("nvidia_");
}

// The next modprobe in PATH behind this one.
int run_the_real_one(char** argv) {
  const auto own = partita::own_program();
  const char* variable = std::getenv("PATH");
  for (const std::string& folder :
       partita::split(variable != nullptr ? variable : "/usr/sbin:/sbin:/usr/bin:/bin", ':')) {
    const std::filesystem::path candidate = std::filesystem::path(folder) / "modprobe";
    std::error_code none;
    if (!own || std::filesystem::equivalent(candidate, *own, none) || ::access(candidate.c_str(), X_OK) != 0) continue;
    ::execv(candidate.c_str(), argv);
  }
  std::fprintf(stderr,
               "modprobe: FATAL: Module %s not found: this stand-in of Partita's emulated driver knows NVIDIA's "
               "modules only, and there is no other modprobe in PATH\n",
               argv[1] != nullptr ? argv[1] : "");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || std::ranges::find(words, "--help") != words.end() ||
      std::ranges::find(words, "-h") != words.end()) {
    std::puts(
        "modprobe, a stand-in of Partita's emulated driver: NVIDIA's modules are always loaded, and stay so when "
        "they are removed; for others the real modprobe is called");
    return 0;
  }
  std::size_t modules = 0, drivers = 0;
  bool parameters = false;  // modprobe MODULE PARAMETER=VALUE
  for (const std::string& word : words) {
    if (word.starts_with("-") || (modules > 0 && parameters)) continue;
    ++modules;
    drivers += is_drivers(word) ? 1 : 0;
    parameters = true;
  }
  return drivers > 0 ? 0 : run_the_real_one(argv);
}
