// Creating and destroying instances, always at a named place.
#include <fmt/core.h>

#include <algorithm>

#include "driver/driver.h"
#include "driver/errors.h"
#include "driver/session.h"

namespace partita::driver {
namespace {

std::string instance_text(const layout::Gpu& gpu, int gpu_instance_id) {
  return fmt::format("{} GPU instance {}", gpu_text(gpu), gpu_instance_id);
}

std::unexpected<Error> refused(int answer, const char* function, const std::string& object) {
  return std::unexpected(nvml_error(answer, function, object));
}
std::unexpected<Error> refused(const NvmlRefusal& refusal, const std::string& object) {
  return refused(refusal.nvml_return, refusal.function, object);
}

Result<const catalog::Profile*> profile_of(const layout::Gpu& gpu, int profile) {
  if (gpu.board == nullptr || profile < 0 || std::cmp_greater_equal(profile, gpu.board->profiles.size())) {
    return fail(ErrorCode::internal, fmt::format("{} has no profile with index {}", gpu_text(gpu), profile));
  }
  return &gpu.board->profiles[static_cast<std::size_t>(profile)];
}

Result<const catalog::ComputeProfile*> compute_profile_of(const layout::Gpu& gpu, int profile, int compute) {
  const auto& profiles = TRY(profile_of(gpu, profile))->compute;
  if (compute < 0 || std::cmp_greater_equal(compute, profiles.size())) {
    return fail(ErrorCode::internal,
                fmt::format("{} has no compute profile with index {} in profile {}", gpu_text(gpu), compute, profile));
  }
  return &profiles[static_cast<std::size_t>(compute)];
}

Result<NvmlGpuInstance> find_gpu_instance(const NvmlTable& nvml, NvmlDevice device, const layout::Gpu& gpu, int id) {
  NvmlGpuInstance instance = nullptr;
  const int answer = nvml.gpu_instance_by_id(device, static_cast<U32>(id), &instance);
  if (answer != kNvmlSuccess) return refused(answer, nvml.gpu_instance_by_id.name, instance_text(gpu, id));
  return instance;
}

// What is made but cannot be read or is in the wrong place must not stay behind unknown.
Error take_back(Error error, int destroy_answer) {
  if (destroy_answer != kNvmlSuccess) {
    error.message +=
        fmt::format("; the new instance could not be removed again ({})", nvml_return_text(destroy_answer));
  }
  return error;
}

Error wrong_place(const std::string& object, std::string_view name, int wanted, U32 got) {
  return Error{
      ErrorCode::driver, fmt::format("{}: the driver made {} at {} instead of {}", object, name, got, wanted), {}};
}

// A layout::ComputeInstance of what the driver has made; the MIG device's UUID and index are looked up.
Result<layout::ComputeInstance> describe_compute(const NvmlTable& nvml, NvmlDevice device, const std::string& object,
                                                 int compute, int gpu_instance_id,
                                                 const NvmlComputeInstanceInfo& info) {
  layout::ComputeInstance made;
  made.id = static_cast<int>(info.id);
  made.profile = compute;
  made.placement = {static_cast<int>(info.placement.start), static_cast<int>(info.placement.size)};
  const auto devices = read_mig_devices(nvml, device);
  if (!devices) return refused(devices.error(), object);
  for (const auto& mig : *devices) {
    if (mig.gpu_instance != gpu_instance_id || mig.compute_instance != made.id) continue;
    made.uuid = mig.uuid;
    made.mig_index = mig.index;
  }
  return made;
}

// Creates at `start`, by the driver's own choice where it cannot be told one; returns the driver's answer.
int create_compute(const NvmlTable& nvml, NvmlGpuInstance instance, int profile_id, const NvmlPlacement& placement,
                   NvmlComputeInstance& made, const char*& function) {
  const auto id = static_cast<U32>(profile_id);
  if (nvml.create_compute_at) {
    function = nvml.create_compute_at.name;
    return nvml.create_compute_at(instance, id, &placement, &made);
  }
  function = nvml.create_compute.name;
  return nvml.create_compute(instance, id, &made);
}

}  // namespace

Result<layout::GpuInstance> Driver::create_gpu_instance(const layout::Gpu& gpu, int profile, int start) {
  const auto* wanted = TRY(profile_of(gpu, profile));
  const auto object = fmt::format("{} {}@{}", gpu_text(gpu), wanted->name, start);
  const NvmlDevice device = TRY(impl_->device(gpu.uuid));
  const auto& nvml = impl_->nvml();
  const auto known = impl_->tables_of(gpu.uuid, device);
  if (!known) return refused(known.error(), object);
  const auto* row = (*known)->tables.by_nvml_profile(wanted->nvml_profile);
  if (row == nullptr) {
    return fail(ErrorCode::driver, fmt::format("{}: this driver does not offer the profile {}; read the state again",
                                               object, wanted->name));
  }

  const NvmlPlacement place{static_cast<U32>(start), static_cast<U32>(wanted->placement_size)};
  NvmlGpuInstance made = nullptr;
  int answer = nvml.create_gpu_instance(device, static_cast<U32>(row->id), &place, &made);
  if (answer != kNvmlSuccess) return refused(answer, nvml.create_gpu_instance.name, object);

  // From here on the instance exists; every failure takes it back.
  NvmlGpuInstanceInfo info{};
  answer = nvml.gpu_instance_info(made, &info);
  if (answer != kNvmlSuccess) {
    auto error = nvml_error(answer, nvml.gpu_instance_info.name, object);
    return std::unexpected(take_back(std::move(error), nvml.destroy_gpu_instance(made)));
  }
  if (info.placement.start != place.start) {
    auto error = wrong_place(object, wanted->name, start, info.placement.start);
    return std::unexpected(take_back(std::move(error), nvml.destroy_gpu_instance(made)));
  }
  return layout::GpuInstance{.id = static_cast<int>(info.id),
                             .profile = profile,
                             .placement = {start, static_cast<int>(info.placement.size)},
                             .compute = {},
                             .pins = {}};
}

Result<void> Driver::destroy_gpu_instance(const layout::Gpu& gpu, int gpu_instance_id) {
  const NvmlDevice device = TRY(impl_->device(gpu.uuid));
  const auto& nvml = impl_->nvml();
  NvmlGpuInstance instance = TRY(find_gpu_instance(nvml, device, gpu, gpu_instance_id));
  const int answer = nvml.destroy_gpu_instance(instance);
  if (answer != kNvmlSuccess) {
    return refused(answer, nvml.destroy_gpu_instance.name, instance_text(gpu, gpu_instance_id));
  }
  return {};
}

Result<layout::ComputeInstance> Driver::create_compute_instance(const layout::Gpu& gpu,
                                                                const layout::GpuInstance& instance, int compute,
                                                                int start) {
  const auto* wanted = TRY(compute_profile_of(gpu, instance.profile, compute));
  const auto object = fmt::format("{} {}@{}", instance_text(gpu, instance.id), wanted->name, start);
  const NvmlDevice device = TRY(impl_->device(gpu.uuid));
  const auto& nvml = impl_->nvml();
  NvmlGpuInstance owner = TRY(find_gpu_instance(nvml, device, gpu, instance.id));
  const auto rows = impl_->compute_rows_of(gpu.uuid, device, owner);
  if (!rows) return refused(rows.error(), object);
  const auto row =
      std::ranges::find((*rows)->begin(), (*rows)->end(), wanted->nvml_profile, &ComputeProfileRow::nvml_profile);
  if (row == (*rows)->end()) {
    return fail(ErrorCode::driver, fmt::format("{}: this driver does not offer the compute profile {}; read the state "
                                               "again",
                                               object, wanted->name));
  }

  const NvmlPlacement place{static_cast<U32>(start), static_cast<U32>(wanted->placement_size)};
  NvmlComputeInstance made = nullptr;
  const char* function = "";
  int answer = create_compute(nvml, owner, row->id, place, made, function);
  if (answer != kNvmlSuccess) return refused(answer, function, object);

  // From here on the compute instance exists; every failure takes it back.
  NvmlComputeInstanceInfo info{};
  answer = nvml.compute_instance_info(made, &info);
  if (answer != kNvmlSuccess) {
    auto error = nvml_error(answer, nvml.compute_instance_info.name, object);
    return std::unexpected(take_back(std::move(error), nvml.destroy_compute_instance(made)));
  }
  if (info.placement.start != place.start) {
    auto error = wrong_place(object, wanted->name, start, info.placement.start);
    return std::unexpected(take_back(std::move(error), nvml.destroy_compute_instance(made)));
  }
  auto described = describe_compute(nvml, device, object, compute, instance.id, info);
  if (!described) {
    return std::unexpected(take_back(std::move(described).error(), nvml.destroy_compute_instance(made)));
  }
  return described;
}

Result<void> Driver::destroy_compute_instance(const layout::Gpu& gpu, int gpu_instance_id, int compute_instance_id) {
  const NvmlDevice device = TRY(impl_->device(gpu.uuid));
  const auto& nvml = impl_->nvml();
  const auto object = fmt::format("{} compute instance {}", instance_text(gpu, gpu_instance_id), compute_instance_id);
  NvmlGpuInstance owner = TRY(find_gpu_instance(nvml, device, gpu, gpu_instance_id));
  NvmlComputeInstance instance = nullptr;
  int answer = nvml.compute_instance_by_id(owner, static_cast<U32>(compute_instance_id), &instance);
  if (answer != kNvmlSuccess) return refused(answer, nvml.compute_instance_by_id.name, object);
  answer = nvml.destroy_compute_instance(instance);
  if (answer != kNvmlSuccess) return refused(answer, nvml.destroy_compute_instance.name, object);
  return {};
}

}  // namespace partita::driver
