// What an NVML function answered, as an Error.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "layout/layout.h"

namespace partita::driver {

// "NVML_ERROR_IN_USE (19)"; "NVML_ERROR (77)" for a number that has no name here.
std::string nvml_return_text(int nvml_return);

// `busy` for IN_USE, `no_space` for INSUFFICIENT_RESOURCES, `denied` for NO_PERMISSION, else `driver`:
// "GPU 3 (00000000:47:00.0): nvmlGpuInstanceDestroy answered NVML_ERROR_IN_USE (19): a process still uses it; ...".
// `object` is what was acted on; "" leaves it out.
Error nvml_error(int nvml_return, const char* function, std::string_view object);

// Why nvmlInit failed and what to do: `unavailable`, `denied` for NO_PERMISSION.
Error init_error(int nvml_return, const char* function);

// "GPU 3 (00000000:47:00.0)": how messages name a GPU.
std::string gpu_text(const layout::Gpu& gpu);

}  // namespace partita::driver
