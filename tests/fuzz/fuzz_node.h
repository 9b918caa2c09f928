// A node for targets that resolve: two boards, one of them with live instances, and a GPU without MIG.
#pragma once

#include "catalog/catalog.h"
#include "layout/layout.h"

namespace partita::fuzz {

inline layout::NodeState make_node() {
  auto catalog = catalog::Catalog::open();
  layout::NodeState node;
  for (const auto* id : {"a100-sxm4-40gb", "rtx-pro-6000-server", "gb10"}) {
    layout::Gpu gpu;
    gpu.index = static_cast<int>(node.gpus.size());
    gpu.uuid = "GPU-" + std::to_string(gpu.index);
    gpu.board = catalog.value().board(id).value();
    gpu.product = gpu.board->product;
    gpu.pci_device_id = std::uint32_t{gpu.board->pci_devices[0]} << 16 | 0x10DE;
    if (gpu.board->has_mig()) gpu.mode = layout::MigMode{true, true};
    node.gpus.push_back(gpu);
  }
  return node;
}

}  // namespace partita::fuzz
