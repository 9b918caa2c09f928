// What happens to a running node: reboot, reset, holds, faults.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <system_error>

#include "base/process.h"
#include "base/text.h"
#include "emulator/control/control.h"
#include "emulator/control/device_name.h"
#include "emulator/control/fault_text.h"
#include "emulator/control/nvml_return.h"
#include "emulator/engine/engine.h"

namespace partita::emulator {

namespace {

Result<Engine> open_node(std::string_view name) {
  const EmulatedNode node = TRY(find(name));
  return Engine::open(node.folder);
}

// For what only the machine's owner can do; every process on the node may write its state, so the folder tells.
Result<Engine> open_own_node(std::string_view name) {
  const EmulatedNode node = TRY(find(name));
  struct stat folder{};
  if (::geteuid() != 0 && ::stat(node.folder.c_str(), &folder) == 0 && folder.st_uid != ::geteuid())
    return fail(ErrorCode::denied, fmt::format("emulated node {} belongs to another user (uid {}); start one of your "
                                               "own: PARTITA_EMULATED_ROOT names the folder for emulated nodes",
                                               name, folder.st_uid));
  return Engine::open(node.folder);
}

std::unexpected<Error> refused(std::string_view what, NvmlReturn answer) {
  const ErrorCode code = answer == kNoPermission ? ErrorCode::denied : ErrorCode::driver;
  return fail(code, fmt::format("{}: the emulated driver answered {}", what, nvml_return_name(answer)));
}

// `cannot`: what does not work while these GPUs are held.
std::unexpected<Error> held(const Engine& engine, std::string_view cannot, const std::vector<int>& gpus) {
  std::vector<std::string> in_use = holders(engine, gpus);
  std::string message = fmt::format("{}: in use by {}; end them first", cannot, count_of(in_use.size(), "process"));
  return fail(ErrorCode::busy, std::move(message), std::move(in_use));
}

// GPUs linked directly are reset together: the ones that are missing from `chosen`.
std::vector<std::string> missing_peers(const NodeSpec& node, const std::vector<int>& chosen) {
  std::set<int> groups;
  for (const int gpu : chosen) groups.insert(node.gpus[static_cast<std::size_t>(gpu)].reset_group);
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < node.gpus.size(); ++i)
    if (const GpuSpec& gpu = node.gpus[i]; gpu.reset_group != 0 && groups.contains(gpu.reset_group) &&
                                           std::ranges::find(chosen, static_cast<int>(i)) == chosen.end())
      missing.push_back(fmt::format("GPU {} ({})", i, gpu.pci_bus_id));
  return missing;
}

Result<std::vector<int>> choose(const NodeSpec& node, const std::vector<std::string>& names) {
  std::set<int> chosen;
  for (const std::string& name : names) chosen.insert(TRY(find_gpu(node, name)));
  if (names.empty())
    for (std::size_t i = 0; i < node.gpus.size(); ++i) chosen.insert(static_cast<int>(i));
  return std::vector<int>(chosen.begin(), chosen.end());
}

}  // namespace

Result<void> reboot(std::string_view name) {
  const NvmlReturn answer = TRY(open_own_node(name)).reboot();
  if (answer != kSuccess) return refused("reboot", answer);
  return {};
}

Result<void> reset(std::string_view name, const std::vector<std::string>& gpus) {
  Engine engine = TRY(open_own_node(name));
  const std::vector<int> chosen = TRY(choose(engine.spec(), gpus));
  if (const std::vector<std::string> missing = missing_peers(engine.spec(), chosen); !missing.empty())
    return fail(
        ErrorCode::invalid,
        fmt::format("these GPUs are reset only together with their NVLink peers; name {} too", join(missing, ", ")));
  const NvmlReturn answer = engine.reset(chosen);
  if (answer == kSuccess) return {};
  if (answer != kInUse) return refused("reset", answer);
  return held(engine, "cannot reset", chosen);
}

Result<void> reload_driver(std::string_view name) {
  Engine engine = TRY(open_own_node(name));
  const NvmlReturn answer = engine.reload_driver();
  if (answer == kSuccess) return {};
  if (answer != kInUse) return refused("load the driver anew", answer);
  return held(engine, "cannot unload the driver", TRY(choose(engine.spec(), {})));
}

Result<void> advance_clock(std::string_view name, std::chrono::milliseconds by) {
  const NvmlReturn answer = TRY(open_own_node(name)).advance(by);
  if (answer != kSuccess) return refused("advance the clock", answer);
  return {};
}

Result<void> set_condition(std::string_view name, std::string_view gpu, Condition condition) {
  Engine engine = TRY(open_own_node(name));
  const NvmlReturn answer = engine.set_condition(TRY(find_gpu(engine.spec(), gpu)), condition);
  if (answer != kSuccess) return refused("break a GPU", answer);
  return {};
}

Result<void> raise_xid(std::string_view name, std::string_view device, unsigned xid) {
  Engine engine = TRY(open_own_node(name));
  const DeviceAt at = TRY(find_device(engine, device));
  const NvmlReturn answer = engine.raise_xid(at.gpu, xid, at.gpu_instance, at.compute_instance);
  if (answer != kSuccess) return refused("raise an Xid", answer);
  return {};
}

Result<void> hold(std::string_view name, std::string_view device, pid_t pid, Bytes memory, double load) {
  if (!(load >= 0 && load <= 1)) return fail(ErrorCode::invalid, "expected a load of 0 to 1 of the device");
  Engine engine = TRY(open_node(name));
  const DeviceAt at = TRY(find_device(engine, device));
  if (pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH))
    return fail(ErrorCode::not_found, fmt::format("no process has the id {}", pid));
  const std::string what = describe(engine, at);
  if (!at.gpu_instance && memory.value > 0 && engine.gpu(at.gpu).mig_current)
    return fail(ErrorCode::invalid,
                fmt::format("{} is in MIG mode: a process gets memory on a MIG device only; name one "
                            "of its MIG devices, or hold the GPU with 0 bytes",
                            what));
  const std::optional<std::uint64_t> free = free_memory(engine, at);
  if (free && memory.value > *free)
    return fail(
        ErrorCode::no_space,
        fmt::format("{} has {} free, less than the {} asked for", what, to_string(Bytes{*free}), to_string(memory)),
        holders(engine, {at.gpu}));
  const NvmlReturn answer = engine.hold(at.gpu, at.gpu_instance, at.compute_instance, pid, memory.value, load);
  if (answer == kSuccess) return {};
  if (answer == kNotFound) return fail(ErrorCode::not_found, fmt::format("{} is gone", what));
  return refused(fmt::format("hold {}", what), answer);
}

Result<void> add_fault(std::string_view name, const Fault& fault) {
  Engine engine = TRY(open_own_node(name));
  const int gpus = static_cast<int>(engine.spec().gpus.size());
  if (!is_nvml_function(fault.function))
    return fail(ErrorCode::invalid, fmt::format("{} is no NVML function; expected a name such as "
                                                "nvmlDeviceCreateGpuInstanceWithPlacement, or \"*\" for all",
                                                quote(fault.function)));
  if (fault.gpu && (*fault.gpu < 0 || *fault.gpu >= gpus))
    return fail(ErrorCode::not_found, fmt::format("emulated node {} has no GPU {}; it has {}", name, *fault.gpu, gpus));
  if (std::optional<std::string> wrong = impossible(fault)) return fail(ErrorCode::invalid, std::move(*wrong));
  const NvmlReturn answer = engine.add_fault(fault);
  if (answer == kInsufficientResources)
    return fail(ErrorCode::unavailable, fmt::format("emulated node {} has too many faults; clear them first", name));
  if (answer != kSuccess) return refused("add a fault", answer);
  return {};
}

Result<std::vector<Fault>> faults(std::string_view name) { return TRY(open_node(name)).faults(); }

Result<void> clear_faults(std::string_view name) {
  const NvmlReturn answer = TRY(open_own_node(name)).clear_faults();
  if (answer != kSuccess) return refused("clear faults", answer);
  return {};
}

Result<std::filesystem::path> library_path() {
  if (const char* given = std::getenv("PARTITA_EMULATOR_LIBRARY"); given && *given) {
    if (::access(given, R_OK) == 0) return std::filesystem::path(given);
    return fail(ErrorCode::unavailable, fmt::format("PARTITA_EMULATOR_LIBRARY names {}, which cannot be read", given));
  }
  const std::filesystem::path program = TRY(own_program());
  const std::filesystem::path library =
      (program.parent_path() / "../lib/partita/emulator/libnvidia-ml.so.1").lexically_normal();
  if (std::error_code none; std::filesystem::exists(library, none)) return library;
  return fail(ErrorCode::unavailable,
              fmt::format("the emulated driver's library is missing: expected {}; install Partita whole, or set "
                          "PARTITA_EMULATOR_LIBRARY",
                          library.string()));
}

}  // namespace partita::emulator
