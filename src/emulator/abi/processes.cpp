// Who runs on a device. A GPU's list holds the processes of all its MIG devices with their instance ids; a MIG device's
// list holds its own. Graphics and MPS lists are empty: no graphics client and no MPS server can hold a device here.
#include <cstring>
#include <vector>

#include "emulator/abi/guard.h"
#include "emulator/engine/processes.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

unsigned instance_number(int id) { return id < 0 ? kNoInstance : static_cast<unsigned>(id); }

std::vector<nvmlProcessInfo_t> live_processes(const Target& target, const GpuRecord& record) {
  std::vector<nvmlProcessInfo_t> rows;
  for (std::size_t i = 0; i < record.holder_count; ++i) {
    const HolderRecord& h = record.holders[i];
    if (target.is_mig() &&
        (h.gpu_instance != target.handle.gpu_instance || h.compute_instance != target.handle.compute_instance)) {
      continue;
    }
    if (!process_lives(h.pid, h.start_time)) continue;
    rows.push_back({static_cast<unsigned>(h.pid), h.memory_bytes, instance_number(h.gpu_instance),
                    instance_number(h.compute_instance)});
  }
  return rows;
}

nvmlProcessInfo_v1_t short_form(const nvmlProcessInfo_t& row) { return {row.pid, row.usedGpuMemory}; }

template <class Row>
Return give_rows(const std::vector<nvmlProcessInfo_t>& rows, unsigned* count, Row* to) {
  const unsigned room = *count;
  *count = static_cast<unsigned>(rows.size());
  if (rows.size() > room) return kInsufficientSize;
  if (rows.empty()) return kSuccess;
  if (to == nullptr) return kInvalidArgument;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if constexpr (sizeof(Row) == sizeof(nvmlProcessInfo_t)) {
      to[i] = rows[i];
    } else {
      to[i] = short_form(rows[i]);
    }
  }
  return kSuccess;
}

template <class Row>
Return compute_processes(const char* function, const void* device, unsigned* count, Row* rows) noexcept {
  return on_device(function, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (count == nullptr) return kInvalidArgument;
    if (!target.is_mig() && target.summary.holder_count == 0) return give_rows({}, count, rows);
    Instances found;
    if (target.is_mig() && !find_instances(target.engine, target.handle, found)) return kNotFound;
    GpuRecord record;
    target.engine.snapshot(target.handle.gpu, record);
    return give_rows(live_processes(target, record), count, rows);
  });
}

Return no_processes(const char* function, const void* device, unsigned* count) noexcept {
  return on_device(function, device, Takes::gpus_and_mig_devices, [&](const Target&) -> Return {
    if (count == nullptr) return kInvalidArgument;
    *count = 0;
    return kSuccess;
  });
}

}  // namespace

NVML_EXPORT nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t* rows) {
  return compute_processes(__func__, device, count, rows);
}
NVML_EXPORT nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* rows) {
  return compute_processes(__func__, device, count, rows);
}
NVML_EXPORT nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* rows) {
  return compute_processes(__func__, device, count, rows);
}

NVML_EXPORT nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t*) {
  return no_processes(__func__, device, count);
}
NVML_EXPORT nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t*) {
  return no_processes(__func__, device, count);
}
NVML_EXPORT nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t*) {
  return no_processes(__func__, device, count);
}
NVML_EXPORT nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t*) {
  return no_processes(__func__, device, count);
}
NVML_EXPORT nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t*) {
  return no_processes(__func__, device, count);
}
NVML_EXPORT nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t*) {
  return no_processes(__func__, device, count);
}
