// The live GPU and compute instances of a GPU, and its MIG devices.
#include <algorithm>
#include <array>

#include "driver/session.h"

namespace partita::driver {
namespace {

constexpr std::size_t kMostInstances = 64;  // of one profile; NVML has at most 15

struct LiveCompute {
  NvmlComputeInstanceInfo info{};
  int nvml_profile = 0;
};
struct LiveGpuInstance {
  const GpuProfileRow* row = nullptr;
  NvmlGpuInstanceInfo info{};
  NvmlGpuInstance handle = nullptr;
  std::vector<LiveCompute> compute;
};

// The handles that `function(owner, profile id, buffer, &count)` lists.
template <class Owner, class Handle>
NvmlResult<std::vector<Handle>> list(const NvmlFunction<Owner, U32, Handle*, U32*>& function, Owner owner,
                                     int profile_id) {
  std::array<Handle, kMostInstances> buffer{};
  U32 count = kMostInstances;
  const int answer = function(owner, static_cast<U32>(profile_id), buffer.data(), &count);
  if (answer == kNvmlNotFound || answer == kNvmlNotSupported) return std::vector<Handle>{};
  if (answer != kNvmlSuccess) return std::unexpected(NvmlRefusal{answer, function.name});
  return std::vector<Handle>(buffer.begin(), buffer.begin() + std::min<std::size_t>(count, kMostInstances));
}

NvmlResult<std::vector<LiveGpuInstance>> live_gpu_instances(const NvmlTable& nvml, NvmlDevice device,
                                                            const ProfileTables& tables) {
  std::vector<LiveGpuInstance> live;
  for (const auto& row : tables.gpu) {
    for (NvmlGpuInstance handle : TRY(list(nvml.gpu_instances, device, row.id))) {
      LiveGpuInstance instance{.row = &row, .info = {}, .handle = handle, .compute = {}};
      const int answer = nvml.gpu_instance_info(handle, &instance.info);
      if (answer == kNvmlNotFound) continue;  // destroyed by another in the meantime
      if (answer != kNvmlSuccess) return std::unexpected(NvmlRefusal{answer, nvml.gpu_instance_info.name});
      live.push_back(std::move(instance));
    }
  }
  std::ranges::sort(live, {}, [](const LiveGpuInstance& i) { return i.info.placement.start; });
  return live;
}

NvmlResult<std::vector<LiveCompute>> live_compute(const NvmlTable& nvml, NvmlGpuInstance instance,
                                                  const std::vector<ComputeProfileRow>& rows) {
  std::vector<LiveCompute> live;
  for (const auto& row : rows) {
    for (NvmlComputeInstance handle : TRY(list(nvml.compute_instances, instance, row.id))) {
      LiveCompute compute{.info = {}, .nvml_profile = row.nvml_profile};
      const int answer = nvml.compute_instance_info(handle, &compute.info);
      if (answer == kNvmlNotFound) continue;
      if (answer != kNvmlSuccess) return std::unexpected(NvmlRefusal{answer, nvml.compute_instance_info.name});
      live.push_back(compute);
    }
  }
  std::ranges::sort(live, {}, [](const LiveCompute& c) { return c.info.placement.start; });
  return live;
}

layout::Placement placement_of(const NvmlPlacement& placement) {
  return {.start = static_cast<int>(placement.start), .size = static_cast<int>(placement.size)};
}

template <class Entries>
int index_of(const Entries& entries, int nvml_profile) {
  const auto found = std::ranges::find(entries, nvml_profile, [](const auto& entry) { return entry.nvml_profile; });
  return static_cast<int>(found - entries.begin());  // present: the board was made from the same rows
}

layout::GpuInstance to_layout(const LiveGpuInstance& live, const catalog::Board& board,
                              const std::vector<MigDevice>& devices) {
  layout::GpuInstance instance;
  instance.id = static_cast<int>(live.info.id);
  instance.profile = profile_index(board, *live.row);
  instance.placement = placement_of(live.info.placement);
  const auto& profile = board.profiles[static_cast<std::size_t>(instance.profile)];
  for (const auto& c : live.compute) {
    layout::ComputeInstance compute;
    compute.id = static_cast<int>(c.info.id);
    compute.profile = index_of(profile.compute, c.nvml_profile);
    compute.placement = placement_of(c.info.placement);
    const auto same = [&](const MigDevice& d) {
      return d.gpu_instance == instance.id && d.compute_instance == compute.id;
    };
    if (const auto device = std::ranges::find_if(devices, same); device != devices.end()) {
      compute.uuid = device->uuid;
      compute.mig_index = device->index;
    }
    instance.compute.push_back(std::move(compute));
  }
  return instance;
}

}  // namespace

int profile_index(const catalog::Board& board, const GpuProfileRow& row) {
  const auto same = [&](const catalog::Profile& p) { return p.nvml_profile == row.nvml_profile && p.id == row.id; };
  return static_cast<int>(std::ranges::find_if(board.profiles, same) - board.profiles.begin());
}

NvmlResult<void> read_instances(Session& session, NvmlDevice device, layout::Gpu& gpu) {
  const auto& nvml = session.nvml();
  auto* known = TRY(session.tables_of(gpu.uuid, device));
  if (known->tables.gpu.empty()) return {};  // this driver shows no profiles: the catalog's board stays
  auto live = TRY(live_gpu_instances(nvml, device, known->tables));

  bool any_compute = false;
  for (auto& instance : live) {
    TRY_VOID(session.learn_compute(*known, instance.row->id, instance.handle));
    instance.compute = TRY(live_compute(nvml, instance.handle, known->tables.compute.at(instance.row->id)));
    any_compute = any_compute || !instance.compute.empty();
  }
  const auto devices = any_compute ? TRY(read_mig_devices(nvml, device)) : std::vector<MigDevice>{};

  gpu.board = session.board_of(*known, gpu.board, identity_of(nvml, device, gpu));
  for (const auto& instance : live) {
    gpu.instances.push_back(to_layout(instance, *gpu.board, devices));
  }
  return {};
}

NvmlResult<std::vector<MigDevice>> read_mig_devices(const NvmlTable& nvml, NvmlDevice device) {
  std::vector<MigDevice> devices;
  U32 most = 0;
  int answer = nvml.max_mig_devices(device, &most);
  if (answer == kNvmlNotSupported) return devices;
  if (answer != kNvmlSuccess) return std::unexpected(NvmlRefusal{answer, nvml.max_mig_devices.name});

  for (U32 index = 0; index < most; ++index) {
    NvmlDevice mig = nullptr;
    answer = nvml.mig_device_by_index(device, index, &mig);
    if (answer == kNvmlNotFound || answer == kNvmlInvalidArgument) continue;  // indices have gaps
    if (answer != kNvmlSuccess) return std::unexpected(NvmlRefusal{answer, nvml.mig_device_by_index.name});
    U32 gpu_instance = 0, compute_instance = 0;
    if (nvml.gpu_instance_id(mig, &gpu_instance) != kNvmlSuccess) continue;  // gone in the meantime
    if (nvml.compute_instance_id(mig, &compute_instance) != kNvmlSuccess) continue;
    devices.push_back({.index = static_cast<int>(index),
                       .gpu_instance = static_cast<int>(gpu_instance),
                       .compute_instance = static_cast<int>(compute_instance),
                       .uuid = TRY(read_text<kNvmlUuidSize>(nvml.device_uuid, mig))});
  }
  return devices;
}

}  // namespace partita::driver
