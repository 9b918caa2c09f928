// Nodes made by hand, for this folder's tests.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "layout/layout.h"

namespace partita::layout::test {

inline std::shared_ptr<const catalog::Board> board(std::string_view id) {
  auto catalog = catalog::Catalog::open();
  return catalog.value().board(id).value();
}

inline int profile(const catalog::Board& board, std::string_view name) {
  const auto found = std::ranges::find(board.profiles, name, &catalog::Profile::name);
  return static_cast<int>(found - board.profiles.begin());
}

inline Gpu gpu(int index, std::string_view board_id, bool enabled = false) {
  Gpu out;
  out.index = index;
  out.uuid = fmt::format("GPU-{}", index);
  out.board = board(board_id);
  out.product = out.board->product;
  out.pci_device_id = std::uint32_t{out.board->pci_devices[0]} << 16 | 0x10DE;
  out.pci_subsystem_id = 0x134F10DE;
  if (out.board->has_mig()) out.mode = MigMode{enabled, enabled};
  return out;
}

// Adds a GPU instance with its default compute instance, or with the named ones.
inline void add(Gpu& gpu, std::string_view name, int start, const std::vector<std::string>& compute = {""}) {
  GpuInstance instance;
  instance.profile = profile(*gpu.board, name);
  const auto& p = gpu.board->profiles[static_cast<std::size_t>(instance.profile)];
  instance.placement = {start, p.placement_size};
  int at = 0;
  for (const auto& wanted : compute) {
    const auto row = std::ranges::find_if(
        p.compute, [&](const auto& c) { return wanted.empty() ? c.is_default : c.name == wanted; });
    instance.compute.push_back({static_cast<int>(instance.compute.size()),
                                static_cast<int>(row - p.compute.begin()),
                                {at, row->placement_size},
                                "",
                                std::nullopt});
    at += row->placement_size;
  }
  gpu.instances.push_back(instance);
}

inline NodeState node(const std::vector<std::string>& boards, bool enabled = false) {
  NodeState out;
  for (const auto& id : boards) out.gpus.push_back(gpu(static_cast<int>(out.gpus.size()), id, enabled));
  return out;
}

}  // namespace partita::layout::test
