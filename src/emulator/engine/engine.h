// The emulated driver: its rules and its state, one memory-mapped file shared by all processes. Writers take a file
// lock that dies with its process; a commit writes the idle copy and flips; readers never block. Dead holders do not
// count. The capability files and device nodes under root/ follow each commit.
//
// Functions answer with NVML return numbers (NvmlReturn), as the driver would. Sources: hardware facts sections 2-4,
// 7-9.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "emulator/engine/fault.h"
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
  std::optional<int> gpu_instance{}, compute_instance{};  // nullopt: the whole GPU
  Time since{};                                           // on the node's clock
  double load = 1;                                        // of its device, 0 to 1
};
struct EndedProcess {
  pid_t pid = 0;
  Time since{}, until{};  // on the node's clock
  std::uint64_t memory_bytes = 0;
  double load = 0;  // of its device, 0 to 1
};
struct GpuState {
  bool mig_current = false, mig_pending = false;
  Condition condition = Condition::good;
  std::vector<GpuInstanceState> instances;
  std::vector<HolderState> holders;  // live ones only
};

// What the instruments of a GPU or a GPU instance show (behaviour.h tells the law). Totals grow without end, so that
// whoever reads them twice has the average in between: (after - before) / (after.time - before.time).
struct InstanceReadings {
  Time time{};                // on the node's clock
  double sm = 0, memory = 0;  // 0 to 1 of its own SMs and memory bandwidth
  double sm_total_ms = 0;     // milliseconds at full load
  std::uint64_t memory_used_bytes = 0;
};
struct GpuReadings : InstanceReadings {
  double any = 0;  // part of the last second in which something ran: NVML's GPU utilisation
  double any_total_ms = 0;
  double pcie_from_host = 0, pcie_to_host = 0;  // 0 to 1 of the link's rate
  std::uint32_t power_mw = 0, power_limit_mw = 0;
  std::uint64_t energy_mj = 0;  // since the driver was loaded
  double degrees = 0, memory_degrees = 0;
  std::uint32_t sm_clock_mhz = 0, memory_clock_mhz = 0;
};

inline constexpr std::uint64_t kXidEvent = 0x8, kMigConfigEvent = 0x100;  // nvmlEventType*
struct Event {
  std::uint64_t number = 0;  // counts all events of the node
  Time time{};
  std::uint64_t type = 0;
  std::uint64_t data = 0;  // the Xid
  int gpu = 0;
  std::optional<int> gpu_instance{}, compute_instance{};
};

// Time as the engine sees it. The default is the machine's.
struct Timing {
  const Clock* clock = nullptr;
  std::function<void(std::chrono::milliseconds)> wait;
};

class Engine {
 public:
  // Makes folder/state and folder/root. `invalid` when the spec breaks a bound or the folder holds a node already (then
  // it is left as it is). The state appears whole or not at all.
  static Result<void> create(const std::filesystem::path& folder, const NodeSpec& spec);
  // Maps folder/state. `not_found`, or `invalid` for a file that is no state, of another version, or damaged. Brings
  // the files under root/ up to date when a process was killed between its commit and them.
  static Result<Engine> open(const std::filesystem::path& folder, Timing timing = {});

  const NodeSpec& spec() const;
  std::uint64_t boot_id() const;  // changes at reboot
  GpuState gpu(int index) const;  // a consistent snapshot

  // The same as plain records, for callers that count nanoseconds: no allocation and no system call, so holders may be
  // dead. instance() is one GPU instance by id; false when there is none.
  void snapshot(int gpu, GpuRecord& record) const;
  GpuHead summary(int gpu) const;
  bool instance(int gpu, int id, InstanceRecord& found) const;
  // The clock's time and what the node was advanced by. Every time that the node tells is on this clock.
  Time now() const;
  NvmlReturn advance(std::chrono::milliseconds by);

  // Removes dead holders first, if their process may write: their load ends when someone first looks. One that was seen
  // alive up to kSeenAlive (processes.h) ago may still count.
  GpuReadings readings(int gpu);
  std::optional<InstanceReadings> readings(int gpu, int gpu_instance);

  // What they showed at each whole multiple of `period` later than `after`: the last `most` of them, oldest first, back
  // to and with the last change of a load or of a setting (what was before is not kept). Memory in use is today's.
  std::vector<GpuReadings> history(int gpu, Time after, std::chrono::milliseconds period, std::size_t most);

  // Processes that have ended while the GPU's accounting was on, since it was cleared or the driver was loaded: the
  // node's last 4000, oldest first. They end when someone first looks.
  std::vector<EndedProcess> ended_processes(int gpu);
  NvmlReturn clear_ended_processes(int gpu);

  // What clients set (records.h). change_settings answers what `change` does; kSuccess writes.
  SettingsRecord settings(int gpu) const;
  NvmlReturn change_settings(int gpu, const std::function<NvmlReturn(SettingsRecord&)>& change);

  // Events: who listens keeps the number of the next one that concerns him. The node keeps the last 63; event() is
  // nullopt for one that is not there yet or is forgotten. wait_event() is true as soon as next_event() > number.
  std::uint64_t next_event() const;
  std::optional<Event> event(std::uint64_t number) const;
  bool wait_event(std::uint64_t number, std::chrono::milliseconds time_out) const;
  NvmlReturn raise_xid(int gpu, unsigned xid, std::optional<int> gpu_instance = {},
                       std::optional<int> compute_instance = {});

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
  // Without instances: the whole GPU. `load`: of the device's SMs, 0 to 1.
  NvmlReturn hold(int gpu, std::optional<int> gi, std::optional<int> ci, pid_t pid, std::uint64_t memory_bytes,
                  double load = 1);

  // kInvalidArgument: a fault that does nothing, or cannot be. kInsufficientResources: there are 16 already.
  NvmlReturn add_fault(const Fault& fault);
  NvmlReturn clear_faults();
  std::vector<Fault> faults() const;  // as they are now: calls left
  // Lets matching faults strike; what the call answers instead of doing anything, if so. The ABI asks at the top of
  // each function. gpu -1: the call is about no GPU.
  std::optional<int> take_fault(std::string_view function, int gpu);

  // The pending mode becomes the current one, instances go. kInUse when something runs, kInvalidArgument when a group
  // is split, kGpuIsLost for a lost GPU: only a reboot brings it back. Cures reset_required.
  NvmlReturn reset(const std::vector<int>& gpus);
  // Instances and holders go, the boot id is new, GPUs work again but for those off the bus; the MIG mode stays where
  // the board keeps it. Faults stay: they are the tester's, not the machine's.
  NvmlReturn reboot();
  // The driver's modules are loaded anew: as a reboot, but the machine runs on. kInUse when a process holds a GPU.
  NvmlReturn reload_driver();
  // Xid 79 (fallen off the bus) goes with lost and off_bus.
  NvmlReturn set_condition(int gpu, Condition condition);

  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  struct Impl;

 private:
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::emulator
