#include "emulator/abi/guard.h"

namespace partita::emulator::abi {

bool find_instances(const Engine& engine, const Handle& handle, Instances& found) {
  if (!engine.instance(handle.gpu, handle.gpu_instance, found.record)) return false;
  if (handle.kind == HandleKind::gpu_instance) return found.record.serial == handle.serial;
  found.compute = compute_of(found.record, handle.compute_instance);
  return found.compute != nullptr && found.compute->serial == handle.serial;
}

}  // namespace partita::emulator::abi
