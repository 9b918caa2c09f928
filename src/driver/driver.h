// The GPU driver through NVML, opened at run time. The only seam to the driver is NVML's C functions: tests run on the
// emulated library. Explicit placement always. Not thread safe; one per thread.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "catalog/catalog.h"
#include "layout/layout.h"

namespace partita::driver {

struct Options {
  // Path of libnvidia-ml.so.1; empty: by the dynamic linker.
  std::filesystem::path library;
  // Prefix of /dev, /proc and /sys: the emulated node's root/ or "/".
  std::filesystem::path device_root = "/";
};

// What a mode change came to.
enum class ModeChange {
  done,            // active now (or was already)
  reset_required,  // pending until the GPU is reset
  in_use,          // the driver answered IN_USE: something runs on the GPU
};

class Driver {
 public:
  // `unavailable` tells apart: library missing, library without a needed symbol (names it: driver too old), driver not
  // loaded, driver and library of different versions. nvmlInit is called; the destructor shuts down.
  static Result<Driver> open(catalog::Catalog& catalog, const Options& options);

  // Everything about all GPUs. A GPU that fails is reported with Gpu::fault, not as an error. With MIG on, the board
  // is the catalog's overwritten by the driver's own profile tables (memory, SMs, placements, counts); a GPU the
  // catalog does not know gets a board from those tables alone.
  Result<layout::NodeState> state();
  Result<layout::Gpu> gpu(std::string_view uuid);

  // Mode changes do not reset. Errors: `driver` with function, return and GPU; `denied` for NO_PERMISSION.
  Result<ModeChange> set_mig_mode(std::string_view gpu_uuid, bool enabled);

  // Instances. `profile` and `compute` are indices in the GPU's board as state() gave it. `busy` for IN_USE,
  // `no_space` for INSUFFICIENT_RESOURCES, `denied` for NO_PERMISSION, else `driver`.
  Result<layout::GpuInstance> create_gpu_instance(const layout::Gpu& gpu, int profile, int start);
  Result<void> destroy_gpu_instance(const layout::Gpu& gpu, int gpu_instance_id);
  Result<layout::ComputeInstance> create_compute_instance(const layout::Gpu& gpu, const layout::GpuInstance& instance,
                                                          int compute, int start);
  Result<void> destroy_compute_instance(const layout::Gpu& gpu, int gpu_instance_id, int compute_instance_id);

  // Capability minors of a MIG device, from root/proc/driver/nvidia/capabilities or by the formula
  // 3 + 135*G + 9*I (+ 1 + C) where the files are absent.
  Result<int> capability_minor(const layout::Gpu& gpu, int gpu_instance_id, std::optional<int> compute_instance_id);

  // Both forms name the same device: "MIG-<uuid>" and "MIG-GPU-<gpu uuid>/<gi>/<ci>". `not_found` otherwise.
  struct DeviceName {
    std::string gpu_uuid;
    int gpu_instance = 0, compute_instance = 0;
  };
  Result<DeviceName> find_device(std::string_view mig_name);

  // Closes and opens NVML again: after a reset the old handles are stale.
  Result<void> reopen();

  Driver(Driver&&) noexcept;
  Driver& operator=(Driver&&) noexcept;
  ~Driver();

 private:
  struct Impl;
  explicit Driver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::driver
