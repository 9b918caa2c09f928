#include "emulator/programs/nvml.h"

#include "base/process.h"

namespace partita::emulator::programs {

namespace {

void* open_library() {
  if (const auto program = own_program()) {
    const auto beside = program->parent_path().parent_path() / "libnvidia-ml.so.1";
    if (void* library = ::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

void* nvml_library() {
  static void* const library = open_library();
  return library;
}

std::string error_text(int answer) {
  using Function = const char* (*)(int);
  static const auto function = reinterpret_cast<Function>(::dlsym(nvml_library(), "nvmlErrorString"));
  return function != nullptr ? function(answer) : "Unknown Error";
}

int exit_status_of(int answer) {
  switch (answer) {
    case driver::kNvmlSuccess:
    case driver::kNvmlInvalidArgument:
    case driver::kNvmlNotSupported:
    case driver::kNvmlNoPermission:
    case driver::kNvmlNotFound:
    case driver::kNvmlDriverNotLoaded:
    case driver::kNvmlGpuIsLost:
      return answer;
    default:
      return 255;
  }
}

}  // namespace partita::emulator::programs
