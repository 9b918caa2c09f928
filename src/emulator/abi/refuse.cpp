#include "emulator/abi/unsupported.h"

namespace partita::emulator::abi {

namespace {

// No unit and no vGPU is ever there, so none of their handles is one.
Return no_such(const char* function, const void* handle, Return answer) noexcept {
  return guarded(function, -1,
                 [&](Engine&) -> Return { return handle == nullptr ? Return{kInvalidArgument} : answer; });
}

}  // namespace

Return unsupported(const char* function, Subject subject, const void* handle, bool null_argument,
                   bool known_version) noexcept {
  const auto refuse = [&]() -> Return {
    if (null_argument) return kInvalidArgument;
    return known_version ? kNotSupported : kVersionMismatch;
  };
  switch (subject) {
    case Subject::device:
      return on_device(function, handle, Takes::gpus_and_mig_devices, [&](const Target&) { return refuse(); });
    case Subject::gpu_instance:
      return on_instance(function, handle, HandleKind::gpu_instance,
                         [&](const Target&, const Instances&) { return refuse(); });
    case Subject::unit:
      return no_such(function, handle, kInvalidArgument);
    case Subject::vgpu_instance:
      return no_such(function, handle, kNotFound);
    case Subject::vgpu_type:
    case Subject::system:
      break;
  }
  return guarded(function, -1, [&](Engine&) { return refuse(); });
}

}  // namespace partita::emulator::abi
