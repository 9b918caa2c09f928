#include "node/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "node/pins.h"

namespace partita::node {
namespace {

InstanceRecord record_of(const catalog::Board& board, const layout::GpuInstance& instance) {
  const catalog::Profile& profile = board.profiles[static_cast<std::size_t>(instance.profile)];
  InstanceRecord record{profile.nvml_profile, instance.placement.start, is_foreign(instance), {}};
  for (const layout::ComputeInstance& compute : instance.compute)
    record.compute.push_back(
        {profile.compute[static_cast<std::size_t>(compute.profile)].nvml_profile, compute.placement.start});
  std::ranges::sort(record.compute);
  return record;
}

Error not_offered(const catalog::Board& board, std::string_view kind, int nvml_profile) {
  return Error{ErrorCode::driver,
               fmt::format("the driver offers no {} profile {} on this {}", kind, nvml_profile, board.product),
               {}};
}

Result<layout::WantedInstance> wanted_of(const InstanceRecord& record, const catalog::Board& board) {
  const auto index = profile_index(board, record.profile);
  if (!index) return std::unexpected(not_offered(board, "GPU instance", record.profile));
  layout::WantedInstance wanted{*index, record.start, {}, std::vector<int>{}};
  std::vector<std::pair<int, int>> compute;
  for (const ComputeRecord& c : record.compute) {
    const auto found = compute_index(board.profiles[static_cast<std::size_t>(*index)], c.profile);
    if (!found) return std::unexpected(not_offered(board, "compute instance", c.profile));
    compute.emplace_back(*found, c.start);
  }
  std::ranges::sort(compute);
  for (const auto& [profile, start] : compute) {
    wanted.compute.push_back(profile);
    wanted.compute_starts->push_back(start);
  }
  return wanted;
}

bool overlap(const catalog::Board& board, const InstanceRecord& record, const layout::GpuInstance& instance) {
  const auto index = profile_index(board, record.profile);
  if (!index) return false;
  const int size = board.profiles[static_cast<std::size_t>(*index)].placement_size;
  return record.start < instance.placement.start + instance.placement.size &&
         instance.placement.start < record.start + size;
}

std::vector<InstanceRecord> own_instances(const std::vector<InstanceRecord>& all) {
  std::vector<InstanceRecord> own;
  std::ranges::copy_if(all, std::back_inserter(own), [](const InstanceRecord& i) { return !i.foreign; });
  std::ranges::sort(own, {}, [](const InstanceRecord& i) { return std::tie(i.start, i.profile); });
  return own;
}

}  // namespace

InstanceRecord instance_record(const catalog::Board& board, const layout::GpuInstance& instance) {
  return record_of(board, instance);
}

std::optional<int> profile_index(const catalog::Board& board, int nvml_profile) {
  const auto found = std::ranges::find(board.profiles, nvml_profile, &catalog::Profile::nvml_profile);
  if (found == board.profiles.end()) return std::nullopt;
  return static_cast<int>(found - board.profiles.begin());
}

std::optional<int> compute_index(const catalog::Profile& profile, int nvml_profile) {
  const auto found = std::ranges::find(profile.compute, nvml_profile, &catalog::ComputeProfile::nvml_profile);
  if (found == profile.compute.end()) return std::nullopt;
  return static_cast<int>(found - profile.compute.begin());
}

LayoutRecord record_of(const catalog::Board& board, bool mig_enabled, const std::vector<layout::GpuInstance>& made) {
  LayoutRecord record{mig_enabled, std::vector<InstanceRecord>{}};
  for (const layout::GpuInstance& instance : made) record.instances->push_back(record_of(board, instance));
  return record;
}

LayoutRecord record_of(const layout::Gpu& gpu) {
  const bool enabled = gpu.mode && gpu.mode->current;
  if (!gpu.board) return LayoutRecord{enabled, std::vector<InstanceRecord>{}};
  return record_of(*gpu.board, enabled, gpu.instances);
}

Result<layout::GpuTarget> target_of(const LayoutRecord& record, const layout::Gpu& live, bool over_foreign) {
  layout::GpuTarget target{live.uuid, record.mig_enabled, std::nullopt};
  if (!record.instances || !live.board) return target;
  std::vector<InstanceRecord> wanted = own_instances(*record.instances);
  const std::vector<InstanceRecord> own = wanted;
  for (const layout::GpuInstance& instance : live.instances) {
    if (!is_foreign(instance)) continue;
    const auto in_place =
        std::ranges::find_if(own, [&](const InstanceRecord& i) { return overlap(*live.board, i, instance); });
    if (in_place == own.end())
      wanted.push_back(record_of(*live.board, instance));
    else if (!over_foreign)
      return fail(ErrorCode::busy,
                  fmt::format("GPU {}: {}, not made by partita, is in the way", live.index,
                              layout::name_at(*live.board, instance.profile, instance.placement.start)));
  }
  target.instances.emplace();
  for (const InstanceRecord& instance : wanted) target.instances->push_back(TRY(wanted_of(instance, *live.board)));
  return target;
}

bool is_as(const layout::Gpu& live, const LayoutRecord& record, bool pending_counts) {
  if (!live.mode || live.fault) return false;
  if (live.mode->pending != record.mig_enabled) return false;
  if (live.mode->current != record.mig_enabled) return pending_counts;
  if (!record.instances) return true;
  auto all = record_of(live).instances.value_or(std::vector<InstanceRecord>{});
  for (InstanceRecord& instance : all)  // whoever read the GPU may not have asked whose they are
    instance.foreign |= std::ranges::any_of(*record.instances, [&](const InstanceRecord& known) {
      return known.foreign && known.profile == instance.profile && known.start == instance.start;
    });
  const auto now = own_instances(all);
  const auto then = own_instances(*record.instances);
  return std::ranges::equal(now, then, [](const InstanceRecord& a, const InstanceRecord& b) {
    return a.profile == b.profile && a.start == b.start && std::ranges::is_permutation(a.compute, b.compute);
  });
}

Result<layout::GpuTarget> retarget(const layout::GpuTarget& target, const catalog::Board& from,
                                   const catalog::Board& to) {
  layout::GpuTarget result = target;
  if (!result.instances) return result;
  for (layout::WantedInstance& wanted : *result.instances) {
    const catalog::Profile& profile = from.profiles[static_cast<std::size_t>(wanted.profile)];
    const auto index = profile_index(to, profile.nvml_profile);
    if (!index)
      return fail(ErrorCode::driver, fmt::format("the driver does not offer {} on this {}", profile.name, to.product));
    wanted.profile = *index;
    for (int& compute : wanted.compute) {
      const auto& asked = profile.compute[static_cast<std::size_t>(compute)];
      const auto found = compute_index(to.profiles[static_cast<std::size_t>(*index)], asked.nvml_profile);
      if (!found)
        return fail(ErrorCode::driver, fmt::format("the driver does not offer {} on this {}", asked.name, to.product));
      compute = *found;
    }
  }
  return result;
}

}  // namespace partita::node
