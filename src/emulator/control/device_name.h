// Which device of an emulated node a text means.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "emulator/engine/engine.h"

namespace partita::emulator {

// A GPU by index ("3"), UUID ("GPU-...") or PCI bus id in any usual spelling. `not_found` otherwise.
Result<int> find_gpu(const NodeSpec& node, std::string_view text);

struct DeviceAt {
  int gpu = 0;
  std::optional<int> gpu_instance{}, compute_instance{};  // nullopt: the whole GPU
};

// A MIG device ("MIG-<uuid>", "MIG-GPU-<gpu uuid>/<gi>/<ci>", "0:1" or "GPU:1" as GPU index and MIG index) or a GPU.
Result<DeviceAt> find_device(const Engine& engine, std::string_view text);

// Bytes of memory that the device has and that live holders of its GPU instance (or of the GPU) have not taken.
// nullopt: the device's memory is not known.
std::optional<std::uint64_t> free_memory(const Engine& engine, const DeviceAt& device);

// "GPU 3, MIG device 3g.20gb (GPU instance 1, compute instance 0)", "GPU 3".
std::string describe(const Engine& engine, const DeviceAt& device);

// Live holders of these GPUs, one line each: "GPU 3, ...: pid 4711 (python), 2.00 GiB".
std::vector<std::string> holders(const Engine& engine, const std::vector<int>& gpus);

}  // namespace partita::emulator
