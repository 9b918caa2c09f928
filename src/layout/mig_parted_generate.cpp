// The labels that a node's boards allow: all-disabled, all-enabled, all-<profile>, all-balanced.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "layout/mig_parted_file.h"

namespace partita::layout {

namespace {

using Counts = std::vector<std::pair<std::string, int>>;
// What each kind of GPU on the node (by device and vendor id) shall hold; kinds that are left out have no entry.
using Wanted = std::map<std::uint32_t, Counts>;

// The kinds with MIG, and whether they are all GPUs of the node: then no filter is needed.
struct Kinds {
  std::map<std::uint32_t, const catalog::Board*> boards;
  bool all_gpus = true;
};

Kinds kinds_of(const NodeState& node) {
  Kinds out;
  for (const Gpu& gpu : node.gpus) {
    if (gpu.board && gpu.board->has_mig() && gpu.mode)
      out.boards.emplace(gpu.pci_device_id, gpu.board.get());
    else
      out.all_gpus = false;
  }
  return out;
}

// One entry for kinds of equal content; without a filter where one content is for all GPUs of the node.
std::vector<MigPartedEntry> entries_of(const Wanted& wanted, const Kinds& kinds) {
  std::vector<MigPartedEntry> entries;
  for (const auto& [device, counts] : wanted) {
    auto entry = std::ranges::find_if(entries, [&](const MigPartedEntry& e) { return e.mig_devices == counts; });
    if (entry == entries.end()) {
      entry = entries.emplace(entries.end());
      entry->mig_enabled = true;
      entry->mig_devices = counts;
    }
    entry->filters.push_back({device, std::nullopt, fmt::format("0x{:08X}", device)});
  }
  if (entries.size() == 1 && kinds.all_gpus && wanted.size() == kinds.boards.size()) entries[0].filters.clear();
  return entries;
}

// The smallest profile of `slices` compute slices without attributes.
const catalog::Profile* plain(const catalog::Board& board, int slices) {
  const catalog::Profile* best = nullptr;
  for (const auto& profile : board.profiles) {
    if (profile.compute_slices != slices || profile.attributes != catalog::Attributes{}) continue;
    if (!best || profile.memory_slices < best->memory_slices) best = &profile;
  }
  return best;
}

// Slices and count: two 1g, one 2g and, on boards of seven slices, one 3g.
Counts balanced(const catalog::Board& board) {
  std::vector<std::pair<int, int>> parts;
  if (board.compute_slices == 7) parts = {{1, 2}, {2, 1}, {3, 1}};
  if (board.compute_slices == 4) parts = {{1, 2}, {2, 1}};
  Counts out;
  for (const auto& [slices, count] : parts) {
    const auto* profile = plain(board, slices);
    if (!profile) return {};
    out.emplace_back(profile->name, count);
  }
  return out;
}

// "+" is no character of a Kubernetes label: "1g.5gb+me" is written all-1g.5gb.me.
std::string label_of(const std::string& profile) {
  std::string out = "all-" + profile;
  std::ranges::replace(out, '+', '.');
  std::ranges::replace(out, ',', '.');
  return out;
}

std::map<std::string, Wanted> by_profile(const Kinds& kinds, std::vector<std::string>& order) {
  std::map<std::string, Wanted> out;
  for (const auto& [device, board] : kinds.boards)
    for (const auto& profile : board->profiles) {
      if (!out.contains(profile.name)) order.push_back(profile.name);
      out[profile.name][device] = {{profile.name, profile.max_instances}};
    }
  return out;
}

}  // namespace

MigPartedFile generate(const NodeState& node) {
  const Kinds kinds = kinds_of(node);
  MigPartedFile file;
  file.labels.push_back({"all-disabled", {MigPartedEntry{}}, 0});
  if (kinds.boards.empty()) return file;

  Wanted enabled, even;
  for (const auto& [device, board] : kinds.boards) {
    enabled[device] = {};
    if (Counts counts = balanced(*board); !counts.empty()) even[device] = std::move(counts);
  }
  file.labels.push_back({"all-enabled", entries_of(enabled, kinds), 0});
  std::vector<std::string> order;
  const auto profiles = by_profile(kinds, order);
  for (const std::string& name : order)
    file.labels.push_back({label_of(name), entries_of(profiles.at(name), kinds), 0});
  if (!even.empty()) file.labels.push_back({"all-balanced", entries_of(even, kinds), 0});
  return file;
}

}  // namespace partita::layout
