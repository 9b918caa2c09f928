// Emulated nodes: start, stop, list, reboot, reset, hold, fault. A node is a folder with `state` (mapped by the
// library) and `root/{dev,proc,sys}`. Compiles a node file (data/nodes/*.yaml or the user's own) with the catalog.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "catalog/catalog.h"
#include "emulator/control/nvml_return.h"
#include "emulator/engine/fault.h"

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
// As a reboot, but the machine runs on and its boot id stays. `busy` names the processes that hold a GPU.
Result<void> reload_driver(std::string_view name);
// The node's clock goes on at once: readings, times of events and what lingers are as of then.
Result<void> advance_clock(std::string_view name, std::chrono::milliseconds by);
// One GPU (PCI bus id, index or UUID; empty: all): pending mode becomes current, instances gone. `busy` when
// something runs on it. GPUs that the driver demands together must be named together: `invalid` names them.
Result<void> reset(std::string_view name, const std::vector<std::string>& gpus);

// What is wrong with the GPU from now on; Condition::good: nothing more.
Result<void> set_condition(std::string_view name, std::string_view gpu, Condition condition);

// An Xid event, as if the kernel had reported it. `device`: a GPU or a MIG device.
Result<void> raise_xid(std::string_view name, std::string_view device, unsigned xid);

// Registers a process as user of a MIG device or a whole GPU until it ends. `device`: MIG UUID in both forms, GPU
// UUID, bus id or index, or "0:1" (GPU index : MIG index). `no_space` when the device has less memory free.
// `load`: of the device's SMs, 0 to 1.
Result<void> hold(std::string_view name, std::string_view device, pid_t pid, Bytes memory, double load = 1);

Result<void> add_fault(std::string_view name, const Fault& fault);
Result<std::vector<Fault>> faults(std::string_view name);
Result<void> clear_faults(std::string_view name);

// The library's path, found beside the running program (../lib/partita/emulator/libnvidia-ml.so.1);
// PARTITA_EMULATOR_LIBRARY overrides.
Result<std::filesystem::path> library_path();

}  // namespace partita::emulator
