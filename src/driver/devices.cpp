// MIG devices by name, and their capability minors.
#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "driver/driver.h"
#include "driver/errors.h"
#include "driver/session.h"

namespace partita::driver {
namespace {

// "DeviceFileMinor: 12" in a capability file.
std::optional<int> read_minor(const std::filesystem::path& file) {
  constexpr std::string_view kKey = "DeviceFileMinor:";
  constexpr std::size_t kLongest = 4096;
  const auto whole = read_file(file, kLongest);
  if (!whole) return std::nullopt;
  for (const std::string& line : split(*whole, '\n')) {
    if (!line.starts_with(kKey)) continue;
    const auto text = trim(std::string_view(line).substr(kKey.size()));
    int minor = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), minor);
    if (error == std::errc{} && end == text.data() + text.size()) return minor;
  }
  return std::nullopt;
}

// The older form of a MIG device's UUID.
std::string old_form(std::string_view gpu_uuid, const MigDevice& device) {
  return fmt::format("MIG-{}/{}/{}", gpu_uuid, device.gpu_instance, device.compute_instance);
}

constexpr int kMinorsPerGpu = 135, kMinorsPerInstance = 9, kFirstMinor = 3;

}  // namespace

Result<int> Driver::capability_minor(const layout::Gpu& gpu, int gpu_instance_id,
                                     std::optional<int> compute_instance_id) {
  if (!gpu.minor) {
    return fail(
        ErrorCode::driver,
        fmt::format("{}: the driver tells no device minor, so its capability files are not known", gpu_text(gpu)));
  }
  if (*gpu.minor < 0 || *gpu.minor > 31 || gpu_instance_id < 0 || gpu_instance_id > 14 ||
      compute_instance_id.value_or(0) < 0 || compute_instance_id.value_or(0) > 7) {
    return fail(ErrorCode::internal,
                fmt::format("{}: no capability for minor {} (0 to 31), GPU instance {} (0 to 14), compute instance {} "
                            "(0 to 7)",
                            gpu_text(gpu), *gpu.minor, gpu_instance_id, compute_instance_id.value_or(0)));
  }
  auto folder = impl_->options.device_root / "proc/driver/nvidia/capabilities" / fmt::format("gpu{}", *gpu.minor) /
                "mig" / fmt::format("gi{}", gpu_instance_id);
  if (compute_instance_id) folder /= fmt::format("ci{}", *compute_instance_id);
  if (const auto minor = read_minor(folder / "access")) return *minor;

  const int of_instance = kFirstMinor + kMinorsPerGpu * *gpu.minor + kMinorsPerInstance * gpu_instance_id;
  return compute_instance_id ? of_instance + 1 + *compute_instance_id : of_instance;
}

Result<Driver::DeviceName> Driver::find_device(std::string_view mig_name) {
  TRY_VOID(impl_->ready());
  const auto& nvml = impl_->nvml();
  U32 count = 0;
  if (const int answer = nvml.device_count(&count); answer != kNvmlSuccess) {
    return std::unexpected(nvml_error(answer, nvml.device_count.name, ""));
  }
  // By list, not by nvmlDeviceGetHandleByUUID: that knows only one of the two forms and may take seconds.
  std::vector<std::string> names;
  for (U32 index = 0; index < count; ++index) {
    NvmlDevice device = nullptr;
    if (nvml.device_by_index(index, &device) != kNvmlSuccess) continue;  // a lost GPU has no devices
    const auto gpu_uuid = read_text<kNvmlUuidSize>(nvml.device_uuid, device);
    const auto devices = read_mig_devices(nvml, device);
    if (!gpu_uuid || !devices) continue;
    for (const auto& mig : *devices) {
      const auto old_name = old_form(*gpu_uuid, mig);
      if (mig_name == mig.uuid || mig_name == old_name) {
        return DeviceName{
            .gpu_uuid = *gpu_uuid, .gpu_instance = mig.gpu_instance, .compute_instance = mig.compute_instance};
      }
      names.push_back(mig_name.find('/') == std::string_view::npos ? mig.uuid : old_name);
    }
  }
  return fail(ErrorCode::not_found, fmt::format("no MIG device {} on this node{}", mig_name,
                                                names.empty() ? "; it has none" : did_you_mean(mig_name, names)));
}

}  // namespace partita::driver
