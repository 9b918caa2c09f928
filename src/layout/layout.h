// What is cut: the state of one GPU and of a node, as read from a driver. Plain values.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "catalog/board.h"

namespace partita::layout {

struct Placement {  // units: catalog::Board::placement_units for GPU instances, compute slices for compute instances
  int start = 0;
  int size = 0;
  auto operator<=>(const Placement&) const = default;
};

struct Process {
  pid_t pid = 0;
  std::string name;                                   // as /proc tells, "" when it cannot be read
  std::optional<Bytes> memory;                        // on the device
  std::optional<int> gpu_instance, compute_instance;  // where it runs; nullopt on a GPU without MIG
};

// Why an instance must not be touched.
struct Pin {
  enum class Reason { busy, leased, foreign };
  Reason reason = Reason::busy;
  std::string holder;  // "pid 4711 (python)", "lease alice-train", "not made by partita"
};

struct ComputeInstance {
  int id = 0;
  int profile = 0;               // index in Profile::compute
  Placement placement;           // compute slices within the GPU instance
  std::string uuid;              // "MIG-..." of the MIG device
  std::optional<int> mig_index;  // the n of "GPU:n"
};

struct GpuInstance {
  int id = 0;
  int profile = 0;  // index in Board::profiles
  Placement placement;
  std::vector<ComputeInstance> compute;
  std::vector<Pin> pins;  // filled by node/, empty from the driver
  bool pinned() const { return !pins.empty(); }
};

struct MigMode {
  bool current = false;
  bool pending = false;  // differs from current until a reset
};

struct Gpu {
  int index = 0;                       // for people; has gaps over time
  std::optional<int> minor;            // of /dev/nvidiaN and the capability files
  std::string uuid;                    // "GPU-..."
  std::string pci_bus_id;              // "00000000:07:00.0"
  std::uint32_t pci_device_id = 0;     // 0xDDDDVVVV: device << 16 | vendor
  std::uint32_t pci_subsystem_id = 0;  // 0xSSSSVVVV
  std::string product;
  Bytes total_memory;
  // The board as this driver shows it (names, memory and placements from its own tables where MIG is on). Null when
  // the catalog does not know the PCI id and MIG is off.
  std::shared_ptr<const catalog::Board> board;
  std::optional<MigMode> mode;            // nullopt: no MIG on this GPU
  std::vector<GpuInstance> instances;     // ascending by placement start
  std::vector<Process> processes;         // all, on instances or on the whole GPU
  std::vector<std::string> nvlink_peers;  // bus ids of GPUs linked directly (no switch): reset only together
  std::optional<int> utilization_percent;
  std::optional<Bytes> used_memory;
  std::optional<std::string> fault;  // "lost", "reset required": state below is not known
  std::vector<Pin> pins;             // of the whole GPU: leased with MIG mode off; filled by node/
};

struct NodeState {
  std::string driver_version;
  std::string nvml_version;
  std::vector<Gpu> gpus;
};

// "3g.20gb@4".
std::string name_at(const catalog::Board& board, int profile, int start);
// "GPU 3", "GPUs 0-3, 6"; indices ascending.
std::string gpu_names(std::span<const int> indices);

}  // namespace partita::layout
