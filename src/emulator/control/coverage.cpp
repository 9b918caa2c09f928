#include "emulator/control/coverage.h"

#include <dlfcn.h>

#include <memory>

#include "emulator/control/control.h"

namespace partita::emulator {

namespace {

struct Row {  // partita_emulator_function of the library's emulator.h
  const char* name;
  int implemented;
};

struct Close {
  void operator()(void* library) const { ::dlclose(library); }
};

using Library = std::unique_ptr<void, Close>;

Result<Library> load(const std::filesystem::path& path) {
  Library library(::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL));
  if (!library) return fail(ErrorCode::unavailable, std::string("cannot load the emulated library: ") + ::dlerror());
  return library;
}

}  // namespace

Result<void> check_function(const std::string& function) {
  if (function == "*") return {};
  const auto path = TRY(library_path());
  const Library library = TRY(load(path));
  if (function.starts_with("nvml") && ::dlsym(library.get(), function.c_str()) != nullptr) return {};
  return fail(ErrorCode::not_found, "the emulated library has no function \"" + function + "\"",
              {"expected a name such as nvmlDeviceCreateGpuInstanceWithPlacement, or \"*\" for all"});
}

Result<Coverage> coverage() {
  const auto path = TRY(library_path());
  const Library library = TRY(load(path));
  auto* list = reinterpret_cast<unsigned (*)(const Row**)>(::dlsym(library.get(), "partita_emulator_functions"));
  auto* interface = reinterpret_cast<const char* (*)()>(::dlsym(library.get(), "partita_emulator_interface"));
  if (list == nullptr || interface == nullptr) {
    return fail(ErrorCode::unavailable, path.string() + " is not the emulated library of this version of Partita");
  }
  Coverage coverage;
  coverage.interface_version = interface();
  const Row* rows = nullptr;
  for (unsigned i = 0, count = list(&rows); i < count; ++i) {
    coverage.functions.push_back({rows[i].name, rows[i].implemented != 0});
    coverage.implemented += rows[i].implemented != 0 ? 1 : 0;
  }
  return coverage;
}

}  // namespace partita::emulator
