// Virtual GPUs, as the driver for hosts of virtual machines tells them (`vgpu_host` in the node file): which types
// there are. None is ever made here, so no instance is active. With MIG mode on, the types are those that a GPU
// instance backs, else those that share time. Other drivers know nothing of this.
#include <algorithm>
#include <vector>

#include "emulator/abi/guard.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

// Runs body(target) on a GPU of a host.
template <class Body>
Return on_host(const char* function, const void* device, Body body) noexcept {
  return on_gpu(function, device, [&](const Target& target) -> Return {
    return target.engine.spec().vgpu_host ? body(target) : Return{kNotSupported};
  });
}

template <class Matches>
std::vector<nvmlVgpuTypeId_t> type_ids(const GpuSpec& gpu, Matches matches) {
  std::vector<nvmlVgpuTypeId_t> ids;
  for (const VgpuTypeSpec& type : gpu.vgpu_types) {
    if (matches(type)) ids.push_back(to_unsigned(type.id));
  }
  return ids;
}

bool is_told(const Target& target, const VgpuTypeSpec& type) { return (type.profile_id >= 0) == target.mig_is_on(); }

// Is there a GPU instance that could back it?
bool is_backed(const Target& target, const GpuRecord& record, const VgpuTypeSpec& type) {
  const auto* instances = record.instances.data();
  return std::any_of(instances, instances + record.instance_count, [&](const InstanceRecord& instance) {
    return target.spec.profiles[instance.profile].id == type.profile_id;
  });
}

const VgpuTypeSpec* find_type(const GpuSpec& gpu, unsigned id) {
  const auto at = std::ranges::find(gpu.vgpu_types, static_cast<int>(id), &VgpuTypeSpec::id);
  return at == gpu.vgpu_types.end() ? nullptr : &*at;
}

// Runs body(type) for a type of any GPU of the host.
template <class Body>
Return on_type(const char* function, unsigned id, Body body) noexcept {
  return guarded(function, -1, [&](Engine& engine) -> Return {
    if (!engine.spec().vgpu_host) return kNotSupported;
    for (const GpuSpec& gpu : engine.spec().gpus) {
      if (const VgpuTypeSpec* type = find_type(gpu, id)) return body(*type);
    }
    return kInvalidArgument;
  });
}

Return sized_text(std::string_view text, char* to, unsigned* size) {
  if (size == nullptr) return kInvalidArgument;
  const unsigned room = *size;
  *size = static_cast<unsigned>(text.size() + 1);
  return room < *size ? Return{kInsufficientSize} : copy_text(text, to, room);
}

// "GRID A100X-3-20C": a C for computing, else Q for workstations, A for applications, B for desktops.
std::string_view class_of(const VgpuTypeSpec& type) {
  const std::string_view name = type.name;
  const auto at = name.find_last_of("0123456789");
  const char letter = at + 1 < name.size() ? name[at + 1] : 'C';
  return letter == 'Q' ? "Quadro" : letter == 'A' || letter == 'B' ? "NVS" : "Compute";
}

// No license is needed but for vGPUs: all versions of the struct begin with these two fields.
Return no_license(const char* function, const void* device, nvmlGridLicensableFeatures_t* features) noexcept {
  return on_gpu(function, device, [&](const Target&) -> Return {
    if (features == nullptr) return kInvalidArgument;
    features->isGridLicenseSupported = 0;
    features->licensableFeaturesCount = 0;
    return kSuccess;
  });
}

}  // namespace

NVML_EXPORT nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, nvmlGpuVirtualizationMode_t* mode) {
  return gpu_value(__func__, device, mode, [](const Target& target) {
    return target.engine.spec().vgpu_host ? NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU : NVML_GPU_VIRTUALIZATION_MODE_NONE;
  });
}
NVML_EXPORT nvmlDeviceGetHostVgpuMode(nvmlDevice_t device, nvmlHostVgpuMode_t* mode) {
  return on_host(__func__, device, [&](const Target&) { return give(mode, NVML_HOST_VGPU_MODE_SRIOV); });
}

NVML_EXPORT nvmlDeviceGetSupportedVgpus(nvmlDevice_t device, unsigned* count, nvmlVgpuTypeId_t* ids) {
  return on_host(__func__, device, [&](const Target& target) {
    return give_rows(type_ids(target.spec, [&](const VgpuTypeSpec& type) { return is_told(target, type); }), count,
                     ids);
  });
}
NVML_EXPORT nvmlDeviceGetCreatableVgpus(nvmlDevice_t device, unsigned* count, nvmlVgpuTypeId_t* ids) {
  return on_host(__func__, device, [&](const Target& target) {
    GpuSnapshot room;
    GpuRecord& record = room.record;
    target.engine.snapshot(target.handle.gpu, record);
    const auto creatable = [&](const VgpuTypeSpec& type) {
      return is_told(target, type) && (type.profile_id < 0 || is_backed(target, record, type));
    };
    return give_rows(type_ids(target.spec, creatable), count, ids);
  });
}
NVML_EXPORT nvmlDeviceGetActiveVgpus(nvmlDevice_t device, unsigned* count, nvmlVgpuInstance_t*) {
  return on_host(__func__, device, [&](const Target&) { return give(count, 0u); });
}

NVML_EXPORT nvmlVgpuTypeGetClass(nvmlVgpuTypeId_t id, char* name, unsigned* size) {
  return on_type(__func__, id, [&](const VgpuTypeSpec& type) { return sized_text(class_of(type), name, size); });
}
NVML_EXPORT nvmlVgpuTypeGetName(nvmlVgpuTypeId_t id, char* name, unsigned* size) {
  return on_type(__func__, id, [&](const VgpuTypeSpec& type) { return sized_text(type.name, name, size); });
}
NVML_EXPORT nvmlVgpuTypeGetGpuInstanceProfileId(nvmlVgpuTypeId_t id, unsigned* profile_id) {
  return on_type(__func__, id, [&](const VgpuTypeSpec& type) {
    return give(profile_id, type.profile_id < 0 ? INVALID_GPU_INSTANCE_PROFILE_ID : to_unsigned(type.profile_id));
  });
}
NVML_EXPORT nvmlVgpuTypeGetFramebufferSize(nvmlVgpuTypeId_t id, unsigned long long* bytes) {
  return on_type(__func__, id, [&](const VgpuTypeSpec& type) -> Return {
    return type.frame_buffer_mib == 0 ? Return{kNotSupported} : give(bytes, type.frame_buffer_mib << 20);
  });
}
NVML_EXPORT nvmlVgpuTypeGetMaxInstances(nvmlDevice_t device, nvmlVgpuTypeId_t id, unsigned* count) {
  return on_host(__func__, device, [&](const Target& target) -> Return {
    const VgpuTypeSpec* type = find_type(target.spec, id);
    if (type == nullptr) return kInvalidArgument;
    return type->max_instances == 0 ? Return{kNotSupported} : give(count, type->max_instances);
  });
}

// A GPU instance backs one vGPU of a type.
NVML_EXPORT nvmlVgpuTypeGetMaxInstancesPerGpuInstance(nvmlVgpuTypeMaxInstance_t* most) {
  if (most == nullptr) return on_type(__func__, 0, [](const VgpuTypeSpec&) -> Return { return kInvalidArgument; });
  return on_type(__func__, most->vgpuTypeId, [&](const VgpuTypeSpec& type) -> Return {
    if (most->version != nvmlVgpuTypeMaxInstance_v1) return kVersionMismatch;
    if (type.profile_id < 0) return kNotSupported;
    most->maxInstancePerGI = 1;
    return kSuccess;
  });
}
NVML_EXPORT nvmlGpuInstanceGetCreatableVgpus(nvmlGpuInstance_t instance, nvmlVgpuTypeIdInfo_t* types) {
  return on_instance(__func__, instance, HandleKind::gpu_instance,
                     [&](const Target& target, const Instances& found) -> Return {
                       if (types == nullptr) return kInvalidArgument;
                       if (types->version != nvmlVgpuTypeIdInfo_v1) return kVersionMismatch;
                       if (!target.engine.spec().vgpu_host) return kNotSupported;
                       const int profile = target.spec.profiles[found.gpu_instance->profile].id;
                       const auto fits = [&](const VgpuTypeSpec& type) { return type.profile_id == profile; };
                       return give_rows(type_ids(target.spec, fits), &types->vgpuCount, types->vgpuTypeIds);
                     });
}

NVML_EXPORT nvmlDeviceGetGridLicensableFeatures(nvmlDevice_t device, nvmlGridLicensableFeatures_t* features) {
  return no_license(__func__, device, features);
}
NVML_EXPORT nvmlDeviceGetGridLicensableFeatures_v2(nvmlDevice_t device, nvmlGridLicensableFeatures_t* features) {
  return no_license(__func__, device, features);
}
NVML_EXPORT nvmlDeviceGetGridLicensableFeatures_v3(nvmlDevice_t device, nvmlGridLicensableFeatures_t* features) {
  return no_license(__func__, device, features);
}
NVML_EXPORT nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t* features) {
  return no_license(__func__, device, features);
}
