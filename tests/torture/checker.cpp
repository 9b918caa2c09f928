#include "checker.h"

#include <algorithm>
#include <set>

#include "emulator/engine/root_files.h"
#include "emulator/engine/uuid.h"

namespace partita::torture {

using namespace partita::emulator;

namespace {

bool overlap(int start, int size, int other_start, int other_size) {
  return start < other_start + other_size && other_start < start + size;
}

// The id that section 3.2 of the hardware facts gives to a place: whole 0, halves 1-2, quarters 3-6, eighths 7-14.
int id_of_place(const GpuSpec& gpu, int start, int size) {
  if (gpu.mirrored) start = (start + gpu.units / 2) % gpu.units;
  const int parts = gpu.units / size;
  return parts == 1 ? 0 : parts == 2 ? 1 + start / size : parts == 4 ? 3 + start / size : 7 + start / size;
}

std::set<std::string> entries(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

}  // namespace

Checker::Checker(const std::filesystem::path& node) : node_(node), engine_(std::move(*Engine::open(node))) {}

std::vector<std::string> Checker::look() {
  wrong_.clear();
  for (int gpu = 0; gpu < static_cast<int>(engine_.spec().gpus.size()); ++gpu) {
    GpuRecord record;
    const std::uint64_t before = engine_.reader_retries();
    engine_.snapshot(gpu, record);
    most_retries_ = std::max(most_retries_, engine_.reader_retries() - before);
    check_gpu(gpu, record);
  }
  ++looks_;
  return wrong_;
}

void Checker::check_gpu(int gpu, const GpuRecord& record) {
  const std::string where = "GPU " + std::to_string(gpu);
  const GpuSpec& spec = engine_.spec().gpus[static_cast<std::size_t>(gpu)];
  if (record.mig_current != 1 || record.lost != 0) wrong(where, "its mode has changed");
  std::map<int, int> of_profile;
  for (std::size_t i = 0; i < record.instance_count; ++i) {
    const InstanceRecord& instance = record.instances[i];
    if (i > 0 && record.instances[i - 1].id >= instance.id) wrong(where, "ids do not ascend");
    for (std::size_t j = 0; j < i; ++j)
      if (overlap(instance.start, instance.size, record.instances[j].start, record.instances[j].size))
        wrong(where, "instances overlap");
    ++of_profile[instance.profile];
    check_instance(gpu, instance);
  }
  for (const auto& [profile, count] : of_profile)
    if (count > spec.profiles[static_cast<std::size_t>(profile)].max_instances)
      wrong(where, "too many of " + spec.profiles[static_cast<std::size_t>(profile)].name);
  for (std::size_t i = 0; i < record.holder_count; ++i) {
    const HolderRecord& h = record.holders[i];
    const InstanceRecord* instance = record.instance(h.gpu_instance);
    if (instance == nullptr || compute_of(*instance, h.compute_instance) == nullptr)
      wrong(where, "pid " + std::to_string(h.pid) + " holds an instance that is gone");
  }
}

void Checker::check_instance(int gpu, const InstanceRecord& instance) {
  const GpuSpec& spec = engine_.spec().gpus[static_cast<std::size_t>(gpu)];
  const std::string where = "GPU " + std::to_string(gpu) + " GI " + std::to_string(instance.id);
  if (instance.profile >= spec.profiles.size()) return wrong(where, "no such profile");
  const ProfileSpec& profile = spec.profiles[instance.profile];
  if (instance.size != profile.size) wrong(where, "is not as large as its profile");
  if (std::ranges::find(profile.starts, instance.start) == profile.starts.end()) wrong(where, "is at no legal place");
  if (instance.id != id_of_place(spec, instance.start, instance.size)) wrong(where, "its id is not its place's");
  check_serial(where, instance.serial, where + ' ' + profile.name + '@' + std::to_string(instance.start));
  check_compute(where, spec, instance);
}

void Checker::check_compute(const std::string& gi, const GpuSpec& spec, const InstanceRecord& instance) {
  std::map<int, int> of_profile;
  for (std::size_t i = 0; i < instance.compute_count; ++i) {
    const ComputeRecord& compute = instance.compute[i];
    const std::string where = gi + " CI " + std::to_string(compute.id);
    for (std::size_t j = 0; j < i; ++j) {
      if (instance.compute[j].id == compute.id) wrong(where, "its id is taken twice");
      if (overlap(compute.start, compute.size, instance.compute[j].start, instance.compute[j].size))
        wrong(where, "overlaps another one");
    }
    const auto& kinds = spec.profiles[instance.profile].compute;
    const auto kind = std::ranges::find(kinds, compute.profile, &ComputeProfileSpec::nvml_profile);
    if (kind == kinds.end()) return wrong(where, "no such profile in its GPU instance");
    if (++of_profile[compute.profile] > kind->max_instances) wrong(where, "too many of " + kind->name);
    if (std::ranges::find(kind->starts, compute.start) == kind->starts.end()) wrong(where, "is at no legal place");
    if (compute.uuid != mig_uuid(spec.chip_id, spec.pdi, instance.id, compute.syspipe))
      wrong(where, "has another UUID");
    check_serial(where, compute.serial, where + " in " + std::to_string(instance.serial));
  }
}

void Checker::check_serial(const std::string& where, std::uint32_t serial, const std::string& what) {
  const auto [known, fresh] = serials_.emplace(serial, what);
  if (!fresh && known->second != what) wrong(where, "has the serial of " + known->second);
}

std::vector<std::string> Checker::look_at_files() const {
  std::vector<std::string> out;
  std::set<std::string> nodes{"nvidia-cap1", "nvidia-cap2", "nvidia-cap4323"};
  for (int gpu = 0; gpu < static_cast<int>(engine_.spec().gpus.size()); ++gpu) {
    GpuRecord record;
    engine_.snapshot(gpu, record);
    const auto mig = node_ / "root/proc/driver/nvidia/capabilities" / ("gpu" + std::to_string(gpu)) / "mig";
    std::set<std::string> folders;
    for (std::size_t i = 0; i < record.instance_count; ++i) {
      const InstanceRecord& instance = record.instances[i];
      folders.insert("gi" + std::to_string(instance.id));
      nodes.insert("nvidia-cap" + std::to_string(capability_minor(gpu, instance.id)));
      std::set<std::string> inside{"access"};
      for (std::size_t c = 0; c < instance.compute_count; ++c) {
        inside.insert("ci" + std::to_string(instance.compute[c].id));
        nodes.insert("nvidia-cap" + std::to_string(capability_minor(gpu, instance.id, instance.compute[c].id)));
      }
      const auto folder = mig / ("gi" + std::to_string(instance.id));
      if (!std::filesystem::exists(folder) || entries(folder) != inside) out.push_back(folder.string() + " differs");
    }
    if (entries(mig) != folders) out.push_back(mig.string() + " differs");
  }
  if (entries(node_ / "root/dev/nvidia-caps") != nodes) out.push_back("the capability nodes differ");
  return out;
}

}  // namespace partita::torture
