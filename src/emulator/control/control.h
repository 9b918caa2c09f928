// Emulated nodes: start, stop, list, reboot, reset, hold, fault. A node is a folder with `state` (mapped by the
// library) and `root/{dev,proc,sys}`. Compiles a node file (data/nodes/*.yaml or the user's own) with the catalog.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "catalog/catalog.h"
#include "emulator/control/nvml_return.h"

namespace partita::emulator {

struct EmulatedNode {
  std::string name;              // "dgx-a100", "lab"
  std::string type;              // node file it was made from
  std::filesystem::path folder;  // holds state and root/
  int gpus = 0;
};

// /var/lib/partita/emulated for root, $XDG_STATE_HOME/partita/emulated otherwise; PARTITA_EMULATED_ROOT overrides.
std::filesystem::path nodes_folder();

// NODE as given on the command line: a name ("dgx-a100"), NAME=TYPE ("lab=dgx-a100"), or a path of a node file.
struct NodeName {
  std::string name;
  std::string type;
};
Result<NodeName> parse_node_name(std::string_view text);

// Makes the node unless it exists (then: returns it as it is). Two starts at once make one node. `not_found` names the
// known types; `invalid` when the name belongs to a node of another type, or its node file has changed since.
Result<EmulatedNode> start(catalog::Catalog& catalog, std::string_view node_argument);
Result<EmulatedNode> find(std::string_view name);
// By name. A node whose state cannot be read is listed with 0 GPUs; find() says why, stop() removes it.
std::vector<EmulatedNode> list();
// Removes the folder. `busy` names holders that still run.
Result<void> stop(std::string_view name);
// Instances gone, holds gone, boot id new; MIG mode by the boards' generation.
Result<void> reboot(std::string_view name);
// One GPU (PCI bus id, index or UUID; empty: all): pending mode becomes current, instances gone. `busy` when
// something runs on it. GPUs that the driver demands together must be named together: `invalid` names them.
Result<void> reset(std::string_view name, const std::vector<std::string>& gpus);

// The GPU falls off the bus (every call answers GPU_IS_LOST) or comes back.
Result<void> lose(std::string_view name, std::string_view gpu, bool lost);

// Registers a process as user of a MIG device or a whole GPU until it ends. `device`: MIG UUID in both forms, GPU
// UUID, bus id or index, or "0:1" (GPU index : MIG index). `no_space` when the device has less memory free.
Result<void> hold(std::string_view name, std::string_view device, pid_t pid, Bytes memory);

struct Fault {
  std::string function;  // "nvmlDeviceCreateGpuInstanceWithPlacement" or "*"
  int nvml_return = 0;
  int calls = 1;           // the next N calls
  std::optional<int> gpu;  // only on this GPU index
};
Result<void> add_fault(std::string_view name, const Fault& fault);
Result<void> clear_faults(std::string_view name);

// The library's path, found beside the running program (../lib/partita/emulator/libnvidia-ml.so.1);
// PARTITA_EMULATOR_LIBRARY overrides.
Result<std::filesystem::path> library_path();

}  // namespace partita::emulator
