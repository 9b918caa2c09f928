// The emulated driver: its rules and its state, one memory-mapped file shared by all processes. Writers take a file
// lock that dies with its process; a commit writes the idle copy and flips; readers never block. Dead holders do not
// count. The capability files and device nodes under root/ follow each commit.
//
// Functions answer with NVML return numbers (NvmlReturn), as the driver would. Sources: hardware facts sections 2-4,
// 7-9.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "emulator/engine/nvml_return.h"
#include "emulator/engine/records.h"
#include "emulator/engine/spec.h"

namespace partita::emulator {

struct ComputeInstanceState {
  int id = 0, profile = 0 /* NVML compute profile */, start = 0, size = 0, slices = 0;
  std::string uuid;          // "MIG-..."
  std::uint32_t serial = 0;  // of this life: a re-created one differs
};
struct GpuInstanceState {
  int id = 0, profile = 0 /* NVML profile */, profile_id = 0, start = 0, size = 0;
  std::uint32_t serial = 0;
  std::vector<ComputeInstanceState> compute;
};
struct HolderState {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot, /proc/PID/stat field 22
  std::uint64_t memory_bytes = 0;
  int gpu_instance = -1, compute_instance = -1;  // -1: the whole GPU
};
struct GpuState {
  bool mig_current = false, mig_pending = false;
  bool lost = false;
  std::vector<GpuInstanceState> instances;
  std::vector<HolderState> holders;  // live ones only
};

class Engine {
 public:
  // Makes folder/state and folder/root. `invalid` when the spec breaks a bound or the folder holds a node already (then
  // it is left as it is). The state appears whole or not at all.
  static Result<void> create(const std::filesystem::path& folder, const NodeSpec& spec);
  // Maps folder/state. `not_found`, or `invalid` for a file that is no state, of another version, or damaged. Brings
  // the files under root/ up to date when a process was killed between its commit and them.
  static Result<Engine> open(const std::filesystem::path& folder);

  const NodeSpec& spec() const;
  std::uint64_t boot_id() const;  // changes at reboot
  GpuState gpu(int index) const;  // a consistent snapshot

  // The same as plain records, for callers that count nanoseconds: no allocation and no system call, so holders may be
  // dead. instance() is one GPU instance by id; false when there is none.
  void snapshot(int gpu, GpuRecord& record) const;
  GpuHead summary(int gpu) const;
  bool instance(int gpu, int id, InstanceRecord& found) const;
  // How often this process's readers had to start again because a writer was faster.
  std::uint64_t reader_retries() const;

  // Changing things answers kNoPermission unless the caller is root or owns the node's folder; instances may also be
  // changed by a process that may read the mig/config capability's device node. kDriverNotLoaded: the node was removed.
  // Serial 0 means whichever instance has the id now.
  NvmlReturn set_mig_mode(int gpu, bool enabled, NvmlReturn& activation);
  NvmlReturn create_gpu_instance(int gpu, int profile_id, std::optional<int> start, GpuInstanceState& made);
  NvmlReturn destroy_gpu_instance(int gpu, int id, std::uint32_t serial);
  NvmlReturn create_compute_instance(int gpu, int gi, std::uint32_t gi_serial, int profile, std::optional<int> start,
                                     ComputeInstanceState& made);
  NvmlReturn destroy_compute_instance(int gpu, int gi, std::uint32_t gi_serial, int ci, std::uint32_t ci_serial);
  // How many more of a profile could be created now (NVML's remaining capacity); 0 for a profile that is not there.
  int remaining_capacity(int gpu, int profile_id) const;
  int remaining_compute_capacity(int gpu, int gi, int profile) const;

  // Registers a process as user of a device; again: with this much memory. Ends when the process does.
  // kInvalidArgument: no such process. kNotFound: no such instance. kMemory: more than the device has left.
  NvmlReturn hold(int gpu, int gi, int ci, pid_t pid, std::uint64_t memory_bytes);

  // Faults: the next `calls` calls of `function` ("*": any) on `gpu` (-1: any) answer `answer`.
  NvmlReturn add_fault(std::string_view function, int answer, int calls, int gpu);
  NvmlReturn clear_faults();
  struct FaultRow {
    std::string function;
    int answer = 0, calls = 0, gpu = -1;
  };
  std::vector<FaultRow> faults() const;
  // Consumes one matching fault, if any; the ABI asks at the top of each function.
  std::optional<int> take_fault(std::string_view function, int gpu);

  // The pending mode becomes the current one, instances go. kInUse when something runs, kInvalidArgument when a group
  // is split, kGpuIsLost for a lost GPU: only a reboot brings it back.
  NvmlReturn reset(const std::vector<int>& gpus);
  // Instances and holders go, the boot id is new, lost GPUs are back; the MIG mode stays where the board keeps it.
  // Faults stay: they are the tester's, not the machine's.
  NvmlReturn reboot();
  NvmlReturn set_lost(int gpu, bool lost);

  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::emulator
