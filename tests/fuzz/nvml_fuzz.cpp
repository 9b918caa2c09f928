// The emulated library's whole call surface: each input is a sequence of calls, a function and its arguments after the
// other. nvmlInit and nvmlShutdown are among them, so calls come before, between and after.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "emulator/abi/test_scene.h"

namespace {

using partita::emulator::test::kCalls;
using partita::emulator::test::Scene;

Scene& scene() {
  static Scene only(::dlopen(PARTITA_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL));
  return only;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Scene& now = scene();
  auto& draw = now.draw;
  draw.handles.assign(1, nullptr);
  if (now.call("nvmlInit_v2") != NVML_SUCCESS) std::abort();
  now.furnish();
  draw.feed({data, size});
  while (!draw.empty()) {
    const std::size_t row = draw.one_of(std::size(kCalls));
    if (!partita::emulator::test::is_return(now.call(row))) std::abort();
  }
  while (now.call("nvmlShutdown") == NVML_SUCCESS) {
  }
  return 0;
}
