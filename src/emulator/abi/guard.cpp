#include "emulator/abi/guard.h"

namespace partita::emulator::abi {

bool find_instances(const Engine& engine, const Handle& handle, Instances& found) {
  engine.snapshot(handle.gpu, found.record);
  found.gpu_instance = found.record.instance(handle.gpu_instance);
  if (found.gpu_instance == nullptr) return false;
  if (handle.kind == HandleKind::gpu_instance) return found.gpu_instance->serial == handle.serial;
  found.compute = compute_of(*found.gpu_instance, handle.compute_instance);
  return found.compute != nullptr && found.compute->serial == handle.serial;
}

}  // namespace partita::emulator::abi
