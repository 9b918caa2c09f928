// A node file: what an emulated machine is made of. Text in, struct out. Schema: data/schemas/node.schema.json.
//
//   gpus: [{board: a100-sxm4-40gb, count: 8}]
//
// is a whole file; everything else has a default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "emulator/engine/fault.h"

namespace partita::emulator {

// A profile that this node's driver shows otherwise than the catalog.
struct ProfileOverride {
  std::string name;  // the catalog's: "1g.23gb"
  std::optional<std::string> spelling;
  std::optional<Bytes> memory;
  int line = 0;
};

// A GPU without MIG that no board describes.
struct PlainGpu {
  std::string product;           // "NVIDIA GB10"
  std::uint16_t pci_device = 0;  // 0x2E12
  int compute_capability_major = 0, compute_capability_minor = 0;
  std::string architecture;  // "ampere", "ada", "hopper", "blackwell"
  int sm = 0;                // 0: not known
};

// Equal GPUs, in index order. Either `board` or `plain` is set.
struct NodeGpus {
  int line = 0;
  std::string board;
  std::optional<PlainGpu> plain;
  int count = 1;
  std::vector<std::string> bus_ids;        // "00000000:07:00.0"; empty or one for each GPU
  std::optional<std::uint32_t> subsystem;  // 0xSSSSVVVV
  bool mig_enabled = false;                // at the first start
  bool mirrored = false;                   // the lower half's GPC is disabled: starts are turned by half the GPU
  int reset_group = 0;                     // GPUs of one group are reset together; 0: alone
  int nvlinks = 0;                         // links of each GPU: to its reset group, without one to a switch
  std::optional<Bytes> total_memory;       // as the driver reports it
  std::vector<ProfileOverride> profiles;
};

struct NodeFile {
  std::string file;  // as shown in errors
  std::optional<std::string> name;
  std::string driver;          // "580.95.05"
  std::string cuda;            // "13.0"
  bool vgpu_host = false;      // the driver for hosts of virtual machines
  std::vector<NodeGpus> gpus;  // 1 to 32 GPUs in all
  std::vector<Fault> faults;   // active from the first start
};

// Unknown keys, wrong types and values out of bounds are `invalid`, with file, line and key. Boards and profiles are
// looked up later, by compile().
Result<NodeFile> read_node_file(std::string_view text, const std::string& file);

// [a-z0-9][a-z0-9._-]{0,62}
bool is_node_name(std::string_view name);

}  // namespace partita::emulator
