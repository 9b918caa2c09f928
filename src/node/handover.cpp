#include "node/handover.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/text.h"
#include "deliver/cdi.h"
#include "deliver/permissions.h"

namespace partita::node {
namespace {

constexpr int kControlMinor = 255;  // of /dev/nvidiactl

std::vector<ComputeRecord> compute_of(const catalog::Board& board, const layout::GpuInstance& instance) {
  std::vector<ComputeRecord> compute;
  const catalog::Profile& profile = board.profiles[static_cast<std::size_t>(instance.profile)];
  for (const layout::ComputeInstance& c : instance.compute)
    compute.push_back({profile.compute[static_cast<std::size_t>(c.profile)].nvml_profile, c.placement.start});
  std::ranges::sort(compute);
  return compute;
}

api::GrantedDevice device_of(const layout::Gpu& gpu) {
  api::GrantedDevice device;
  device.gpu = gpu.uuid;
  device.gpu_index = gpu.index;
  device.pci_bus_id = gpu.pci_bus_id;
  if (gpu.board) device.board = gpu.board->id;
  return device;
}

api::GrantedDevice whole(const layout::Gpu& gpu) {
  api::GrantedDevice device = device_of(gpu);
  device.uuid = gpu.uuid;
  device.index = std::to_string(gpu.index);
  device.memory = gpu.total_memory;
  if (gpu.board) {
    device.sms = gpu.board->specs.sm_count.value_or(0);
    device.compute_slices = gpu.board->compute_slices;
    device.memory_slices = gpu.board->memory_slices;
  }
  return device;
}

}  // namespace

const layout::GpuInstance* instance_at(const layout::Gpu& gpu, const LeasePlace& place) {
  if (!gpu.board || gpu.fault) return nullptr;
  for (const layout::GpuInstance& instance : gpu.instances) {
    if (instance.placement.start != place.instance.start) continue;
    const auto& profile = gpu.board->profiles[static_cast<std::size_t>(instance.profile)];
    if (profile.nvml_profile != place.instance.profile) continue;
    if (compute_of(*gpu.board, instance) == place.instance.compute) return &instance;
  }
  return nullptr;
}

Handover::Handover(driver::Driver& driver, const Options& options) : driver_(driver), options_(options) {}

// Lines "195 nvidia", "236 nvidia-caps" of /proc/devices.
const Majors& Handover::majors() {
  if (majors_) return *majors_;
  Majors& majors = majors_.emplace();
  std::ifstream file(below_root("/proc/devices"));
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = split(std::string(trim(line)), ' ');
    if (parts.size() != 2 || !parts[1].starts_with("nvidia")) continue;
    const int major = std::atoi(parts[0].c_str());
    if (parts[1] == "nvidia-caps") majors.caps = major;
    if (parts[1] == "nvidia-uvm") majors.uvm = major;
    if (std::ranges::find(majors.guarded, major) == majors.guarded.end()) majors.guarded.push_back(major);
  }
  if (majors.guarded.empty()) majors.guarded.push_back(majors.gpu);
  return majors;
}

Result<api::DeviceNode> Handover::capability(const layout::Gpu& gpu, int gi, std::optional<int> ci) {
  const int minor = TRY(driver_.capability_minor(gpu, gi, ci));
  return api::DeviceNode{fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor), majors().caps, minor, true};
}

Result<api::Grant> Handover::grant_of(const layout::Gpu& gpu, const LeasePlace& place) {
  api::Grant grant;
  const int minor = gpu.minor.value_or(gpu.index);
  grant.nodes = {{fmt::format("/dev/nvidia{}", minor), majors().gpu, minor, false},
                 {"/dev/nvidiactl", majors().gpu, kControlMinor, false},
                 {"/dev/nvidia-uvm", majors().uvm, 0, false}};
  if (place.whole_gpu) {
    grant.devices.push_back(whole(gpu));
    grant.cuda_visible_devices = gpu.uuid;
  } else {
    const layout::GpuInstance* const instance = instance_at(gpu, place);
    if (instance == nullptr)
      return fail(ErrorCode::driver, fmt::format("GPU {}: the instance is not there", gpu.index));
    const catalog::Profile& profile = gpu.board->profiles[static_cast<std::size_t>(instance->profile)];
    api::GrantedDevice device = device_of(gpu);
    device.profile = profile.name;
    device.start = instance->placement.start;
    device.gpu_instance = instance->id;
    device.memory = profile.memory.value_or(Bytes{});
    device.sms = profile.sm.value_or(profile.sm_estimate.value_or(0));
    device.compute_slices = profile.compute_slices;
    device.memory_slices = profile.memory_slices;
    grant.nodes.push_back(TRY(capability(gpu, instance->id, std::nullopt)));
    if (instance->compute.empty()) grant.devices.push_back(device);
    for (const layout::ComputeInstance& compute : instance->compute) {
      const catalog::ComputeProfile& shape = profile.compute[static_cast<std::size_t>(compute.profile)];
      device.profile = shape.name;
      device.compute_instance = compute.id;
      device.uuid = compute.uuid;
      device.index = fmt::format("{}:{}", gpu.index, compute.mig_index.value_or(0));
      if (shape.sm) device.sms = *shape.sm;
      device.compute_slices = shape.compute_slices;
      grant.devices.push_back(device);
      grant.nodes.push_back(TRY(capability(gpu, instance->id, compute.id)));
      grant.cuda_visible_devices += (grant.cuda_visible_devices.empty() ? "" : ",") + compute.uuid;
    }
  }
  for (api::GrantedDevice& device : grant.devices)
    if (!device.uuid.empty()) device.cdi = fmt::format("{}={}", deliver::kCdiKind, device.uuid);
  return grant;
}

std::filesystem::path Handover::below_root(std::string_view path) const {
  return options_.driver.device_root / std::filesystem::path(path).relative_path();
}

std::filesystem::path Handover::access_file(int minor, int gi, std::optional<int> ci) const {
  const std::string compute = ci ? fmt::format("/ci{}", *ci) : "";
  return below_root(fmt::format("/proc/driver/nvidia/capabilities/gpu{}/mig/gi{}{}/access", minor, gi, compute));
}

gid_t Handover::group_of(uid_t uid) {
  if (const auto found = gids_.find(uid); found != gids_.end()) return found->second;
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  const bool known = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return gids_[uid] = known ? entry.pw_gid : static_cast<gid_t>(uid);
}

// The nodes of an emulated node of an ordinary user are that user's files.
bool Handover::gives_permissions() const { return ::geteuid() == 0 || !options_.emulated; }

void Handover::happened(const char* what) const {
  if (options_.on_event) options_.on_event(what);
}

std::vector<deliver::CapabilityNode> Handover::capability_nodes(const api::Grant& grant) const {
  std::vector<deliver::CapabilityNode> nodes;
  if (!gives_permissions()) return nodes;
  std::vector<std::filesystem::path> paths;  // the GPU instance's first, then one per compute instance
  for (const api::DeviceNode& node : grant.nodes)
    if (node.capability) paths.push_back(below_root(node.path));
  const int minor = grant.nodes.front().minor;
  for (const api::GrantedDevice& device : grant.devices) {
    if (!device.gpu_instance) continue;
    if (nodes.empty())
      nodes.push_back({paths.at(nodes.size()), access_file(minor, *device.gpu_instance, std::nullopt)});
    if (device.compute_instance)
      nodes.push_back({paths.at(nodes.size()), access_file(minor, *device.gpu_instance, device.compute_instance)});
  }
  return nodes;
}

Result<void> Handover::give(LeaseRecord& record) {
  const auto& grant = record.lease.grant;
  if (!grant) return fail(ErrorCode::internal, "a lease without a grant hands nothing over");
  const std::vector<deliver::CapabilityNode> nodes = capability_nodes(*grant);
  const uid_t uid = record.lease.holder.uid;
  record.given.clear();
  if (!nodes.empty()) {
    TRY_VOID(deliver::give(nodes, uid, group_of(uid)));
    record.given = nodes;
    happened("give");
  }
  if (auto written = write_cdi(record); !written) {
    (void)take(record);
    return written;
  }
  return {};
}

Result<void> Handover::write_cdi(LeaseRecord& record) {
  if (options_.cdi_folder.empty() || !record.lease.grant) return {};
  record.has_file = true;
  const api::Grant& grant = *record.lease.grant;
  const auto cdi_node = [&](const api::DeviceNode& node) {
    const auto host = below_root(node.path);
    return deliver::CdiNode{node.path, host == node.path ? "" : host.string(), "rw"};
  };
  std::vector<deliver::CdiDevice> devices;
  deliver::CdiDevice all;
  for (const api::DeviceNode& node : grant.nodes) all.nodes.push_back(cdi_node(node));
  if (!grant.cuda_visible_devices.empty()) all.envs.emplace_back("CUDA_VISIBLE_DEVICES", grant.cuda_visible_devices);
  all.envs.emplace_back("NVIDIA_VISIBLE_DEVICES", "void");  // older runtimes add nothing of their own then
  all.names.push_back(record.lease.name);
  const bool one = grant.devices.size() == 1;
  if (one && !grant.devices[0].uuid.empty()) {
    all.names.push_back(grant.devices[0].uuid);
    all.names.push_back(grant.devices[0].index);
  }
  devices.push_back(all);
  const std::size_t fixed = grant.nodes.size() - grant.devices.size();  // what every compute instance needs
  for (std::size_t i = 0; !one && i < grant.devices.size(); ++i) {
    deliver::CdiDevice single;
    single.names = {grant.devices[i].uuid, grant.devices[i].index};
    for (std::size_t n = 0; n < fixed; ++n) single.nodes.push_back(cdi_node(grant.nodes[n]));
    single.nodes.push_back(cdi_node(grant.nodes[fixed + i]));
    single.envs = {{"CUDA_VISIBLE_DEVICES", grant.devices[i].uuid}, {"NVIDIA_VISIBLE_DEVICES", "void"}};
    devices.push_back(std::move(single));
  }
  TRY_VOID(deliver::write_cdi(options_.cdi_folder, record.lease.name, deliver::cdi_specification(devices)));
  happened("write_cdi");
  return {};
}

Result<void> Handover::take(LeaseRecord& record) {
  if (!options_.cdi_folder.empty() && record.has_file) {
    TRY_VOID(deliver::remove_cdi(options_.cdi_folder, record.lease.name));
    record.has_file = false;
    happened("remove_cdi");
  }
  if (record.given.empty()) return {};
  TRY_VOID(deliver::take_back(record.given));
  happened("take_back");
  record.given.clear();
  return {};
}

Result<void> Handover::close(const layout::Gpu& gpu, const layout::GpuInstance& instance) {
  if (!gives_permissions()) return {};
  const int minor = gpu.minor.value_or(gpu.index);
  std::vector<deliver::CapabilityNode> nodes;
  const auto add = [&](std::optional<int> compute) -> Result<void> {
    const api::DeviceNode node = TRY(capability(gpu, instance.id, compute));
    nodes.push_back({below_root(node.path), access_file(minor, instance.id, compute)});
    return {};
  };
  TRY_VOID(add(std::nullopt));
  for (const layout::ComputeInstance& compute : instance.compute) TRY_VOID(add(compute.id));
  TRY_VOID(deliver::take_back(nodes));
  happened("take_back");
  return {};
}

Result<std::vector<std::string>> Handover::remove_files_but(const std::set<std::string, std::less<>>& live) {
  std::vector<std::string> removed;
  if (options_.cdi_folder.empty()) return removed;
  for (const std::string& stem : deliver::list_cdi(options_.cdi_folder)) {
    if (live.contains(stem)) continue;
    TRY_VOID(deliver::remove_cdi(options_.cdi_folder, stem));
    removed.push_back(stem);
  }
  return removed;
}

}  // namespace partita::node
