// What can be seen without asking the node: the emulated driver's state, its files, the ledger's tables. None of the
// node's code reads them here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "emulator/engine/engine.h"

namespace partita::chaos {

// A GPU instance of the emulated driver. The serial tells this life of it from all others.
struct Seen {
  int gpu = 0, id = 0, start = 0, profile = 0;  // NVML's profile
  std::uint32_t serial = 0;
  std::vector<int> compute;        // ids
  std::vector<std::string> uuids;  // of its MIG devices
  int compute_slices = 0;
  std::uint64_t memory_mib = 0;
  std::string profile_name;

  // "3g.20gb", and "1c.3g.20gb" for a part of it.
  bool is_called(const std::string& name) const { return name == profile_name || name.ends_with("c." + profile_name); }
};

struct Marked {  // the ledger's mark of an instance that is the node's own
  std::string gpu;
  int id = 0, profile = 0, start = 0;
  auto operator<=>(const Marked&) const = default;
};

struct LedgerSeen {
  std::vector<Marked> marks;
  std::vector<std::string> open_operations;  // one line each
  std::set<std::int64_t> live;               // ids of leases
};

class Evidence {
 public:
  explicit Evidence(const std::filesystem::path& node_folder);

  emulator::Engine& engine() { return engine_; }
  int gpus() const { return static_cast<int>(engine_.spec().gpus.size()); }
  const std::string& uuid(int gpu) const { return engine_.spec().gpus[static_cast<std::size_t>(gpu)].uuid; }
  // By its name or that of a part of it; nullptr: the GPU has none of that name.
  const emulator::ProfileSpec* profile(int gpu, const std::string& name) const;
  const emulator::GpuSpec& spec(int gpu) const { return engine_.spec().gpus[static_cast<std::size_t>(gpu)]; }
  bool mig_enabled(int gpu) const { return engine_.gpu(gpu).mig_current; }
  bool lost(int gpu) const {
    const emulator::Condition condition = engine_.gpu(gpu).condition;
    return condition == emulator::Condition::lost || condition == emulator::Condition::off_bus;
  }
  std::vector<Seen> instances() const;
  std::optional<Seen> at(const std::string& gpu_uuid, int start) const;
  // Is there a live process on the instance?
  bool busy(const Seen& instance) const;
  // Owner and mode of the capability nodes of an instance, GPU instance first; -1: there is none.
  struct Access {
    std::string node;
    long uid = -1;
    unsigned mode = 0;
  };
  std::vector<Access> access(const Seen& instance) const;
  // Capability nodes of instances: how many there are.
  int capability_nodes() const;
  // Control groups of leases, with the users of the processes in them.
  struct Group {
    std::string lease;
    std::set<uid_t> users;
  };
  static std::vector<Group> groups(const std::string& parent);
  LedgerSeen ledger(const std::filesystem::path& file) const;
  // What the ledger tells of the latest past, one line each.
  std::vector<std::string> last_events(const std::filesystem::path& file, int most) const;

 private:
  std::filesystem::path root_;
  emulator::Engine engine_;
};

}  // namespace partita::chaos
