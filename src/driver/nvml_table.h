// NVML's functions, found in the library at run time. An open library is one NVML session: nvmlInit was called, and
// the destructor shuts down.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "driver/nvml_api.h"

namespace partita::driver {

// One function of the library, with the name it was found by. Called like the function; where the driver is too old to
// have it, the answer is FUNCTION_NOT_FOUND.
template <class... Parameters>
struct NvmlFunction {
  int (*call)(Parameters...) = nullptr;
  const char* name = "";
  explicit operator bool() const { return call != nullptr; }
  int operator()(Parameters... parameters) const {
    return call != nullptr ? call(parameters...) : kNvmlFunctionNotFound;
  }
};

using U32 = std::uint32_t;

struct NvmlTable {
  // The library, the system
  NvmlFunction<> init, shutdown;
  NvmlFunction<char*, U32> driver_version, nvml_version;

  // GPUs
  NvmlFunction<U32*> device_count;
  NvmlFunction<U32, NvmlDevice*> device_by_index;
  NvmlFunction<const char*, NvmlDevice*> device_by_uuid;
  NvmlFunction<NvmlDevice, U32*> device_index, device_minor;
  NvmlFunction<NvmlDevice, char*, U32> device_name, device_uuid;
  NvmlFunction<NvmlDevice, NvmlPciInfo*> device_pci;
  NvmlFunction<NvmlDevice, NvmlMemory*> device_memory;
  NvmlFunction<NvmlDevice, NvmlUtilization*> device_utilization;                       // optional
  NvmlFunction<NvmlDevice, int*, int*> device_compute_capability;                      // optional
  NvmlFunction<NvmlDevice, int, NvmlFieldValue*> device_fields;                        // optional
  NvmlFunction<NvmlDevice, U32*, NvmlProcessInfo*> compute_processes;                  // with instance ids
  NvmlFunction<NvmlDevice, U32*, NvmlProcessInfo*> graphics_processes, mps_processes;  // optional
  NvmlFunction<NvmlDevice, U32, U32*> link_state, link_remote_type;                    // optional
  NvmlFunction<NvmlDevice, U32, NvmlPciInfo*> link_remote_pci;                         // optional

  // MIG mode and MIG devices
  NvmlFunction<NvmlDevice, U32*, U32*> mig_mode;
  NvmlFunction<NvmlDevice, U32, int*> set_mig_mode;
  NvmlFunction<NvmlDevice, U32*> max_mig_devices, gpu_instance_id, compute_instance_id;
  NvmlFunction<NvmlDevice, U32, NvmlDevice*> mig_device_by_index;

  // GPU instances
  NvmlFunction<NvmlDevice, U32, NvmlGpuProfileInfo*> gpu_profile;
  NvmlFunction<NvmlDevice, U32, NvmlGpuProfileInfoV2*> gpu_profile_v2;  // optional
  NvmlFunction<NvmlDevice, U32, NvmlPlacement*, U32*> gpu_placements;
  NvmlFunction<NvmlDevice, U32, NvmlGpuInstance*, U32*> gpu_instances;
  NvmlFunction<NvmlDevice, U32, NvmlGpuInstance*> gpu_instance_by_id;
  NvmlFunction<NvmlGpuInstance, NvmlGpuInstanceInfo*> gpu_instance_info;
  NvmlFunction<NvmlDevice, U32, const NvmlPlacement*, NvmlGpuInstance*> create_gpu_instance;
  NvmlFunction<NvmlGpuInstance> destroy_gpu_instance;

  // Compute instances
  NvmlFunction<NvmlGpuInstance, U32, U32, NvmlComputeProfileInfo*> compute_profile;
  NvmlFunction<NvmlGpuInstance, U32, U32, NvmlComputeProfileInfoV2*> compute_profile_v2;  // optional
  NvmlFunction<NvmlGpuInstance, U32, NvmlPlacement*, U32*> compute_placements;            // optional
  NvmlFunction<NvmlGpuInstance, U32, NvmlComputeInstance*, U32*> compute_instances;
  NvmlFunction<NvmlGpuInstance, U32, NvmlComputeInstance*> compute_instance_by_id;
  NvmlFunction<NvmlComputeInstance, NvmlComputeInstanceInfo*> compute_instance_info;
  NvmlFunction<NvmlGpuInstance, U32, const NvmlPlacement*, NvmlComputeInstance*> create_compute_at;  // optional
  NvmlFunction<NvmlGpuInstance, U32, NvmlComputeInstance*> create_compute;
  NvmlFunction<NvmlComputeInstance> destroy_compute_instance;
};

class NvmlLibrary {
 public:
  // `path` empty: libnvidia-ml.so.1 by the dynamic linker. `unavailable`: library missing or not loadable, a needed
  // function missing (names it), or what nvmlInit answered, each with what to do; `denied` for NO_PERMISSION.
  static Result<NvmlLibrary> open(const std::filesystem::path& path);

  const NvmlTable& table() const { return table_; }
  bool is_open() const { return library_ != nullptr; }

  NvmlLibrary(NvmlLibrary&& other) noexcept;
  NvmlLibrary& operator=(NvmlLibrary&& other) noexcept;
  ~NvmlLibrary();

 private:
  NvmlLibrary() = default;
  void close();

  void* library_ = nullptr;  // of dlopen
  bool initialised_ = false;
  NvmlTable table_;
};

}  // namespace partita::driver
