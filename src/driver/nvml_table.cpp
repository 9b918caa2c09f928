#include "driver/nvml_table.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "driver/errors.h"

namespace partita::driver {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";

// Finds functions one by one and remembers the first needed one that is missing.
class Binder {
 public:
  explicit Binder(void* library) : library_(library) {}

  // Tries the names in order, newest form first.
  template <class... Parameters>
  void need(NvmlFunction<Parameters...>& function, std::initializer_list<const char*> names) {
    want(function, names);
    if (!function && missing_.empty()) missing_ = *names.begin();
  }

  template <class... Parameters>
  void want(NvmlFunction<Parameters...>& function, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (void* symbol = dlsym(library_, name)) {
        function.call = reinterpret_cast<int (*)(Parameters...)>(symbol);
        function.name = name;
        return;
      }
    }
  }

  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

void bind_gpus(Binder& bind, NvmlTable& t) {
  bind.need(t.init, {"nvmlInit_v2", "nvmlInit"});
  bind.need(t.shutdown, {"nvmlShutdown"});
  bind.need(t.driver_version, {"nvmlSystemGetDriverVersion"});
  bind.need(t.nvml_version, {"nvmlSystemGetNVMLVersion"});
  bind.need(t.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  bind.need(t.device_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  bind.need(t.device_by_uuid, {"nvmlDeviceGetHandleByUUID"});
  bind.need(t.device_index, {"nvmlDeviceGetIndex"});
  bind.need(t.device_minor, {"nvmlDeviceGetMinorNumber"});
  bind.need(t.device_name, {"nvmlDeviceGetName"});
  bind.need(t.device_uuid, {"nvmlDeviceGetUUID"});
  bind.need(t.device_pci, {"nvmlDeviceGetPciInfo_v3"});
  bind.need(t.device_memory, {"nvmlDeviceGetMemoryInfo"});
  bind.want(t.device_utilization, {"nvmlDeviceGetUtilizationRates"});
  bind.want(t.device_compute_capability, {"nvmlDeviceGetCudaComputeCapability"});
  bind.want(t.device_fields, {"nvmlDeviceGetFieldValues"});
  bind.need(t.compute_processes,
            {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  bind.want(t.graphics_processes,
            {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"});
  bind.want(t.mps_processes,
            {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"});
  bind.want(t.link_state, {"nvmlDeviceGetNvLinkState"});
  bind.want(t.link_remote_type, {"nvmlDeviceGetNvLinkRemoteDeviceType"});
  bind.want(t.link_remote_pci, {"nvmlDeviceGetNvLinkRemotePciInfo_v2"});
}

void bind_instances(Binder& bind, NvmlTable& t) {
  bind.need(t.mig_mode, {"nvmlDeviceGetMigMode"});
  bind.need(t.set_mig_mode, {"nvmlDeviceSetMigMode"});
  bind.need(t.max_mig_devices, {"nvmlDeviceGetMaxMigDeviceCount"});
  bind.need(t.mig_device_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  bind.need(t.gpu_instance_id, {"nvmlDeviceGetGpuInstanceId"});
  bind.need(t.compute_instance_id, {"nvmlDeviceGetComputeInstanceId"});
  bind.need(t.gpu_profile, {"nvmlDeviceGetGpuInstanceProfileInfo"});
  bind.want(t.gpu_profile_v2, {"nvmlDeviceGetGpuInstanceProfileInfoV"});
  bind.need(t.gpu_placements,
            {"nvmlDeviceGetGpuInstancePossiblePlacements_v2", "nvmlDeviceGetGpuInstancePossiblePlacements"});
  bind.need(t.gpu_instances, {"nvmlDeviceGetGpuInstances"});
  bind.need(t.gpu_instance_by_id, {"nvmlDeviceGetGpuInstanceById"});
  bind.need(t.gpu_instance_info, {"nvmlGpuInstanceGetInfo"});
  bind.need(t.create_gpu_instance, {"nvmlDeviceCreateGpuInstanceWithPlacement"});
  bind.need(t.destroy_gpu_instance, {"nvmlGpuInstanceDestroy"});
  bind.need(t.compute_profile, {"nvmlGpuInstanceGetComputeInstanceProfileInfo"});
  bind.want(t.compute_profile_v2, {"nvmlGpuInstanceGetComputeInstanceProfileInfoV"});
  bind.want(t.compute_placements, {"nvmlGpuInstanceGetComputeInstancePossiblePlacements"});
  bind.need(t.compute_instances, {"nvmlGpuInstanceGetComputeInstances"});
  bind.need(t.compute_instance_by_id, {"nvmlGpuInstanceGetComputeInstanceById"});
  bind.need(t.compute_instance_info, {"nvmlComputeInstanceGetInfo_v2"});
  bind.want(t.create_compute_at, {"nvmlGpuInstanceCreateComputeInstanceWithPlacement"});
  bind.need(t.create_compute, {"nvmlGpuInstanceCreateComputeInstance"});
  bind.need(t.destroy_compute_instance, {"nvmlComputeInstanceDestroy"});
}

}  // namespace

Result<NvmlLibrary> NvmlLibrary::open(const std::filesystem::path& path) {
  const std::string file = path.empty() ? kLibrary : path.string();
  NvmlLibrary opened;
  // It stays mapped after dlclose: driver libraries keep state of the process and are not made to be unloaded.
  opened.library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (opened.library_ == nullptr) {
    const char* reason = dlerror();
    return fail(ErrorCode::unavailable,
                fmt::format("cannot load the NVIDIA driver's library {} ({}); install the driver, or give an emulated "
                            "node: --emulate dgx-a100",
                            file, reason != nullptr ? reason : "no reason given"));
  }

  Binder binder(opened.library_);
  bind_gpus(binder, opened.table_);
  bind_instances(binder, opened.table_);
  if (!binder.missing().empty()) {
    return fail(ErrorCode::unavailable,
                fmt::format("{} has no function {}: the driver is too old for MIG with explicit "
                            "placement (R450 or newer is needed); update the driver",
                            file, binder.missing()));
  }

  if (const int answer = opened.table_.init(); answer != kNvmlSuccess) {
    return std::unexpected(init_error(answer, opened.table_.init.name));
  }
  opened.initialised_ = true;
  return opened;
}

NvmlLibrary::NvmlLibrary(NvmlLibrary&& other) noexcept
    : library_(std::exchange(other.library_, nullptr)),
      initialised_(std::exchange(other.initialised_, false)),
      table_(other.table_) {}

NvmlLibrary& NvmlLibrary::operator=(NvmlLibrary&& other) noexcept {
  if (this != &other) {
    close();
    library_ = std::exchange(other.library_, nullptr);
    initialised_ = std::exchange(other.initialised_, false);
    table_ = other.table_;
  }
  return *this;
}

NvmlLibrary::~NvmlLibrary() { close(); }

void NvmlLibrary::close() {
  if (std::exchange(initialised_, false)) table_.shutdown();
  if (library_ != nullptr) dlclose(std::exchange(library_, nullptr));
}

}  // namespace partita::driver
