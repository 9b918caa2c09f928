#include <set>
#include <string>

#include "emulator/engine/records.h"
#include "emulator/engine/spec_codec.h"

namespace partita::emulator {

namespace {

bool starts_fit(const std::vector<int>& starts, int size, int units) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i] < 0 || starts[i] + size > units) return false;
    if (i > 0 && starts[i] <= starts[i - 1]) return false;
  }
  return true;
}

Result<void> check_compute(const std::string& where, const ProfileSpec& profile) {
  std::set<int> ids;
  for (const ComputeProfileSpec& compute : profile.compute) {
    const std::string which = where + ": compute profile " + compute.name;
    if (!ids.insert(compute.nvml_profile).second) return fail(ErrorCode::invalid, which + ": its id is taken twice");
    if (compute.nvml_profile < 0 || compute.nvml_profile > 254)
      return fail(ErrorCode::invalid, which + ": id not 0 to 254");
    if (compute.size < 1 || compute.size > 254 || compute.slices < 1 || compute.slices > 254) {
      return fail(ErrorCode::invalid, which + ": expected a size and slices of at least 1");
    }
    if (compute.starts.empty() || !starts_fit(compute.starts, compute.size, profile.compute_slices)) {
      return fail(ErrorCode::invalid, which + ": expected ascending starts within its GPU instance");
    }
  }
  return {};
}

Result<void> check_profile(const std::string& where, const GpuSpec& gpu, const ProfileSpec& profile) {
  if (profile.size < 1 || gpu.units % profile.size != 0) {
    return fail(ErrorCode::invalid, where + ": its size " + std::to_string(profile.size) + " does not divide the " +
                                        std::to_string(gpu.units) + " placement units of the GPU");
  }
  if (const int parts = gpu.units / profile.size; parts != 1 && parts != 2 && parts != 4 && parts != 8) {
    return fail(ErrorCode::invalid, where + ": expected the whole, a half, a quarter or an eighth of the GPU");
  }
  if (profile.starts.empty() || !starts_fit(profile.starts, profile.size, gpu.units)) {
    return fail(ErrorCode::invalid, where + ": expected ascending starts within the GPU");
  }
  for (const int start : profile.starts) {
    if (start % profile.size != 0) return fail(ErrorCode::invalid, where + ": a start is not a multiple of its size");
  }
  if (std::set<int>(profile.driver_order.begin(), profile.driver_order.end()) !=
      std::set<int>(profile.starts.begin(), profile.starts.end())) {
    return fail(ErrorCode::invalid, where + ": the driver's order does not name the same starts");
  }
  return check_compute(where, profile);
}

Result<void> check_gpu(const std::string& where, const GpuSpec& gpu) {
  if (gpu.units < 0 || gpu.units > 64) return fail(ErrorCode::invalid, where + ": placement units not 0 to 64");
  if (gpu.units == 0 && !gpu.profiles.empty())
    return fail(ErrorCode::invalid, where + ": profiles but no placement units");
  if (gpu.mirrored && gpu.units % 2 != 0)
    return fail(ErrorCode::invalid, where + ": a mirrored GPU needs an even grid");
  if (gpu.minor < 0 || gpu.minor >= kMaxGpus) return fail(ErrorCode::invalid, where + ": device minor not 0 to 31");
  if (gpu.profiles.size() > 200) return fail(ErrorCode::invalid, where + ": more than 200 profiles");
  std::set<int> ids, nvml;
  for (const ProfileSpec& profile : gpu.profiles) {
    const std::string which = where + ": profile " + profile.name;
    if (!ids.insert(profile.id).second) return fail(ErrorCode::invalid, which + ": its id is taken twice");
    if (!nvml.insert(profile.nvml_profile).second)
      return fail(ErrorCode::invalid, which + ": its NVML number is taken twice");
    TRY_VOID(check_profile(which, gpu, profile));
  }
  return {};
}

}  // namespace

Result<void> check(const NodeSpec& spec) {
  if (spec.gpus.size() > kMaxGpus) {
    return fail(ErrorCode::invalid, "a node has at most 32 GPUs, found " + std::to_string(spec.gpus.size()));
  }
  std::set<int> minors;
  std::set<std::string> uuids, buses;
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    const GpuSpec& gpu = spec.gpus[i];
    const std::string where = "GPU " + std::to_string(i);
    TRY_VOID(check_gpu(where, gpu));
    if (!minors.insert(gpu.minor).second) return fail(ErrorCode::invalid, where + ": its device minor is taken twice");
    if (!uuids.insert(gpu.uuid).second) return fail(ErrorCode::invalid, where + ": its UUID is taken twice");
    if (!buses.insert(gpu.pci_bus_id).second)
      return fail(ErrorCode::invalid, where + ": its PCI bus id is taken twice");
  }
  return {};
}

}  // namespace partita::emulator
