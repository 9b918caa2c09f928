// What changes in an emulated node, as plain records of the mapped state. Arrays are kept in ascending id order; only
// the first `count` entries mean anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace partita::emulator {

inline constexpr int kMaxGpus = 32;
inline constexpr int kMaxGpuInstances = 15;     // ids 0..14, tied to the place
inline constexpr int kMaxLiveGpuInstances = 8;  // of one GPU at a time
inline constexpr int kMaxComputeInstances = 8;  // of one GPU instance
inline constexpr int kMaxHolders = 128;         // processes on one GPU
inline constexpr int kMaxFaults = 16;

// How busy something is, from 0 to 1: since `since_ms` it goes in a straight line from `from` to `to` (behaviour.h),
// and stays there.
struct LoadRecord {
  std::int64_t since_ms = 0;  // of the node's clock
  double total_ms = 0;        // up to then, in milliseconds at full load
  float from = 0, to = 0;
};

struct ComputeRecord {
  std::uint32_t serial = 0;  // never given twice in the life of the node
  std::uint8_t id = 0;
  std::uint8_t profile = 0;  // NVML compute profile
  std::uint8_t start = 0, size = 0, slices = 0;
  std::uint8_t syspipe = 0;
  std::uint8_t unused[6] = {};
  std::array<std::uint8_t, 16> uuid{};
};

struct InstanceRecord {
  std::uint32_t serial = 0;
  std::uint8_t id = 0;
  std::uint8_t profile = 0;  // index in GpuSpec::profiles
  std::uint8_t start = 0, size = 0;
  std::uint8_t compute_count = 0;
  std::uint8_t unused[7] = {};
  std::int64_t busy_until_ms = 0;  // a process that has ended is still being cleared away
  LoadRecord load;
  std::array<ComputeRecord, kMaxComputeInstances> compute{};
};

struct HolderRecord {
  std::uint64_t start_time = 0;
  std::uint64_t memory_bytes = 0;
  std::int64_t since_ms = 0;  // of the node's clock
  std::int32_t pid = 0;
  float load = 1;
  std::int16_t gpu_instance = -1, compute_instance = -1;  // -1: the whole GPU
  std::uint32_t unused = 0;
};

// What is wrong with a GPU. lost: every call about it answers GPU_IS_LOST until the next reboot. off_bus: the same, but
// a reboot does not bring it back. reset_required: it can be read, but changed and used only after a reset.
enum class Condition : std::uint8_t { good, lost, off_bus, reset_required };

// Mode and counts: the first word of a GPU's record.
struct GpuHead {
  std::uint8_t mig_current = 0, mig_pending = 0;
  std::uint8_t lost = 0;  // 1: lost; 2: off the bus
  std::uint8_t instance_count = 0;
  std::uint16_t holder_count = 0;
  std::uint8_t reset_required = 0;
  std::uint8_t unused = 0;
};

// What clients set on a GPU. It goes back to these values when the driver is loaded anew, but for ECC, which the board
// keeps: the pending mode is the current one after the next reset.
struct SettingsRecord {
  std::uint8_t persistence = 1;
  std::uint8_t compute_mode = 0;
  std::uint8_t ecc_current = 1, ecc_pending = 1;
  std::uint8_t accounting = 0;
  std::uint8_t unused[3] = {};
  std::uint32_t power_limit_mw = 0;                       // 0: the board's
  std::uint32_t least_clock_mhz = 0, most_clock_mhz = 0;  // locked SM clocks; 0: not locked
  std::uint32_t application_clock_mhz = 0;                // the highest that applications run at; 0: the default
  std::uint64_t accounts_from = 0;                        // number of the first account that is told
};

// The instruments of a whole GPU.
struct MeterRecord {
  LoadRecord any;        // something runs
  LoadRecord sm;         // share of the SMs
  double degrees = 30;   // when sm.since_ms was
  double energy_mj = 0;  // up to the load of the driver or the last change of the power limit, which was ...
  std::int64_t energy_since_ms = 0;
  double energy_total_ms = 0;  // ... when sm had this total
};

struct GpuRecord : GpuHead {
  MeterRecord meter;
  SettingsRecord settings;
  std::array<InstanceRecord, kMaxLiveGpuInstances> instances{};
  std::array<HolderRecord, kMaxHolders> holders{};

  const InstanceRecord* instance(int id) const {
    for (std::size_t i = 0; i < instance_count; ++i) {
      if (instances[i].id == id) return &instances[i];
    }
    return nullptr;
  }
  InstanceRecord* instance(int id) { return const_cast<InstanceRecord*>(std::as_const(*this).instance(id)); }
};

// Room for a snapshot, which sets what it uses: giving all of it a first value costs more than reading it.
struct GpuSnapshot {
  union {
    GpuRecord record;
  };
  GpuSnapshot() {}  // NOLINT(modernize-use-equals-default,cppcoreguidelines-pro-type-member-init)
};

inline const ComputeRecord* compute_of(const InstanceRecord& instance, int id) {
  for (std::size_t i = 0; i < instance.compute_count; ++i) {
    if (instance.compute[i].id == id) return &instance.compute[i];
  }
  return nullptr;
}

struct NodeRecord {
  std::uint64_t boot_id = 0;
  std::uint64_t change = 0;       // counts commits that the files under root/ must follow
  std::uint64_t driver_load = 1;  // counts the loads of the driver's modules
  std::uint64_t next_event = 0;
  std::uint64_t next_account = 0;
  std::int64_t clock_offset_ms = 0;  // of the node's clock to the machine's
  std::uint32_t next_serial = 1;
  std::uint32_t unused = 0;
};

// One of the last events; they are kept in a ring.
struct EventRecord {
  std::uint64_t number = 0;
  std::int64_t time_ms = 0;
  std::uint64_t type = 0, data = 0;
  std::int32_t gpu = 0;
  std::int16_t gpu_instance = -1, compute_instance = -1;
};
inline constexpr int kEventRing = 64;

// A process that has ended on a GPU whose accounting was on; of all GPUs together the last are kept in a ring.
struct AccountRecord {
  std::uint64_t number = 0;
  std::uint64_t memory_bytes = 0;
  std::int64_t since_ms = 0, until_ms = 0;  // of the node's clock
  std::int32_t pid = 0, gpu = 0;
  float load = 0;
  std::uint32_t unused = 0;
};
inline constexpr int kAccountRing = 4001;  // the oldest one does not count: 4000, as the driver's buffer

struct FaultRecord {
  enum Has : std::uint8_t { kAnswer = 1, kDelay = 2, kXid = 4, kCondition = 8, kMeasured = 16, kLinger = 32 };
  char function[64] = {};
  std::int32_t answer = 0, gpu = -1 /* any */;
  std::int32_t calls = 0;  // how often it still strikes; 0: until it is taken back
  std::uint32_t least_ms = 0, most_ms = 0, xid = 0;
  double chance = 1, factor = 1;
  std::uint64_t random = 0;  // state of its generator
  std::uint8_t has = 0;
  Condition condition = Condition::good;
  std::uint8_t unused[6] = {};
};

struct FaultsRecord {
  std::uint32_t count = 0, unused = 0;
  std::array<FaultRecord, kMaxFaults> rows{};
};

template <class Record>
inline constexpr bool kShareable = std::is_trivially_copyable_v<Record> && sizeof(Record) % 8 == 0;
static_assert(kShareable<GpuRecord> && kShareable<NodeRecord> && kShareable<FaultsRecord>);
static_assert(sizeof(GpuHead) == 8 && sizeof(InstanceRecord) % 8 == 0 && sizeof(HolderRecord) == 40);
static_assert(sizeof(MeterRecord) % 8 == 0 && sizeof(SettingsRecord) % 8 == 0 && sizeof(EventRecord) == 40 &&
              sizeof(AccountRecord) == 48);

}  // namespace partita::emulator
