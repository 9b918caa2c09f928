// NVML as the programs here call it: by the name of the function, in the library that stands beside them
// (../libnvidia-ml.so.1), else in the one that the loader finds.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "driver/nvml_api.h"

namespace partita::emulator::programs {

using driver::NvmlComputeInstance;
using driver::NvmlDevice;
using driver::NvmlGpuInstance;

// The open library, or nullptr.
void* nvml_library();

template <std::size_t Size>
struct FunctionName {
  char text[Size];
  consteval FunctionName(const char (&name)[Size]) { std::copy_n(name, Size, text); }
};

// What the function answers; FUNCTION_NOT_FOUND where the library has none of that name. Arguments are passed as they
// are: unsigned numbers as unsigned.
template <FunctionName Name, class... Arguments>
int call(Arguments... arguments) {
  using Function = int (*)(Arguments...);
  static const auto function = reinterpret_cast<Function>(::dlsym(nvml_library(), Name.text));
  return function != nullptr ? function(arguments...) : static_cast<int>(driver::kNvmlFunctionNotFound);
}

// The value that a function puts in its last argument, where it has one.
template <FunctionName Name, class Value, class... Arguments>
std::optional<Value> ask(Arguments... arguments) {
  Value value{};
  if (call<Name>(arguments..., &value) != driver::kNvmlSuccess) return std::nullopt;
  return value;
}

// The same for functions that fill a text.
template <FunctionName Name, class... Arguments>
std::optional<std::string> ask_text(Arguments... arguments) {
  char text[96] = {};
  if (call<Name>(arguments..., static_cast<char*>(text), 96U) != driver::kNvmlSuccess) return std::nullopt;
  return std::string(text);
}

// "In use by another client": how the driver's programs say what a function answered.
std::string error_text(int answer);

// The exit status that nvidia-smi documents for it.
int exit_status_of(int answer);

}  // namespace partita::emulator::programs
