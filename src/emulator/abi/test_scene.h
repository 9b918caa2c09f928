// A node with every kind of GPU, and the library on it, for calls at random.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "emulator/abi/test_calls.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/test_folder.h"
#include "emulator/engine/test_nodes.h"

namespace partita::emulator::test {

inline NodeSpec every_kind() {
  GpuSpec hopper = a100(1);
  hopper.compute_capability_major = 9;
  hopper.nvlinks = 18;
  hopper.vgpu_types = {{463, "GRID A100X-1-5C", 5120, 7, 19}, {468, "GRID A100-4C", 4096, 10, -1}};
  NodeSpec spec = with_mig_on(node({a100(0, true, false), hopper, a30(2), gb10(3), rtx_pro_6000(4)}));
  spec.gpus[0].mig_enabled = false;
  spec.vgpu_host = true;
  return spec;
}

class Scene {
 public:
  explicit Scene(void* library) : functions_(find_functions(library)) {
    if (!Engine::create(folder_.path(), every_kind())) std::abort();
    ::setenv("PARTITA_EMULATED_NODE", folder_.path().c_str(), 1);
    for (const GpuSpec& gpu : every_kind().gpus) {
      draw.texts.push_back(gpu.uuid);
      draw.texts.push_back(gpu.pci_bus_id);
      draw.texts.push_back(gpu.serial);
    }
    draw.texts.insert(draw.texts.end(), {"MIG-", "MIG-GPU-", "MIG-" + every_kind().gpus[1].uuid + "/1/0", "x/y/z"});
  }
  // Calls one function, or another when the bytes say so. What it answered.
  int call(std::size_t row) { return kCalls[row].make(functions_[row], draw); }
  int call(const char* name) { return call(row_of(name)); }
  void* function(std::size_t row) const { return functions_[row]; }

  // Makes instances, and keeps the handles of what is there.
  void furnish() {
    Engine engine = std::move(*Engine::open(folder_.path()));
    GpuInstanceState gi;
    ComputeInstanceState ci;
    for (const int gpu : {1, 2, 4}) {
      for (const ProfileSpec& profile : engine.spec().gpus[static_cast<std::size_t>(gpu)].profiles) {
        if (engine.create_gpu_instance(gpu, profile.id, std::nullopt, gi) != kSuccess) continue;
        const int compute = profile.compute.front().nvml_profile;
        if (engine.create_compute_instance(gpu, gi.id, gi.serial, compute, std::nullopt, ci) != kSuccess) continue;
        engine.hold(gpu, gi.id, ci.id, ::getpid(), 1 << 20);
      }
    }
    for (unsigned gpu = 0; gpu < 5; ++gpu) collect(gpu);
  }

  Draw draw;

 private:
  static std::size_t row_of(const char* name) {
    for (std::size_t row = 0; row < std::size(kCalls); ++row)
      if (std::string_view(kCalls[row].name) == name) return row;
    std::abort();
  }
  template <class Function>
  Function* named(const char* name) {
    return reinterpret_cast<Function*>(functions_[row_of(name)]);
  }
  void collect(unsigned index) {
    nvmlDevice_t device = nullptr, mig = nullptr;
    nvmlGpuInstance_t gi = nullptr;
    nvmlComputeInstance_t ci = nullptr;
    if (named<decltype(nvmlDeviceGetHandleByIndex_v2)>("nvmlDeviceGetHandleByIndex_v2")(index, &device) != 0) return;
    draw.handles.push_back(device);
    for (unsigned at = 0; at < 2; ++at) {
      if (named<decltype(nvmlDeviceGetMigDeviceHandleByIndex)>("nvmlDeviceGetMigDeviceHandleByIndex")(device, at,
                                                                                                      &mig) == 0)
        draw.handles.push_back(mig);
    }
    for (unsigned id = 0; id < 15; ++id) {
      if (named<decltype(nvmlDeviceGetGpuInstanceById)>("nvmlDeviceGetGpuInstanceById")(device, id, &gi) != 0) continue;
      draw.handles.push_back(gi);
      if (named<decltype(nvmlGpuInstanceGetComputeInstanceById)>("nvmlGpuInstanceGetComputeInstanceById")(gi, 0, &ci) ==
          0)
        draw.handles.push_back(ci);
    }
  }

  TestFolder folder_;
  std::vector<void*> functions_;
};

}  // namespace partita::emulator::test
