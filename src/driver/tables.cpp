#include "driver/tables.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace partita::driver {
namespace {

// "MIG 1g.5gb" as the driver writes it, without its "MIG ".
std::string profile_name(const char (&name)[kNvmlNameSize]) {
  std::string_view text(name, std::find(name, name + kNvmlNameSize, '\0'));
  if (text.starts_with("MIG ")) text.remove_prefix(4);
  return std::string(text);
}

template <class Info>
Info version_2() {
  Info info{};
  info.version = kNvmlVersion2<Info>;
  return info;
}

bool form_unknown(int answer) { return answer == kNvmlArgumentVersionMismatch || answer == kNvmlFunctionNotFound; }

// A profile that this GPU does not have, or a number that this library does not know.
bool not_here(int answer) { return answer == kNvmlNotSupported || answer == kNvmlInvalidArgument; }

template <class Info>
GpuProfileRow gpu_row(int nvml_profile, const Info& info, const std::string& name) {
  return GpuProfileRow{.nvml_profile = nvml_profile,
                       .id = static_cast<int>(info.id),
                       .name = name,
                       .slices = static_cast<int>(info.slices),
                       .instances = static_cast<int>(info.instances),
                       .sm = static_cast<int>(info.multiprocessors),
                       .copy = static_cast<int>(info.copy),
                       .decoder = static_cast<int>(info.decoder),
                       .encoder = static_cast<int>(info.encoder),
                       .jpeg = static_cast<int>(info.jpeg),
                       .ofa = static_cast<int>(info.ofa),
                       .memory_mib = info.memory_mib,
                       .placements = {}};
}

template <class Info>
ComputeProfileRow compute_row(int nvml_profile, const Info& info, const std::string& name) {
  return ComputeProfileRow{.nvml_profile = nvml_profile,
                           .id = static_cast<int>(info.id),
                           .name = name,
                           .slices = static_cast<int>(info.slices),
                           .instances = static_cast<int>(info.instances),
                           .sm = static_cast<int>(info.multiprocessors),
                           .placements = {}};
}

// Asks one profile in its named form, else in the first form. Returns the driver's answer.
int ask_gpu_profile(const NvmlTable& nvml, NvmlDevice device, int profile, GpuProfileRow& row, const char*& function) {
  const auto number = static_cast<U32>(profile);
  if (nvml.gpu_profile_v2) {
    auto info = version_2<NvmlGpuProfileInfoV2>();
    function = nvml.gpu_profile_v2.name;
    const int answer = nvml.gpu_profile_v2(device, number, &info);
    if (answer == kNvmlSuccess) row = gpu_row(profile, info, profile_name(info.name));
    if (!form_unknown(answer)) return answer;
  }
  NvmlGpuProfileInfo info{};
  function = nvml.gpu_profile.name;
  const int answer = nvml.gpu_profile(device, number, &info);
  if (answer == kNvmlSuccess) row = gpu_row(profile, info, "");
  return answer;
}

int ask_compute_profile(const NvmlTable& nvml, NvmlGpuInstance instance, int profile, ComputeProfileRow& row,
                        const char*& function) {
  const auto number = static_cast<U32>(profile);
  if (nvml.compute_profile_v2) {
    auto info = version_2<NvmlComputeProfileInfoV2>();
    function = nvml.compute_profile_v2.name;
    const int answer = nvml.compute_profile_v2(instance, number, kNvmlSharedEngines, &info);
    if (answer == kNvmlSuccess) row = compute_row(profile, info, profile_name(info.name));
    if (!form_unknown(answer)) return answer;
  }
  NvmlComputeProfileInfo info{};
  function = nvml.compute_profile.name;
  const int answer = nvml.compute_profile(instance, number, kNvmlSharedEngines, &info);
  if (answer == kNvmlSuccess) row = compute_row(profile, info, "");
  return answer;
}

// Reads all placements of a profile through `function(owner, id, buffer, &count)`; empty when refused.
template <class Owner>
std::vector<NvmlPlacement> read_placements(const NvmlFunction<Owner, U32, NvmlPlacement*, U32*>& function, Owner owner,
                                           int profile_id) {
  if (!function) return {};
  U32 count = 0;
  if (function(owner, static_cast<U32>(profile_id), nullptr, &count) != kNvmlSuccess || count == 0) return {};
  std::vector<NvmlPlacement> placements(std::min<U32>(count, 64));
  count = static_cast<U32>(placements.size());
  if (function(owner, static_cast<U32>(profile_id), placements.data(), &count) != kNvmlSuccess) return {};
  placements.resize(std::min<std::size_t>(count, placements.size()));
  std::ranges::sort(placements, {}, &NvmlPlacement::start);
  return placements;
}

}  // namespace

const GpuProfileRow* ProfileTables::by_nvml_profile(int nvml_profile) const {
  const auto row = std::ranges::find(gpu, nvml_profile, &GpuProfileRow::nvml_profile);
  return row == gpu.end() ? nullptr : &*row;
}

NvmlResult<std::vector<GpuProfileRow>> read_gpu_profiles(const NvmlTable& nvml, NvmlDevice device) {
  std::vector<GpuProfileRow> rows;
  for (int profile = 0; profile < kNvmlGpuProfilesAsked; ++profile) {
    GpuProfileRow row;
    const char* function = "";
    const int answer = ask_gpu_profile(nvml, device, profile, row, function);
    if (not_here(answer)) continue;
    if (answer != kNvmlSuccess) return std::unexpected(NvmlRefusal{answer, function});
    row.placements = read_placements(nvml.gpu_placements, device, row.id);
    rows.push_back(std::move(row));
  }
  return rows;
}

NvmlResult<std::vector<ComputeProfileRow>> read_compute_profiles(const NvmlTable& nvml, NvmlGpuInstance instance) {
  std::vector<ComputeProfileRow> rows;
  for (int profile = 0; profile < kNvmlComputeProfilesAsked; ++profile) {
    ComputeProfileRow row;
    const char* function = "";
    const int answer = ask_compute_profile(nvml, instance, profile, row, function);
    if (not_here(answer)) continue;
    if (answer != kNvmlSuccess) return std::unexpected(NvmlRefusal{answer, function});
    row.placements = read_placements(nvml.compute_placements, instance, row.id);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace partita::driver
