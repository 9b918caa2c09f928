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

// Makes the node unless it exists (then: returns it as it is). `not_found` names the known types.
Result<EmulatedNode> start(catalog::Catalog& catalog, std::string_view node_argument);
Result<EmulatedNode> find(std::string_view name);
std::vector<EmulatedNode> list();
// Removes the folder. `busy` names holders that still run.
Result<void> stop(std::string_view name);
// Instances gone, holds gone, boot id new; MIG mode by the boards' generation.
Result<void> reboot(std::string_view name);
// One GPU (PCI bus id, index or UUID; empty: all): pending mode becomes current, instances gone. `busy` when
// something runs on it. GPUs that the driver demands together must be named together: `invalid` names them.
Result<void> reset(std::string_view name, const std::vector<std::string>& gpus);

// Registers a process as user of a MIG device or a whole GPU until it ends.
Result<void> hold(std::string_view name, std::string_view device, pid_t pid, Bytes memory);

struct Fault {
  std::string function;  // "nvmlDeviceCreateGpuInstanceWithPlacement" or "*"
  int nvml_return = 0;
  int calls = 1;           // the next N calls
  std::optional<int> gpu;  // only on this GPU index
};
// NVML return by name ("IN_USE", "NVML_ERROR_IN_USE") or number.
Result<int> parse_nvml_return(std::string_view text);
Result<void> add_fault(std::string_view name, const Fault& fault);
Result<void> clear_faults(std::string_view name);

// The library's path, found beside the running program (../lib/partita/emulator/libnvidia-ml.so.1).
Result<std::filesystem::path> library_path();

}  // namespace partita::emulator
