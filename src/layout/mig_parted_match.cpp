// Which GPU gets what: entries of a label against the GPUs of a node.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "layout/compute_fill.h"
#include "layout/mig_parted_file.h"
#include "layout/profile_name.h"

namespace partita::layout {

namespace {

constexpr int kMostGpuInstances = 8;  // the driver's limit per GPU

std::string shown(const Gpu& gpu) {
  if (gpu.fault) return fmt::format("GPU {}: {}", gpu.index, *gpu.fault);
  std::string out = fmt::format("GPU {}: {} 0x{:08X}", gpu.index, gpu.product, gpu.pci_device_id);
  if (gpu.pci_subsystem_id != 0) out += fmt::format(":0x{:08X}", gpu.pci_subsystem_id);
  return gpu.mode ? out : out + " (no MIG)";
}

std::vector<std::string> gpu_lines(const NodeState& node) {
  std::vector<std::string> lines;
  for (const Gpu& gpu : node.gpus) lines.push_back(shown(gpu));
  return lines;
}

bool filter_matches(const MigPartedEntry& entry, const Gpu& gpu) {
  if (entry.filters.empty()) return true;
  return std::ranges::any_of(entry.filters, [&](const DeviceFilter& filter) {
    return filter.device == gpu.pci_device_id && (!filter.subsystem || *filter.subsystem == gpu.pci_subsystem_id);
  });
}

std::string filters_text(const MigPartedEntry& entry) {
  std::vector<std::string> texts;
  for (const DeviceFilter& filter : entry.filters) texts.push_back(filter.text);
  return texts.empty() ? "" : " with device-filter " + join(texts, ", ");
}

// One label being resolved.
class Resolver {
 public:
  Resolver(const MigPartedLabel& label, const NodeState& node, const std::string& file)
      : label_(label), node_(node), file_(file) {}

  Result<NodeTarget> run() {
    for (const MigPartedEntry& entry : label_.entries) TRY_VOID(take(entry));
    if (target_.gpus.empty())
      return fail(ErrorCode::not_found,
                  fmt::format("{}: label {}: {}", file_, quote(label_.name),
                              without_mig_ ? "matches only GPUs on which MIG cannot be enabled"
                                           : "matches no GPU of this node"),
                  gpu_lines(node_));
    warn_of_unmatched();
    return std::move(target_);
  }

 private:
  // Files for many boards have an entry for each: more than one that is not for this node makes one line.
  void warn_of_unmatched() {
    if (unmatched_.empty()) return;
    const MigPartedEntry& first = *unmatched_.front();
    if (unmatched_.size() == 1)
      return warn(fmt::format("{}: this entry{} matches no GPU of this node", at(first), filters_text(first)));
    std::vector<std::string> lines;
    for (const MigPartedEntry* entry : unmatched_) lines.push_back(std::to_string(entry->line));
    warn(fmt::format("{}: label {}: the entries on lines {} match no GPU of this node", file_, quote(label_.name),
                     join(lines, ", ")));
  }

  Result<void> take(const MigPartedEntry& entry) {
    TRY_VOID(check_indices(entry));
    bool matched = false;
    for (const Gpu& gpu : node_.gpus) {
      if (entry.devices && std::ranges::find(*entry.devices, gpu.index) == entry.devices->end()) continue;
      if (!filter_matches(entry, gpu)) continue;
      matched = true;
      TRY_VOID(take(entry, gpu));
    }
    if (!matched) unmatched_.push_back(&entry);
    return {};
  }

  Result<void> check_indices(const MigPartedEntry& entry) const {
    if (!entry.devices) return {};
    for (const int index : *entry.devices)
      if (std::ranges::find(node_.gpus, index, &Gpu::index) == node_.gpus.end())
        return fail(ErrorCode::not_found, fmt::format("{}: devices: no GPU {} on this node", at(entry), index),
                    gpu_lines(node_));
    return {};
  }

  Result<void> take(const MigPartedEntry& entry, const Gpu& gpu) {
    if (gpu.fault) {
      const std::string message = fmt::format("{}: GPU {}: {}", at(entry), gpu.index, *gpu.fault);
      if (entry.devices)
        return fail(ErrorCode::driver, message + "; nothing can be changed on it, but the entry names it",
                    gpu_lines(node_));
      warn(message + ": left alone");
      return {};
    }
    const bool can = gpu.mode && gpu.board && gpu.board->has_mig();
    if (entry.mig_enabled && !can) {
      const std::string why = gpu.mode ? "is not in the catalog of boards" : "has no MIG";
      const std::string message = fmt::format("{}: GPU {} ({}) {}", at(entry), gpu.index, gpu.product, why);
      if (entry.devices)
        return fail(ErrorCode::not_found, message + ", but the entry names it with mig-enabled: true",
                    gpu_lines(node_));
      without_mig_ = true;
      warn(message + ": left alone");
      return {};
    }
    GpuTarget wanted{gpu.uuid, entry.mig_enabled, std::nullopt};
    if (entry.mig_enabled) wanted.instances = TRY(instances(entry, gpu));
    return put(entry, gpu, std::move(wanted));
  }

  // A GPU's first entry counts; a later one may only say the same again.
  Result<void> put(const MigPartedEntry& entry, const Gpu& gpu, GpuTarget wanted) {
    const auto [first, fresh] = taken_by_.emplace(gpu.uuid, &entry);
    if (fresh) {
      target_.gpus.push_back(std::move(wanted));
      return {};
    }
    const auto known = std::ranges::find(target_.gpus, gpu.uuid, &GpuTarget::gpu);
    if (known->mig_enabled == wanted.mig_enabled && content(*known) == content(wanted)) return {};
    return fail(ErrorCode::invalid, fmt::format("{}: GPU {} is asked to be something else by the entry on line {}",
                                                at(entry), gpu.index, first->second->line));
  }

  static std::vector<std::pair<int, std::vector<int>>> content(const GpuTarget& target) {
    std::vector<std::pair<int, std::vector<int>>> out;
    if (target.instances)
      for (const WantedInstance& wanted : *target.instances) out.emplace_back(wanted.profile, wanted.compute);
    std::ranges::sort(out);
    return out;
  }

  Result<std::vector<WantedInstance>> instances(const MigPartedEntry& entry, const Gpu& gpu) {
    const catalog::Board& board = *gpu.board;
    std::map<int, std::vector<int>> compute;  // per GPU instance profile, the compute instances asked
    std::vector<int> order;
    for (const auto& [name, count] : entry.mig_devices.value_or(std::vector<std::pair<std::string, int>>{})) {
      auto match = find_profile(board, name);
      if (!match) {
        match.error().details = gpu_lines(node_);
        return std::unexpected(in_context(at(entry), std::move(match).error()));
      }
      if (const auto& here = match->spelled_here)
        warn(fmt::format("{}: {} is {} on {}", at(entry), name, *here, board.product));
      if (!compute.contains(match->profile)) order.push_back(match->profile);
      auto& list = compute[match->profile];
      list.insert(list.end(), static_cast<std::size_t>(count), match->compute);
    }
    std::vector<WantedInstance> out;
    for (const int profile : order)
      for (auto& inside : fill(board.profiles[static_cast<std::size_t>(profile)], compute[profile]))
        out.push_back({profile, std::nullopt, std::move(inside), std::nullopt});
    TRY_VOID(check_limits(entry, gpu, out));
    return out;
  }

  Result<void> check_limits(const MigPartedEntry& entry, const Gpu& gpu,
                            const std::vector<WantedInstance>& wanted) const {
    const catalog::Board& board = *gpu.board;
    int compute = 0, units = 0;
    std::map<int, int> count;
    for (const WantedInstance& instance : wanted) {
      const auto& profile = board.profiles[static_cast<std::size_t>(instance.profile)];
      compute += profile.compute_slices;
      units += profile.placement_size;
      if (++count[instance.profile] > profile.max_instances)
        return too_many(entry, gpu,
                        fmt::format("holds at most {} GPU instance{} {}", profile.max_instances,
                                    profile.max_instances == 1 ? "" : "s", profile.name));
    }
    if (compute > board.compute_slices)
      return too_many(entry, gpu, fmt::format("has {} compute slices, {} are asked", board.compute_slices, compute));
    if (units > board.placement_units)
      return too_many(entry, gpu,
                      fmt::format("has {} memory slices, {:.4g} are asked", board.memory_slices,
                                  static_cast<double>(units) * board.memory_slices / board.placement_units));
    if (wanted.size() > kMostGpuInstances)
      return too_many(entry, gpu,
                      fmt::format("holds at most {} GPU instances, {} are asked", kMostGpuInstances, wanted.size()));
    return {};
  }

  std::unexpected<Error> too_many(const MigPartedEntry& entry, const Gpu& gpu, std::string_view what) const {
    return fail(ErrorCode::impossible, fmt::format("{}: GPU {}: {} {}", at(entry), gpu.index, gpu.product, what));
  }

  std::string at(const MigPartedEntry& entry) const {
    return fmt::format("{}:{}: label {}", file_, entry.line, quote(label_.name));
  }

  void warn(std::string text) {
    if (std::ranges::find(target_.warnings, text) == target_.warnings.end())
      target_.warnings.push_back(std::move(text));
  }

  const MigPartedLabel& label_;
  const NodeState& node_;
  const std::string& file_;
  NodeTarget target_;
  std::map<std::string, const MigPartedEntry*> taken_by_;  // by GPU UUID
  std::vector<const MigPartedEntry*> unmatched_;
  bool without_mig_ = false;
};

}  // namespace

Result<NodeTarget> resolve(const MigPartedLabel& label, const NodeState& node, const std::string& file) {
  return Resolver(label, node, file).run();
}

}  // namespace partita::layout
