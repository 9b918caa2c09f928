// modprobe for emulated nodes: NVIDIA's modules are loaded, whatever this machine has. Removing "nvidia" loads the
// emulated driver anew, as if it were removed and loaded again at once. Other modules are the real modprobe's business.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/text.h"
#include "emulator/engine/engine.h"

namespace {

using namespace partita;

std::string module_name(std::string word) {
  std::ranges::replace(word, '-', '_');
  return word;
}

bool is_drivers(const std::string& word) {
  const std::string name = module_name(word);
  return name == "nvidia" || name.starts_with("nvidia_");
}

// The next modprobe in PATH behind this one.
int run_the_real_one(char** argv) {
  const auto own = own_program();
  const char* variable = std::getenv("PATH");
  for (const std::string& folder : split(variable != nullptr ? variable : "/usr/sbin:/sbin:/usr/bin:/bin", ':')) {
    const std::filesystem::path candidate = std::filesystem::path(folder) / "modprobe";
    std::error_code none;
    if (own && std::filesystem::equivalent(candidate, *own, none)) continue;
    if (::access(candidate.c_str(), X_OK) == 0) ::execv(candidate.c_str(), argv);
  }
  std::fputs(
      "modprobe: FATAL: this stand-in of Partita's emulated driver knows NVIDIA's modules only, and there is no other "
      "modprobe in PATH\n",
      stderr);
  return 1;
}

int reload_driver() {
  const char* node = std::getenv("PARTITA_EMULATED_NODE");
  auto engine = emulator::Engine::open(node != nullptr ? node : "");
  if (!engine) {
    std::fprintf(stderr, "modprobe: FATAL: %s\n", engine.error().message.c_str());
    return 1;
  }
  const emulator::NvmlReturn answer = engine->reload_driver();
  if (answer == emulator::kSuccess) return 0;
  if (answer == emulator::kInUse)
    std::fputs("modprobe: FATAL: Module nvidia is in use.\n", stderr);
  else
    std::fputs("modprobe: ERROR: could not remove 'nvidia': Operation not permitted\n", stderr);
  return 1;
}

void print_help() {
  std::puts(
      "modprobe, a stand-in of Partita's emulated driver\n\n"
      "usage: modprobe [-r] MODULE...\n\n"
      "NVIDIA's modules are always loaded; modprobe -r nvidia loads the emulated driver anew. For other modules the "
      "real modprobe is called.");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  bool remove = false;
  for (const std::string& word : std::vector<std::string>(argv + 1, argv + argc)) {
    if (word == "-h" || word == "--help") {
      print_help();
      return 0;
    }
    remove |= word == "-r" || word == "--remove";
    if (!word.starts_with("-")) names.push_back(word);
  }
  if (names.empty() || !is_drivers(names.front())) return run_the_real_one(argv);
  const bool whole = std::ranges::any_of(names, [](const std::string& name) { return module_name(name) == "nvidia"; });
  return remove && whole ? reload_driver() : 0;
}
