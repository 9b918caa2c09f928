// Who runs on a GPU, and which GPUs it is linked with.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/process.h"
#include "driver/session.h"

namespace partita::driver {
namespace {

using ProcessFunction = NvmlFunction<NvmlDevice, U32*, NvmlProcessInfo*>;

std::optional<int> instance_id(std::uint32_t id) {
  return id == kNvmlNoInstance ? std::nullopt : std::optional(static_cast<int>(id));
}

// One kind of process. The list may grow between two calls, so the buffer does too.
NvmlResult<std::vector<NvmlProcessInfo>> read_list(const ProcessFunction& function, NvmlDevice device) {
  std::vector<NvmlProcessInfo> buffer(32);
  int answer = kNvmlInsufficientSize;
  for (int attempt = 0; attempt < 8 && answer == kNvmlInsufficientSize; ++attempt) {
    auto count = static_cast<U32>(buffer.size());
    answer = function(device, &count, buffer.data());
    if (answer == kNvmlSuccess) {
      buffer.resize(std::min<std::size_t>(count, buffer.size()));
      return buffer;
    }
    buffer.resize(std::max<std::size_t>(count, buffer.size()) + 32);
  }
  return std::unexpected(NvmlRefusal{answer, function.name});
}

bool same_place(const layout::Process& a, const layout::Process& b) {
  return a.pid == b.pid && a.gpu_instance == b.gpu_instance && a.compute_instance == b.compute_instance;
}

void add(std::vector<layout::Process>& processes, const NvmlProcessInfo& info) {
  layout::Process process;
  process.pid = static_cast<pid_t>(info.pid);
  process.gpu_instance = instance_id(info.gpu_instance);
  process.compute_instance = instance_id(info.compute_instance);
  if (info.used_memory != kNvmlNoValue) process.memory = Bytes{info.used_memory};
  const auto same = [&](const layout::Process& other) { return same_place(process, other); };
  if (std::ranges::any_of(processes, same)) return;  // a program may compute and draw
  process.name = process_name(process.pid);
  processes.push_back(std::move(process));
}

}  // namespace

NvmlResult<std::vector<layout::Process>> read_processes(const NvmlTable& nvml, NvmlDevice device) {
  std::vector<layout::Process> processes;
  for (const auto* function : {&nvml.compute_processes, &nvml.graphics_processes, &nvml.mps_processes}) {
    if (!*function) continue;
    const auto list = read_list(*function, device);
    if (!list) {
      const int answer = list.error().nvml_return;
      // Without permission (MIG on, not root) nothing can be changed either, so an empty list does no harm.
      if (answer == kNvmlNotSupported || answer == kNvmlNoPermission || answer == kNvmlFunctionNotFound) continue;
      return std::unexpected(list.error());
    }
    for (const auto& info : *list) add(processes, info);
  }
  return processes;
}

std::vector<std::string> read_nvlink_peers(const NvmlTable& nvml, NvmlDevice device) {
  std::vector<std::string> peers;
  if (!nvml.link_state || !nvml.link_remote_type || !nvml.link_remote_pci) return peers;
  for (U32 link = 0; link < kNvmlMaxLinks; ++link) {
    U32 active = 0, type = 0;
    NvmlPciInfo remote{};
    const int answer = nvml.link_state(device, link, &active);
    if (answer == kNvmlNotSupported || answer == kNvmlInvalidArgument) break;  // no (more) links
    if (answer != kNvmlSuccess || active == 0) continue;
    if (nvml.link_remote_type(device, link, &type) != kNvmlSuccess || type != kNvmlRemoteIsGpu) continue;
    if (nvml.link_remote_pci(device, link, &remote) != kNvmlSuccess) continue;
    auto bus_id = fmt::format("{:08X}:{:02X}:{:02X}.0", remote.domain, remote.bus, remote.device);
    if (std::ranges::find(peers, bus_id) == peers.end()) peers.push_back(std::move(bus_id));
  }
  std::ranges::sort(peers);
  return peers;
}

}  // namespace partita::driver
