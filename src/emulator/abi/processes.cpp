// Who runs on a device. A GPU's list holds the processes of all its MIG devices with their instance ids; a MIG device's
// list holds its own. Graphics and MPS lists are empty: no graphics client and no MPS server can hold a device here.
#include "emulator/abi/processes.h"

#include <algorithm>

#include "emulator/engine/processes.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

unsigned instance_number(int id) { return id < 0 ? kNoInstance : static_cast<unsigned>(id); }

template <class Row>
Row to_row(const HolderRecord& h) {
  Row row{};
  row.pid = static_cast<unsigned>(h.pid);
  row.usedGpuMemory = h.memory_bytes;
  if constexpr (requires { row.gpuInstanceId; }) {
    row.gpuInstanceId = instance_number(h.gpu_instance);
    row.computeInstanceId = instance_number(h.compute_instance);
  }
  return row;
}

// Runs body(target, live holders).
template <class Body>
Return on_holders(const char* function, const void* device, Body body) noexcept {
  return on_device(function, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    Instances found;
    if (target.is_mig() && !find_instances(target.engine, target.handle, found)) return kNotFound;
    return body(live_holders(target));
  });
}

template <class Row>
Return compute_processes(const char* function, const void* device, unsigned* count, Row* rows) noexcept {
  return on_holders(function, device, [&](const std::vector<HolderRecord>& holders) {
    std::vector<Row> found(holders.size());
    std::ranges::transform(holders, found.begin(), to_row<Row>);
    return give_rows(found, count, rows);
  });
}

Return no_processes(const char* function, const void* device, unsigned* count) noexcept {
  return on_holders(function, device, [&](const std::vector<HolderRecord>&) { return give(count, 0u); });
}

}  // namespace

namespace partita::emulator::abi {

std::vector<HolderRecord> live_holders(const Target& target) {
  std::vector<HolderRecord> rows;
  if (target.summary.holder_count == 0) return rows;
  GpuSnapshot room;
  GpuRecord& record = room.record;
  target.engine.snapshot(target.handle.gpu, record);
  std::copy_if(record.holders.data(), record.holders.data() + record.holder_count, std::back_inserter(rows),
               [&](const HolderRecord& h) {
                 const bool here = !target.is_mig() || (h.gpu_instance == target.handle.gpu_instance &&
                                                        h.compute_instance == target.handle.compute_instance);
                 return here && process_lives(h.pid, h.start_time);
               });
  return rows;
}

}  // namespace partita::emulator::abi

NVML_EXPORT nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t* rows) {
  return compute_processes(__func__, device, count, rows);
}
NVML_EXPORT nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v2_t* rows) {
  return compute_processes(__func__, device, count, rows);
}
NVML_EXPORT nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* rows) {
  return compute_processes(__func__, device, count, rows);
}

NVML_EXPORT nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t*) {
  return no_processes(__func__, device, count);
}
NVML_EXPORT nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v2_t*) {
  return no_processes(__func__, device, count);
}
NVML_EXPORT nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t*) {
  return no_processes(__func__, device, count);
}
NVML_EXPORT nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t*) {
  return no_processes(__func__, device, count);
}
NVML_EXPORT nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v2_t*) {
  return no_processes(__func__, device, count);
}
NVML_EXPORT nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t*) {
  return no_processes(__func__, device, count);
}

NVML_EXPORT nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_t* list) {
  return on_holders(__func__, device, [&](const std::vector<HolderRecord>& holders) -> Return {
    if (list == nullptr) return kInvalidArgument;
    if (list->version != nvmlProcessDetailList_v1) return kVersionMismatch;
    if (list->mode > NVML_PROCESS_MODE_ALL) return kInvalidArgument;
    std::vector<nvmlProcessDetail_v1_t> found;
    if (list->mode == NVML_PROCESS_MODE_COMPUTE || list->mode == NVML_PROCESS_MODE_ALL) {
      found.resize(holders.size());
      std::ranges::transform(holders, found.begin(), to_row<nvmlProcessDetail_v1_t>);
    }
    return give_rows(found, &list->numProcArrayEntries, list->procArray);
  });
}
