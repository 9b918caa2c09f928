// A node of three GPUs, and the library on it as clients open it.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "emulator/abi/nvml_types.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/test_folder.h"
#include "emulator/engine/test_nodes.h"

// The library's function, by its own name and type.
#define NVML(function) reinterpret_cast<decltype(&function)>(::dlsym(::partita::emulator::test::library(), #function))

namespace partita::emulator::test {

inline void* library() {
  static void* handle = ::dlopen(PARTITA_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return handle;
}

// An A100 without MIG, an H100 with, and one whose links go to it.
inline NodeSpec two_kinds() {
  GpuSpec hopper = a100(1);
  hopper.compute_capability_major = 9;
  hopper.nvlinks = 18;
  hopper.mig_enabled = true;
  hopper.vgpu_types = {{463, "GRID A100X-1-5C", 5120, 7, 19}, {468, "GRID A100-4C", 4096, 10, -1}};
  GpuSpec other = hopper;
  const GpuSpec third = a100(2);
  other.uuid = third.uuid, other.pci_bus_id = third.pci_bus_id, other.serial = third.serial;
  other.pdi = third.pdi, other.minor = 2, other.mig_enabled = false;
  NodeSpec spec = node({a100(0, false, false), hopper, other});
  for (GpuSpec& gpu : spec.gpus) gpu.power_limit_mw = 400'000, gpu.boost_clock_mhz = 1410, gpu.bar1_mib = 65536;
  GpuSpec& seen = spec.gpus[0];
  seen.least_power_mw = 100'000, seen.application_clock_mhz = 1095, seen.video_clock_mhz = 1290;
  seen.memory_bus_bits = 5120;
  seen.firmware = {"92.00.36.00.04", "692-2G506-0200-002", "G506.0200.00.04", "2.0", "6.16"};
  return spec;
}

class Answers : public testing::Test {
 protected:
  explicit Answers(const NodeSpec& spec = two_kinds()) {
    EXPECT_TRUE(Engine::create(folder_.path(), spec));
    ::setenv("PARTITA_EMULATED_NODE", folder_.path().c_str(), 1);
    EXPECT_EQ(NVML(nvmlInit_v2)(), kSuccess);
    engine_.emplace(std::move(*Engine::open(folder_.path())));
  }
  ~Answers() override { NVML(nvmlShutdown)(); }

  static nvmlDevice_t gpu(unsigned index) {
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(NVML(nvmlDeviceGetHandleByIndex_v2)(index, &device), kSuccess);
    return device;
  }
  nvmlDevice_t mig_device(int index, int profile, int compute) {
    GpuInstanceState gi;
    ComputeInstanceState ci;
    EXPECT_EQ(engine_->create_gpu_instance(index, profile, std::nullopt, gi), kSuccess);
    EXPECT_EQ(engine_->create_compute_instance(index, gi.id, gi.serial, compute, std::nullopt, ci), kSuccess);
    gi_ = gi.id;
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUID)(ci.uuid.c_str(), &device), kSuccess);
    return device;
  }
  template <class Function>
  static unsigned number(Function function, nvmlDevice_t device) {
    unsigned value = ~0u;
    EXPECT_EQ(function(device, &value), kSuccess);
    return value;
  }
  static nvmlFieldValue_t field(nvmlDevice_t device, unsigned id) {
    nvmlFieldValue_t value{};
    value.fieldId = id;
    EXPECT_EQ(NVML(nvmlDeviceGetFieldValues)(device, 1, &value), kSuccess);
    return value;
  }

  TestFolder folder_;
  std::optional<Engine> engine_;
  int gi_ = -1;
};

}  // namespace partita::emulator::test
