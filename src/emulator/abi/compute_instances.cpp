// Compute instances of a GPU instance: profiles, placements, creation, lists.
#include "emulator/abi/guard.h"
#include "emulator/engine/rules.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

const ProfileSpec& profile_of(const Target& target, const Instances& found) {
  return target.spec.profiles[found.gpu_instance->profile];
}

// Runs body(Target, Instances, ComputeProfileSpec) for a GPU instance handle and a compute profile it has.
template <class Body>
Return with_profile(const char* function, const void* instance, unsigned profile, Body body) noexcept {
  return on_instance(
      function, instance, HandleKind::gpu_instance, [&](const Target& target, const Instances& found) -> Return {
        if (profile >= NVML_COMPUTE_INSTANCE_PROFILE_COUNT) return kInvalidArgument;
        const ComputeProfileSpec* compute = find_compute_profile(profile_of(target, found), static_cast<int>(profile));
        return compute == nullptr ? Return{kNotSupported} : body(target, found, *compute);
      });
}

// Engines but SMs are shared by all compute instances of a GPU instance.
template <class Info>
void fill(Info& info, const ProfileSpec& profile, const ComputeProfileSpec& compute) {
  info.id = to_unsigned(compute.nvml_profile);
  info.sliceCount = to_unsigned(compute.slices);
  info.instanceCount = to_unsigned(compute.max_instances);
  info.multiprocessorCount = to_unsigned(compute.sm);
  info.sharedCopyEngineCount = to_unsigned(profile.copy);
  info.sharedDecoderCount = to_unsigned(profile.decoder);
  info.sharedEncoderCount = to_unsigned(profile.encoder);
  info.sharedJpegCount = to_unsigned(profile.jpeg);
  info.sharedOfaCount = to_unsigned(profile.ofa);
}

nvmlComputeInstance_t handle_of(const Target& target, int gi, int ci, std::uint32_t serial) {
  return pack({HandleKind::compute_instance, target.handle.gpu, gi, ci, serial});
}

Return create(const Target& target, unsigned profile, std::optional<int> start, nvmlComputeInstance_t* made) {
  if (made == nullptr) return kInvalidArgument;
  ComputeInstanceState state;
  const Handle& gi = target.handle;
  const NvmlReturn answer = target.engine.create_compute_instance(gi.gpu, gi.gpu_instance, gi.serial,
                                                                  static_cast<int>(profile), start, state);
  if (answer == kSuccess) *made = handle_of(target, gi.gpu_instance, state.id, state.serial);
  return answer;
}

// The first version of the struct ends before the placement.
Return instance_info(const char* function, const void* instance, nvmlComputeInstanceInfo_t* info,
                     bool placement) noexcept {
  return on_instance(function, instance, HandleKind::compute_instance,
                     [&](const Target& target, const Instances& found) -> Return {
                       if (info == nullptr) return kInvalidArgument;
                       const InstanceRecord& gi = *found.gpu_instance;
                       info->device = gpu_handle(target.handle.gpu);
                       info->gpuInstance = pack({HandleKind::gpu_instance, target.handle.gpu, gi.id, 0, gi.serial});
                       info->id = found.compute->id;
                       info->profileId = found.compute->profile;
                       if (placement) info->placement = {found.compute->start, found.compute->size};
                       return kSuccess;
                     });
}

}  // namespace

NVML_EXPORT nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t instance, unsigned profile,
                                                         unsigned engine_profile,
                                                         nvmlComputeInstanceProfileInfo_t* info) {
  return with_profile(__func__, instance, profile,
                      [&](const Target& target, const Instances& found, const ComputeProfileSpec& compute) -> Return {
                        if (engine_profile != 0 || info == nullptr) return kInvalidArgument;
                        *info = {};
                        fill(*info, profile_of(target, found), compute);
                        return kSuccess;
                      });
}

// Takes the second and the third version of the struct, told apart by its version field.
NVML_EXPORT nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvmlGpuInstance_t instance, unsigned profile,
                                                          unsigned engine_profile,
                                                          nvmlComputeInstanceProfileInfo_v2_t* info) {
  return with_profile(__func__, instance, profile,
                      [&](const Target& target, const Instances& found, const ComputeProfileSpec& compute) -> Return {
                        if (engine_profile != 0 || info == nullptr) return kInvalidArgument;
                        const unsigned version = info->version;
                        const ProfileSpec& profile_spec = profile_of(target, found);
                        auto put = [&]<class Info>(Info& to) {
                          to = {};
                          to.version = version;
                          fill(to, profile_spec, compute);
                          put_text(to.name, "MIG " + compute.name);
                        };
                        if (version == nvmlComputeInstanceProfileInfo_v2) {
                          put(*info);
                        } else if (version == nvmlComputeInstanceProfileInfo_v3) {
                          auto& to = *reinterpret_cast<nvmlComputeInstanceProfileInfo_v3_t*>(info);
                          put(to);
                          to.capabilities = profile_spec.gfx ? NVML_COMPUTE_INSTANCE_PROFILE_CAPS_GFX : 0;
                        } else {
                          return kVersionMismatch;
                        }
                        return kSuccess;
                      });
}

NVML_EXPORT nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t instance, unsigned profile,
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

NVML_EXPORT nvmlGpuInstanceGetComputeInstancePossiblePlacements(nvmlGpuInstance_t instance, unsigned profile,
                                                                nvmlComputeInstancePlacement_t* placements,
                                                                unsigned* count) {
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

NVML_EXPORT nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t instance, unsigned profile,
                                                 nvmlComputeInstance_t* made) {
  return with_profile(__func__, instance, profile, [&](const Target& target, const Instances&, const auto&) -> Return {
    return create(target, profile, std::nullopt, made);
  });
}

NVML_EXPORT nvmlGpuInstanceCreateComputeInstanceWithPlacement(nvmlGpuInstance_t instance, unsigned profile,
                                                              const nvmlComputeInstancePlacement_t* placement,
                                                              nvmlComputeInstance_t* made) {
  return with_profile(__func__, instance, profile,
                      [&](const Target& target, const Instances&, const ComputeProfileSpec& compute) -> Return {
                        if (placement == nullptr || placement->start > 255) return kInvalidArgument;
                        if (placement->size != to_unsigned(compute.size)) return kInvalidArgument;
                        return create(target, profile, static_cast<int>(placement->start), made);
                      });
}

NVML_EXPORT nvmlComputeInstanceDestroy(nvmlComputeInstance_t instance) {
  return on_instance(__func__, instance, HandleKind::compute_instance,
                     [](const Target& target, const Instances& found) -> Return {
                       const Handle& ci = target.handle;
                       return target.engine.destroy_compute_instance(
                           ci.gpu, ci.gpu_instance, found.gpu_instance->serial, ci.compute_instance, ci.serial);
                     });
}

NVML_EXPORT nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t instance, unsigned profile,
                                               nvmlComputeInstance_t* instances, unsigned* count) {
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

NVML_EXPORT nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance, unsigned id,
                                                  nvmlComputeInstance_t* made) {
  return on_instance(__func__, instance, HandleKind::gpu_instance,
                     [&](const Target& target, const Instances& found) -> Return {
                       if (made == nullptr || id >= kMaxComputeInstances) return kInvalidArgument;
                       const ComputeRecord* ci = compute_of(*found.gpu_instance, static_cast<int>(id));
                       if (ci == nullptr) return kNotFound;
                       *made = handle_of(target, found.gpu_instance->id, ci->id, ci->serial);
                       return kSuccess;
                     });
}

NVML_EXPORT nvmlComputeInstanceGetInfo(nvmlComputeInstance_t instance, nvmlComputeInstanceInfo_t* info) {
  return instance_info(__func__, instance, info, false);
}
NVML_EXPORT nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t instance, nvmlComputeInstanceInfo_t* info) {
  return instance_info(__func__, instance, info, true);
}
