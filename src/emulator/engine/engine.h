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
#include "emulator/engine/spec.h"

namespace partita::emulator {

enum NvmlReturn : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kInUse = 19,
  kMemory = 20,
  kNoData = 21,
  kInsufficientResources = 23,
  kVersionMismatch = 25,
  kNotReady = 27,
  kInvalidState = 29,
  kUnknown = 999,
};

inline constexpr int kMaxGpus = 32;
inline constexpr int kMaxGpuInstances = 15;  // ids 0..14, tied to the place
inline constexpr int kMaxComputeInstances = 8;

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
  // Makes folder/state and folder/root. `invalid` when the spec breaks a bound.
  static Result<void> create(const std::filesystem::path& folder, const NodeSpec& spec);
  // Maps folder/state. `not_found`, or `invalid` for a file that is no state, of another version, or damaged.
  static Result<Engine> open(const std::filesystem::path& folder);

  const NodeSpec& spec() const;
  std::uint64_t boot_id() const;  // changes at reboot
  GpuState gpu(int index) const;  // a consistent snapshot

  // Who calls decides what is allowed: root, or a process that may open root/dev's mig/config capability.
  NvmlReturn set_mig_mode(int gpu, bool enabled, NvmlReturn& activation);
  NvmlReturn create_gpu_instance(int gpu, int profile_id, std::optional<int> start, GpuInstanceState& made);
  NvmlReturn destroy_gpu_instance(int gpu, int id, std::uint32_t serial);
  NvmlReturn create_compute_instance(int gpu, int gi, std::uint32_t gi_serial, int profile, std::optional<int> start,
                                     ComputeInstanceState& made);
  NvmlReturn destroy_compute_instance(int gpu, int gi, std::uint32_t gi_serial, int ci, std::uint32_t ci_serial);
  // How many more of a profile could be created now (NVML's remaining capacity).
  int remaining_capacity(int gpu, int profile_id) const;

  // Holds end when their process does.
  NvmlReturn hold(int gpu, int gi, int ci, pid_t pid, std::uint64_t memory_bytes);

  // Faults: the next `calls` calls of `function` ("*": any) on `gpu` (-1: any) answer `answer`.
  NvmlReturn add_fault(std::string_view function, int answer, int calls, int gpu);
  void clear_faults();
  struct FaultRow {
    std::string function;
    int answer = 0, calls = 0, gpu = -1;
  };
  std::vector<FaultRow> faults() const;
  // Consumes one matching fault, if any; the ABI asks at the top of each function.
  std::optional<int> take_fault(std::string_view function, int gpu);

  NvmlReturn reset(const std::vector<int>& gpus);  // kInUse when something runs, kInvalidArgument when a group is split
  void reboot();
  void set_lost(int gpu, bool lost);

  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::emulator
