// GPU instances: profiles, placements, creation, lists. With MIG mode off everything here answers NOT_SUPPORTED.
#include "emulator/abi/guard.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

template <class Body>
Return on_mig_gpu(const char* function, const void* device, Body body) noexcept {
  return on_device(function, device, Takes::gpus, [&](const Target& target) -> Return {
    if (target.spec.units == 0 || target.summary.mig_current == 0) return kNotSupported;
    return body(target);
  });
}

const ProfileSpec* profile_by_number(const GpuSpec& gpu, unsigned nvml_profile) {
  for (const ProfileSpec& profile : gpu.profiles) {
    if (to_unsigned(profile.nvml_profile) == nvml_profile) return &profile;
  }
  return nullptr;
}

const ProfileSpec* profile_by_id(const GpuSpec& gpu, unsigned id) {
  for (const ProfileSpec& profile : gpu.profiles) {
    if (to_unsigned(profile.id) == id) return &profile;
  }
  return nullptr;
}

// The fields that all versions of the struct have.
template <class Info>
void fill(Info& info, const GpuSpec& gpu, const ProfileSpec& profile) {
  info.id = to_unsigned(profile.id);
  info.slices = to_unsigned(profile.compute_slices);
  info.instances = to_unsigned(profile.max_instances);
  info.multiprocessors = to_unsigned(profile.sm);
  info.copy_engines = to_unsigned(profile.copy);
  info.decoders = to_unsigned(profile.decoder);
  info.encoders = to_unsigned(profile.encoder);
  info.jpegs = to_unsigned(profile.jpeg);
  info.ofas = to_unsigned(profile.ofa);
  info.memory_mib = memory_mib(gpu, profile);
}

Return possible_placements(const char* function, const void* device, unsigned profile_id, Placement* placements,
                           unsigned* count) noexcept {
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

Return create(const Target& target, unsigned profile_id, std::optional<int> start, GpuInstanceHandle* instance) {
  const ProfileSpec* profile = profile_by_id(target.spec, profile_id);
  if (instance == nullptr || profile == nullptr) return kInvalidArgument;
  GpuInstanceState made;
  const NvmlReturn answer = target.engine.create_gpu_instance(target.handle.gpu, profile->id, start, made);
  if (answer == kSuccess) *instance = pack({HandleKind::gpu_instance, target.handle.gpu, made.id, 0, made.serial});
  return answer;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetGpuInstanceProfileInfo(DeviceHandle device, unsigned profile, GpuInstanceProfileInfo* info) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (info == nullptr || profile >= kGpuInstanceProfileCount) return kInvalidArgument;
    const ProfileSpec* found = profile_by_number(target.spec, profile);
    if (found == nullptr) return kNotSupported;
    *info = {};
    fill(*info, target.spec, *found);
    return kSuccess;
  });
}

// Takes the second and the third version of the struct, told apart by its version field.
NVML_EXPORT nvmlDeviceGetGpuInstanceProfileInfoV(DeviceHandle device, unsigned profile, void* info) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (info == nullptr || profile >= kGpuInstanceProfileCount) return kInvalidArgument;
    const unsigned version = *static_cast<const unsigned*>(info);
    const bool third = version == version_of<GpuInstanceProfileInfoV3>(3);
    if (!third && version != version_of<GpuInstanceProfileInfoV2>(2)) return kVersionMismatch;
    const ProfileSpec* found = profile_by_number(target.spec, profile);
    if (found == nullptr) return kNotSupported;
    auto put = [&]<class Info>(Info& to) {
      to = {};
      to.version = version;
      fill(to, target.spec, *found);
      put_text(to.name, "MIG " + found->name);
    };
    if (third) {
      auto& to = *static_cast<GpuInstanceProfileInfoV3*>(info);
      put(to);
      to.capabilities = found->gfx ? kCapabilityGraphics : 0;
    } else {
      put(*static_cast<GpuInstanceProfileInfoV2*>(info));
    }
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetGpuInstancePossiblePlacements(DeviceHandle device, unsigned profile_id, Placement* placements,
                                                       unsigned* count) {
  return possible_placements(__func__, device, profile_id, placements, count);
}
NVML_EXPORT nvmlDeviceGetGpuInstancePossiblePlacements_v2(DeviceHandle device, unsigned profile_id,
                                                          Placement* placements, unsigned* count) {
  return possible_placements(__func__, device, profile_id, placements, count);
}

NVML_EXPORT nvmlDeviceGetGpuInstanceRemainingCapacity(DeviceHandle device, unsigned profile_id, unsigned* count) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (count == nullptr) return kInvalidArgument;
    const ProfileSpec* profile = profile_by_id(target.spec, profile_id);
    if (profile == nullptr) return kNotSupported;
    *count = to_unsigned(target.engine.remaining_capacity(target.handle.gpu, profile->id));
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceCreateGpuInstance(DeviceHandle device, unsigned profile_id, GpuInstanceHandle* instance) {
  return on_mig_gpu(__func__, device,
                    [&](const Target& target) { return create(target, profile_id, std::nullopt, instance); });
}

NVML_EXPORT nvmlDeviceCreateGpuInstanceWithPlacement(DeviceHandle device, unsigned profile_id,
                                                     const Placement* placement, GpuInstanceHandle* instance) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (placement == nullptr || placement->start > 255) return kInvalidArgument;
    const ProfileSpec* profile = profile_by_id(target.spec, profile_id);
    if (profile != nullptr && placement->size != to_unsigned(profile->size)) return kInvalidArgument;
    return create(target, profile_id, static_cast<int>(placement->start), instance);
  });
}

NVML_EXPORT nvmlGpuInstanceDestroy(GpuInstanceHandle instance) {
  return on_instance(
      __func__, instance, HandleKind::gpu_instance, [](const Target& target, const Instances&) -> Return {
        return target.engine.destroy_gpu_instance(target.handle.gpu, target.handle.gpu_instance, target.handle.serial);
      });
}

NVML_EXPORT nvmlDeviceGetGpuInstances(DeviceHandle device, unsigned profile_id, GpuInstanceHandle* instances,
                                      unsigned* count) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (instances == nullptr || count == nullptr) return kInvalidArgument;
    const ProfileSpec* profile = profile_by_id(target.spec, profile_id);
    if (profile == nullptr) return kInvalidArgument;
    GpuRecord record;
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

NVML_EXPORT nvmlDeviceGetGpuInstanceById(DeviceHandle device, unsigned id, GpuInstanceHandle* instance) {
  return on_mig_gpu(__func__, device, [&](const Target& target) -> Return {
    if (instance == nullptr || id >= kMaxGpuInstances) return kInvalidArgument;
    GpuRecord record;
    target.engine.snapshot(target.handle.gpu, record);
    const InstanceRecord* gi = record.instance(static_cast<int>(id));
    if (gi == nullptr) return kNotFound;
    *instance = pack({HandleKind::gpu_instance, target.handle.gpu, gi->id, 0, gi->serial});
    return kSuccess;
  });
}

NVML_EXPORT nvmlGpuInstanceGetInfo(GpuInstanceHandle instance, GpuInstanceInfo* info) {
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
