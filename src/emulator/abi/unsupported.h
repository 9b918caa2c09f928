// Functions of the interface that nobody wrote an answer for: they check their handle and the version of their struct
// as every function does, take injected faults, and answer NOT_SUPPORTED.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "emulator/abi/emulator.h"
#include "emulator/abi/guard.h"

namespace partita::emulator::abi {

enum class Subject { system, device, gpu_instance, unit, vgpu_instance, vgpu_type };

// vGPU handles are numbers.
inline const void* number_handle(unsigned number) {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(number));
}

// Is the struct's version, its first field, among those of the interface?
template <class Struct>
bool version_in(const Struct* at, std::initializer_list<unsigned> known) {
  return at == nullptr || std::ranges::find(known, at->version) != known.end();
}

Return unsupported(const char* function, Subject subject, const void* handle, bool null_argument,
                   bool known_version = true) noexcept;

}  // namespace partita::emulator::abi
