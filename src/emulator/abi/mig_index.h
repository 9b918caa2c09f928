// MIG devices of a GPU are numbered from 0 without gaps, by ascending GPU instance id, then compute instance id: the
// order in which nvidia-smi -L lists them. Destroying one moves the later ones down; the UUID is the stable name.
#pragma once

#include "emulator/abi/handle.h"
#include "emulator/engine/records.h"

namespace partita::emulator::abi {

// Calls visit(index, instance, compute) for each MIG device until it answers true.
template <class Visit>
bool any_mig_device(const GpuRecord& record, Visit visit) {
  int index = 0;
  for (std::size_t i = 0; i < record.instance_count; ++i) {
    const InstanceRecord& instance = record.instances[i];
    for (std::size_t c = 0; c < instance.compute_count; ++c) {
      if (visit(index++, instance, instance.compute[c])) return true;
    }
  }
  return false;
}

inline int mig_index_of(const GpuRecord& record, const Handle& handle) {
  int found = -1;
  any_mig_device(record, [&](int index, const InstanceRecord&, const ComputeRecord& compute) {
    if (compute.serial == handle.serial) found = index;
    return found >= 0;
  });
  return found;
}

}  // namespace partita::emulator::abi
