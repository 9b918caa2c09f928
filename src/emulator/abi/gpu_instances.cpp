// GPU instances: profiles, placements, creation, lists. With MIG mode off everything here answers NOT_SUPPORTED.
#include "emulator/abi/guard.h"
#include "emulator/engine/rules.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

template <class Body>
Return on_mig_gpu(const char* function, const void* device, Body body) noexcept {
  return on_device(function, device, Takes::gpus, [&](const Target& target) -> Return {
    return target.mig_is_on() ? body(target) : Return{kNotSupported};
  });
}

const ProfileSpec* profile_by_number(const GpuSpec& gpu, unsigned nvml_profile) {
  for (const ProfileSpec& profile : gpu.profiles) {
    if (to_unsigned(profile.nvml_profile) == nvml_profile) return &profile;
  }
  return nullptr;
}

const ProfileSpec* profile_by_id(const GpuSpec& gpu, unsigned id) { return find_profile(gpu, static_cast<int>(id)); }

// The fields that all versions of the struct have.
template <class Info>
void fill(Info& info, const GpuSpec& gpu, const ProfileSpec& profile) {
  info.id = to_unsigned(profile.id);
  info.sliceCount = to_unsigned(profile.compute_slices);
  info.instanceCount = to_unsigned(profile.max_instances);
  info.multiprocessorCount = to_unsigned(profile.sm);
  info.copyEngineCount = to_unsigned(profile.copy);
  info.decoderCount = to_unsigned(profile.decoder);
  info.encoderCount = to_unsigned(profile.encoder);
  info.jpegCount = to_unsigned(profile.jpeg);
  info.ofaCount = to_unsigned(profile.ofa);
  info.memorySizeMB = instance_memory_mib(gpu, profile);
}

// Takes the second and the third version of the struct, told apart by its version field.
Return versioned_info(const GpuSpec& gpu, const ProfileSpec* profile, nvmlGpuInstanceProfileInfo_v2_t* info) {
  if (info == nullptr) return kInvalidArgument;
  const unsigned version = info->version;
  if (version != nvmlGpuInstanceProfileInfo_v2 && version != nvmlGpuInstanceProfileInfo_v3) return kVersionMismatch;
  if (profile == nullptr) return kNotSupported;
  auto put = [&]<class Info>(Info& to) {
    to = {};
    to.version = version;
    fill(to, gpu, *profile);
    put_text(to.name, "MIG " + profile->name);
  };
  if (version == nvmlGpuInstanceProfileInfo_v2) {
    put(*info);
  } else {
    auto& to = *reinterpret_cast<nvmlGpuInstanceProfileInfo_v3_t*>(info);
    put(to);
    to.capabilities = profile->gfx ? NVML_GPU_INSTANCE_PROFILE_CAPS_GFX : 0;
  }
  return kSuccess;
}

Return possible_placements(const char* function, const void* device, unsigned profile_id,
                           nvmlGpuInstancePlacement_t* placements, unsigned* count) noexcept {
  return on_mig_gpu(function, device, [&](const Target& target) -> Return {
    if (count == nullptr) return kInvalidArgument;
    const ProfileSpec* profile = profile_by_id(target.spec, profile_id);
    if (profile == nullptr) return kNotSupported;
    *count = static_cast<unsigned>(profile->starts.size());
    for (std::size_t i = 0; placements != nullptr && i < profile->starts.size(); ++i) {
      placements[i] = {to_unsigned(profile->starts[i]), to_unsigned(profile->size)};
    }
    return kSuccess;
  });
}

Return create(const Target& target, unsigned profile_id, std::optional<int> start, nvmlGpuInstance_t* instance) {
  const ProfileSpec* profile = profile_by_id(target.spec, profile_id);
  if (instance == nullptr || profile == nullptr) return kInvalidArgument;
  GpuInstanceState made;
  const NvmlReturn answer = target.engine.create_gpu_instance(target.handle.gpu, profile->id, start, made);
  if (answer == kSuccess) *instance = pack({HandleKind::gpu_instance, target.handle.gpu, made.id, 0, made.serial});
  return answer;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned profile,
                                                nvmlGpuInstanceProfileInfo_t* info) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (info == nullptr || profile >= NVML_GPU_INSTANCE_PROFILE_COUNT) return kInvalidArgument;
    const ProfileSpec* found = profile_by_number(target.spec, profile);
    if (found == nullptr) return kNotSupported;
    *info = {};
    fill(*info, target.spec, *found);
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned profile,
                                                 nvmlGpuInstanceProfileInfo_v2_t* info) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (profile >= NVML_GPU_INSTANCE_PROFILE_COUNT) return kInvalidArgument;
    return versioned_info(target.spec, profile_by_number(target.spec, profile), info);
  });
}
NVML_EXPORT nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device, unsigned profile_id,
                                                     nvmlGpuInstanceProfileInfo_v2_t* info) {
  return on_mig_gpu(__func__, device, [&](const Target& target) {
    return versioned_info(target.spec, profile_by_id(target.spec, profile_id), info);
  });
}

NVML_EXPORT nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device, unsigned profile_id,
                                                       nvmlGpuInstancePlacement_t* placements, unsigned* count) {
  return possible_placements(__func__, device, profile_id, placements, count);
}
NVML_EXPORT nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned profile_id,
                                                          nvmlGpuInstancePlacement_t* placements, unsigned* count) {
  return possible_placements(__func__, device, profile_id, placements, count);
}

NVML_EXPORT nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned profile_id, unsigned* count) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (count == nullptr) return kInvalidArgument;
    const ProfileSpec* profile = profile_by_id(target.spec, profile_id);
    if (profile == nullptr) return kNotSupported;
    *count = to_unsigned(target.engine.remaining_capacity(target.handle.gpu, profile->id));
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned profile_id, nvmlGpuInstance_t* instance) {
  return on_mig_gpu(__func__, device,
                    [&](const Target& target) { return create(target, profile_id, std::nullopt, instance); });
}

NVML_EXPORT nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned profile_id,
                                                     const nvmlGpuInstancePlacement_t* placement,
                                                     nvmlGpuInstance_t* instance) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (placement == nullptr || placement->start > 255) return kInvalidArgument;
    const ProfileSpec* profile = profile_by_id(target.spec, profile_id);
    if (profile != nullptr && placement->size != to_unsigned(profile->size)) return kInvalidArgument;
    return create(target, profile_id, static_cast<int>(placement->start), instance);
  });
}

NVML_EXPORT nvmlGpuInstanceDestroy(nvmlGpuInstance_t instance) {
  return on_instance(
      __func__, instance, HandleKind::gpu_instance, [](const Target& target, const Instances&) -> Return {
        return target.engine.destroy_gpu_instance(target.handle.gpu, target.handle.gpu_instance, target.handle.serial);
      });
}

NVML_EXPORT nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned profile_id, nvmlGpuInstance_t* instances,
                                      unsigned* count) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (instances == nullptr || count == nullptr) return kInvalidArgument;
    const ProfileSpec* profile = profile_by_id(target.spec, profile_id);
    if (profile == nullptr) return kInvalidArgument;
    GpuSnapshot room;
    GpuRecord& record = room.record;
    target.engine.snapshot(target.handle.gpu, record);
    *count = 0;
    for (std::size_t i = 0; i < record.instance_count; ++i) {
      const InstanceRecord& gi = record.instances[i];
      if (&target.spec.profiles[gi.profile] != profile) continue;
      instances[(*count)++] = pack({HandleKind::gpu_instance, target.handle.gpu, gi.id, 0, gi.serial});
    }
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned id, nvmlGpuInstance_t* instance) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (instance == nullptr || id >= kMaxGpuInstances) return kInvalidArgument;
    GpuSnapshot room;
    GpuRecord& record = room.record;
    target.engine.snapshot(target.handle.gpu, record);
    const InstanceRecord* gi = record.instance(static_cast<int>(id));
    if (gi == nullptr) return kNotFound;
    *instance = pack({HandleKind::gpu_instance, target.handle.gpu, gi->id, 0, gi->serial});
    return kSuccess;
  });
}

NVML_EXPORT nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t* info) {
  return on_instance(__func__, instance, HandleKind::gpu_instance,
                     [&](const Target& target, const Instances& found) -> Return {
                       if (info == nullptr) return kInvalidArgument;
                       const InstanceRecord& gi = *found.gpu_instance;
                       *info = {gpu_handle(target.handle.gpu),
                                gi.id,
                                to_unsigned(target.spec.profiles[gi.profile].id),
                                {gi.start, gi.size}};
                       return kSuccess;
                     });
}
