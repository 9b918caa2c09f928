// The one way into the library: every exported function runs its body in guarded() or one of the on_*() forms. They
// answer UNINITIALIZED before nvmlInit, take an injected fault of this function, check the handle, and turn any
// exception into UNKNOWN.
//
// A MIG device handle names one compute instance. Functions say which handles they take: what the real library refuses
// on a MIG device (readings of the whole board, PCI, minor, serial) answers NOT_SUPPORTED there.
#pragma once

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "emulator/abi/handle.h"
#include "emulator/abi/library.h"
#include "emulator/abi/nvml_types.h"
#include "emulator/engine/engine.h"

namespace partita::emulator::abi {

// A GPU or MIG device handle of the right form, and the GPU's mode and counts.
struct Target {
  Engine& engine;
  const GpuSpec& spec;
  Handle handle;
  GpuHead summary;

  bool is_mig() const { return handle.kind == HandleKind::mig_device; }
  bool mig_is_on() const { return summary.mig_current != 0; }  // of the GPU
  int driver_branch() const { return std::atoi(engine.spec().driver_version.c_str()); }
};
// The instances behind a MIG device or instance handle; `compute` is null for a GPU instance handle.
struct Instances {
  InstanceRecord record;
  const InstanceRecord* gpu_instance = &record;
  const ComputeRecord* compute = nullptr;

  Instances() = default;
  Instances(const Instances&) = delete;
  Instances& operator=(const Instances&) = delete;
};

enum class Takes { gpus, gpus_and_mig_devices, mig_devices };

// False when the instances of the handle are gone.
bool find_instances(const Engine& engine, const Handle& handle, Instances& found);

template <class Body>
Return guarded(const char* function, int gpu, Body body) noexcept {
  try {
    Engine* engine = current_engine();
    if (engine == nullptr) return kUninitialized;
    if (const auto fault = engine->take_fault(function, gpu)) return *fault;
    return body(*engine);
  } catch (...) {
    return kUnknown;
  }
}

inline bool has_gpu(const Engine& engine, int gpu) {
  return gpu >= 0 && static_cast<std::size_t>(gpu) < engine.spec().gpus.size();
}

// Runs body(Target) for a GPU or MIG device handle.
template <class Body>
Return on_device(const char* function, const void* device, Takes takes, Body body) noexcept {
  const Handle handle = unpack(device);
  return guarded(function, handle.gpu, [&](Engine& engine) -> Return {
    const bool mig = handle.kind == HandleKind::mig_device;
    if (!mig && (handle.kind != HandleKind::gpu || handle.serial != kGpuSerial)) return kInvalidArgument;
    if (!has_gpu(engine, handle.gpu)) return kInvalidArgument;
    if (mig && takes == Takes::gpus) return kNotSupported;
    if (!mig && takes == Takes::mig_devices) return kInvalidArgument;
    Target target{engine, engine.spec().gpus[static_cast<std::size_t>(handle.gpu)], handle, engine.summary(handle.gpu)};
    if (target.summary.lost != 0) return kGpuIsLost;
    return body(target);
  });
}

// Runs body(Target, Instances) for a GPU instance or compute instance handle.
template <class Body>
Return on_instance(const char* function, const void* instance, HandleKind kind, Body body) noexcept {
  const Handle handle = unpack(instance);
  return guarded(function, handle.gpu, [&](Engine& engine) -> Return {
    if (handle.kind != kind || !has_gpu(engine, handle.gpu)) return kInvalidArgument;
    Target target{engine, engine.spec().gpus[static_cast<std::size_t>(handle.gpu)], handle, engine.summary(handle.gpu)};
    if (target.summary.lost != 0) return kGpuIsLost;
    Instances found;
    if (!find_instances(engine, handle, found)) return kNotFound;
    return body(target, found);
  });
}

// A function that the real library offers for whole GPUs only.
template <class Body>
Return on_gpu(const char* function, const void* device, Body body) noexcept {
  return on_device(function, device, Takes::gpus, body);
}

template <class T, class Value>
Return give(T* to, Value value) {
  if (to == nullptr) return kInvalidArgument;
  *to = static_cast<T>(value);
  return kSuccess;
}

// The common getter: one value of a whole GPU, read(Target).
template <class T, class Read>
Return gpu_value(const char* function, const void* device, T* to, Read read) noexcept {
  return on_gpu(function, device, [&](const Target& target) -> Return {
    return to == nullptr ? kInvalidArgument : give(to, read(target));
  });
}

// A list in the two-step form: too little room answers INSUFFICIENT_SIZE and how many there are. `to` may be null when
// there is nothing to give.
template <class Row, class Rows>
Return give_rows(const Rows& rows, unsigned* count, Row* to) {
  if (count == nullptr) return kInvalidArgument;
  const unsigned room = *count;
  *count = static_cast<unsigned>(std::size(rows));
  if (*count > room) return kInsufficientSize;
  if (*count > 0 && to == nullptr) return kInvalidArgument;
  for (const auto& row : rows) *to++ = static_cast<Row>(row);
  return kSuccess;
}

inline Return copy_text(std::string_view text, char* to, unsigned length) {
  if (to == nullptr) return kInvalidArgument;
  if (length <= text.size()) return kInsufficientSize;
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\0';
  return kSuccess;
}

template <std::size_t N>
void put_text(char (&to)[N], std::string_view text) {
  const std::size_t length = text.size() < N ? text.size() : N - 1;
  std::memcpy(to, text.data(), length);
  std::memset(to + length, 0, N - length);
}

inline unsigned to_unsigned(int value) { return value < 0 ? 0u : static_cast<unsigned>(value); }

}  // namespace partita::emulator::abi
