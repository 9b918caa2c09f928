// Handles are values, not addresses: kind, GPU, ids and the serial of the instance, packed into the pointer's bits.
// They need no table, mean the same in every thread and after fork(), and a handle of an instance that is gone (or of
// one that was made again in its place) is known by its serial. The top byte keeps them apart from every real address.
#pragma once

#include <cstdint>
#include <optional>

namespace partita::emulator::abi {

enum class HandleKind : std::uint8_t {
  gpu = 0xe1,
  mig_device = 0xe2,
  gpu_instance = 0xe3,
  compute_instance = 0xe4,
  event_set = 0xe5,
  gpm_sample = 0xe6
};

struct Handle {
  HandleKind kind = HandleKind::gpu;
  int gpu = 0;
  int gpu_instance = 0, compute_instance = 0;
  std::uint32_t serial = 0;  // of the GPU instance, or of the compute instance (also for a MIG device)
};

inline constexpr std::uint32_t kGpuSerial = 0x47505530;  // whole GPUs do not come and go

// Becomes whichever of NVML's opaque pointers it is assigned to.
struct PackedHandle {
  std::uint64_t bits;
  template <class Opaque>
  operator Opaque*() const {
    return reinterpret_cast<Opaque*>(static_cast<std::uintptr_t>(bits));
  }
};

inline PackedHandle pack(const Handle& h) {
  const std::uint64_t bits = static_cast<std::uint64_t>(h.kind) << 56 | static_cast<std::uint64_t>(h.gpu & 0xff) << 48 |
                             static_cast<std::uint64_t>(h.gpu_instance & 0xff) << 40 |
                             static_cast<std::uint64_t>(h.compute_instance & 0xff) << 32 | h.serial;
  return {bits};
}

inline Handle unpack(const void* handle) {
  const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
  auto byte = [&](int shift) { return static_cast<int>(bits >> shift & 0xff); };
  return {static_cast<HandleKind>(byte(56)), byte(48), byte(40), byte(32), static_cast<std::uint32_t>(bits)};
}

inline PackedHandle gpu_handle(int gpu) { return pack({HandleKind::gpu, gpu, 0, 0, kGpuSerial}); }

}  // namespace partita::emulator::abi
