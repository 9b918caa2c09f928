// Compute instances of a GPU instance: profiles, placements, creation, lists.
#include "emulator/abi/guard.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

const ProfileSpec& profile_of(const Target& target, const Instances& found) {
  return target.spec.profiles[found.gpu_instance->profile];
}

const ComputeProfileSpec* find(const ProfileSpec& profile, unsigned id) {
  for (const ComputeProfileSpec& compute : profile.compute) {
    if (to_unsigned(compute.nvml_profile) == id) return &compute;
  }
  return nullptr;
}

// Runs body(Target, Instances, ComputeProfileSpec) for a GPU instance handle and a compute profile it has.
template <class Body>
Return with_profile(const char* function, const void* instance, unsigned profile, Body body) noexcept {
  return on_instance(function, instance, HandleKind::gpu_instance,
                     [&](const Target& target, const Instances& found) -> Return {
                       if (profile >= kComputeInstanceProfileCount) return kInvalidArgument;
                       const ComputeProfileSpec* compute = find(profile_of(target, found), profile);
                       return compute == nullptr ? Return{kNotSupported} : body(target, found, *compute);
                     });
}

// Engines but SMs are shared by all compute instances of a GPU instance.
ComputeInstanceProfileInfo info_of(const ProfileSpec& profile, const ComputeProfileSpec& compute) {
  return {to_unsigned(compute.nvml_profile), to_unsigned(compute.slices), to_unsigned(compute.max_instances),
          to_unsigned(compute.sm),           to_unsigned(profile.copy),   to_unsigned(profile.decoder),
          to_unsigned(profile.encoder),      to_unsigned(profile.jpeg),   to_unsigned(profile.ofa)};
}

ComputeInstanceHandle handle_of(const Target& target, int gi, int ci, std::uint32_t serial) {
  return pack({HandleKind::compute_instance, target.handle.gpu, gi, ci, serial});
}

Return create(const Target& target, unsigned profile, std::optional<int> start, ComputeInstanceHandle* made) {
  if (made == nullptr) return kInvalidArgument;
  ComputeInstanceState state;
  const Handle& gi = target.handle;
  const NvmlReturn answer = target.engine.create_compute_instance(gi.gpu, gi.gpu_instance, gi.serial,
                                                                  static_cast<int>(profile), start, state);
  if (answer == kSuccess) *made = handle_of(target, gi.gpu_instance, state.id, state.serial);
  return answer;
}

template <class Info>
Return instance_info(const char* function, const void* instance, Info* info) noexcept {
  return on_instance(function, instance, HandleKind::compute_instance,
                     [&](const Target& target, const Instances& found) -> Return {
                       if (info == nullptr) return kInvalidArgument;
                       const InstanceRecord& gi = *found.gpu_instance;
                       info->device = gpu_handle(target.handle.gpu);
                       info->gpu_instance = pack({HandleKind::gpu_instance, target.handle.gpu, gi.id, 0, gi.serial});
                       info->id = found.compute->id;
                       info->profile_id = found.compute->profile;
                       if constexpr (sizeof(Info) == sizeof(ComputeInstanceInfo)) {
                         info->placement = {found.compute->start, found.compute->size};
                       }
                       return kSuccess;
                     });
}

}  // namespace

NVML_EXPORT nvmlGpuInstanceGetComputeInstanceProfileInfo(GpuInstanceHandle instance, unsigned profile,
                                                         unsigned engine_profile, ComputeInstanceProfileInfo* info) {
  return with_profile(__func__, instance, profile,
                      [&](const Target& target, const Instances& found, const ComputeProfileSpec& compute) -> Return {
                        if (engine_profile != 0 || info == nullptr) return kInvalidArgument;
                        *info = info_of(profile_of(target, found), compute);
                        return kSuccess;
                      });
}

NVML_EXPORT nvmlGpuInstanceGetComputeInstanceProfileInfoV(GpuInstanceHandle instance, unsigned profile,
                                                          unsigned engine_profile, void* info) {
  return with_profile(__func__, instance, profile,
                      [&](const Target& target, const Instances& found, const ComputeProfileSpec& compute) -> Return {
                        if (engine_profile != 0 || info == nullptr) return kInvalidArgument;
                        const unsigned version = *static_cast<const unsigned*>(info);
                        const ProfileSpec& profile_spec = profile_of(target, found);
                        auto put = [&]<class Info>(Info& to) {
                          to = {};
                          to.version = version;
                          to.info = info_of(profile_spec, compute);
                          put_text(to.name, "MIG " + compute.name);
                        };
                        if (version == version_of<ComputeInstanceProfileInfoV2>(2)) {
                          put(*static_cast<ComputeInstanceProfileInfoV2*>(info));
                        } else if (version == version_of<ComputeInstanceProfileInfoV3>(3)) {
                          auto& to = *static_cast<ComputeInstanceProfileInfoV3*>(info);
                          put(to);
                          to.capabilities = profile_spec.gfx ? kComputeCapabilityGraphics : 0;
                        } else {
                          return kVersionMismatch;
                        }
                        return kSuccess;
                      });
}

NVML_EXPORT nvmlGpuInstanceGetComputeInstanceRemainingCapacity(GpuInstanceHandle instance, unsigned profile,
                                                               unsigned* count) {
  return with_profile(
      __func__, instance, profile,
      [&](const Target& target, const Instances&, const ComputeProfileSpec& compute) -> Return {
        if (count == nullptr) return kInvalidArgument;
        const Handle& gi = target.handle;
        *count = to_unsigned(target.engine.remaining_compute_capacity(gi.gpu, gi.gpu_instance, compute.nvml_profile));
        return kSuccess;
      });
}

NVML_EXPORT nvmlGpuInstanceGetComputeInstancePossiblePlacements(GpuInstanceHandle instance, unsigned profile,
                                                                Placement* placements, unsigned* count) {
  return with_profile(__func__, instance, profile,
                      [&](const Target&, const Instances&, const ComputeProfileSpec& compute) -> Return {
                        if (count == nullptr) return kInvalidArgument;
                        *count = static_cast<unsigned>(compute.starts.size());
                        for (std::size_t i = 0; placements != nullptr && i < compute.starts.size(); ++i) {
                          placements[i] = {to_unsigned(compute.starts[i]), to_unsigned(compute.size)};
                        }
                        return kSuccess;
                      });
}

NVML_EXPORT nvmlGpuInstanceCreateComputeInstance(GpuInstanceHandle instance, unsigned profile,
                                                 ComputeInstanceHandle* made) {
  return with_profile(__func__, instance, profile, [&](const Target& target, const Instances&, const auto&) -> Return {
    return create(target, profile, std::nullopt, made);
  });
}

NVML_EXPORT nvmlGpuInstanceCreateComputeInstanceWithPlacement(GpuInstanceHandle instance, unsigned profile,
                                                              const Placement* placement, ComputeInstanceHandle* made) {
  return with_profile(__func__, instance, profile,
                      [&](const Target& target, const Instances&, const ComputeProfileSpec& compute) -> Return {
                        if (placement == nullptr || placement->start > 255) return kInvalidArgument;
                        if (placement->size != to_unsigned(compute.size)) return kInvalidArgument;
                        return create(target, profile, static_cast<int>(placement->start), made);
                      });
}

NVML_EXPORT nvmlComputeInstanceDestroy(ComputeInstanceHandle instance) {
  return on_instance(__func__, instance, HandleKind::compute_instance,
                     [](const Target& target, const Instances& found) -> Return {
                       const Handle& ci = target.handle;
                       return target.engine.destroy_compute_instance(
                           ci.gpu, ci.gpu_instance, found.gpu_instance->serial, ci.compute_instance, ci.serial);
                     });
}

NVML_EXPORT nvmlGpuInstanceGetComputeInstances(GpuInstanceHandle instance, unsigned profile,
                                               ComputeInstanceHandle* instances, unsigned* count) {
  return with_profile(__func__, instance, profile,
                      [&](const Target& target, const Instances& found, const ComputeProfileSpec&) -> Return {
                        if (instances == nullptr || count == nullptr) return kInvalidArgument;
                        *count = 0;
                        for (std::size_t i = 0; i < found.gpu_instance->compute_count; ++i) {
                          const ComputeRecord& ci = found.gpu_instance->compute[i];
                          if (ci.profile != profile) continue;
                          instances[(*count)++] = handle_of(target, found.gpu_instance->id, ci.id, ci.serial);
                        }
                        return kSuccess;
                      });
}

NVML_EXPORT nvmlGpuInstanceGetComputeInstanceById(GpuInstanceHandle instance, unsigned id,
                                                  ComputeInstanceHandle* made) {
  return on_instance(__func__, instance, HandleKind::gpu_instance,
                     [&](const Target& target, const Instances& found) -> Return {
                       if (made == nullptr || id >= kMaxComputeInstances) return kInvalidArgument;
                       const ComputeRecord* ci = compute_of(*found.gpu_instance, static_cast<int>(id));
                       if (ci == nullptr) return kNotFound;
                       *made = handle_of(target, found.gpu_instance->id, ci->id, ci->serial);
                       return kSuccess;
                     });
}

NVML_EXPORT nvmlComputeInstanceGetInfo(ComputeInstanceHandle instance, ComputeInstanceInfoV1* info) {
  return instance_info(__func__, instance, info);
}
NVML_EXPORT nvmlComputeInstanceGetInfo_v2(ComputeInstanceHandle instance, ComputeInstanceInfo* info) {
  return instance_info(__func__, instance, info);
}
