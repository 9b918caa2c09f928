// Initialisation and what is asked of the system as a whole.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string>

#include "emulator/abi/guard.h"

using namespace partita::emulator::abi;
using partita::emulator::Engine;
using namespace partita::emulator;

namespace {

Return initialise_guarded(const char* function) noexcept {
  try {
    const NvmlReturn answer = initialise();
    if (answer != kSuccess) return answer;
    if (const auto fault = current_engine()->take_fault(function, -1)) {
      shut_down();
      return *fault;
    }
    return kSuccess;
  } catch (...) {
    return kUnknown;
  }
}

// "12.4" is 12040.
int cuda_number(const std::string& version) {
  int major = 0, minor = 0;
  const char* end = version.data() + version.size();
  const auto after = std::from_chars(version.data(), end, major).ptr;
  if (after != end) std::from_chars(after + 1, end, minor);
  return major * 1000 + minor * 10;
}

Return cuda_version(const char* function, int* version) noexcept {
  return guarded(function, -1, [&](Engine& engine) -> Return {
    if (version == nullptr) return kInvalidArgument;
    *version = cuda_number(engine.spec().cuda_version);
    return kSuccess;
  });
}

// The first word of a process's command line; "" when there is none.
std::string process_name(unsigned pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/cmdline";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  char text[4096];
  const ssize_t length = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (length <= 0) return "";
  text[length] = '\0';
  return text;
}

}  // namespace

NVML_EXPORT nvmlInit() { return initialise_guarded(__func__); }
NVML_EXPORT nvmlInit_v2() { return initialise_guarded(__func__); }
NVML_EXPORT nvmlInitWithFlags(unsigned flags) {
  (void)flags;  // no GPUs, no attaching: both succeed here anyway
  return initialise_guarded(__func__);
}

NVML_EXPORT nvmlShutdown() {
  return guarded(__func__, -1, [](Engine&) -> Return { return shut_down(); });
}

NVML_EXPORT nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return guarded(__func__, -1,
                 [&](Engine& engine) { return copy_text(engine.spec().driver_version, version, length); });
}

// As the real library tells it: CUDA's major version, then the driver's.
NVML_EXPORT nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return guarded(__func__, -1, [&](Engine& engine) {
    const NodeSpec& node = engine.spec();
    const std::string major = node.cuda_version.substr(0, node.cuda_version.find('.'));
    return copy_text(major + "." + node.driver_version, version, length);
  });
}

NVML_EXPORT nvmlSystemGetCudaDriverVersion(int* version) { return cuda_version(__func__, version); }
NVML_EXPORT nvmlSystemGetCudaDriverVersion_v2(int* version) { return cuda_version(__func__, version); }

NVML_EXPORT nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  return guarded(__func__, -1, [&](Engine&) -> Return {
    if (name == nullptr || length == 0) return kInvalidArgument;
    const std::string found = process_name(pid);
    if (found.empty()) return kNotFound;
    return copy_text(std::string_view(found).substr(0, length - 1), name, length);
  });
}
