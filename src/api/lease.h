// Leases: named, timed rights to partitions. Who asks for what, what is granted, and what happened.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/caller.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"

namespace partita::api {

// A process, told apart from a later one with the same number.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot, field 22 of /proc/PID/stat
  bool operator==(const ProcessId&) const = default;
};

enum class HolderKind { user, process, container, vm, pod, job };

// Who has a lease. Quotas count by user and group; `id` tells which container, machine, pod or job it is for.
struct Holder {
  HolderKind kind = HolderKind::user;
  uid_t uid = 0;
  std::string user;                  // name of the uid, or "uid 1234"
  std::string id;                    // "" for users and processes
  std::optional<ProcessId> process;  // the lease is released when it ends
};

// What a partition must be. Exactly one of profile, memory/sms, whole_gpu says the size.
struct Requirement {
  std::string profile;               // "3g.20gb", "1c.3g.20gb", "1g.10gb+me"
  std::optional<Bytes> memory;       // at least; the smallest profile that has it is taken
  std::optional<int> sms;            // at least
  bool whole_gpu = false;            // a GPU with MIG mode off
  bool bare = false;                 // the GPU instance without compute instances
  std::vector<std::string> compute;  // several compute instances of one GPU instance: {"1c", "2c"}; empty: one, whole
  std::optional<std::string> gpu;    // only there: UUID, PCI bus id or index
  std::optional<int> start;          // only at this placement; needs `gpu`
  std::optional<std::string> board;  // only on such boards
  bool exclusive_gpu = false;        // no other lease on that GPU while this one lives
  std::optional<std::string> same_gpu_as;  // name of a live lease
  bool operator==(const Requirement&) const = default;
};

enum class Priority { low, normal, high };

// What the processes of a lease may take of the host. nullopt: as much as they like.
struct HostLimits {
  std::optional<double> cpus;  // processor time, in processors
  std::optional<Bytes> memory;
  bool operator==(const HostLimits&) const = default;
};

inline constexpr int kMostLeasesAtOnce = 1000;

// A key by which a caller asks again for the same leases, as long as a day, also after the node's restart.
struct Once {
  std::string key;   // with whose it is
  std::string text;  // what was asked, or its hash: another text is another request, and `invalid`
};

struct LeaseRequest {
  Caller caller;
  // "": a name is made. A name that lives already: the same requirement gives the same lease back (idempotent), another
  // one is `invalid`. 1-63 characters of a-z, A-Z, 0-9, '.', '_', '-', beginning with a letter or digit;
  // not as containers find devices: "all", digits alone, MIG-..., GPU-...
  std::string name;
  int count = 1;  // all or nothing; names get -1, -2, ... when more than one
  Holder holder;
  Requirement requirement;
  std::optional<std::chrono::milliseconds> duration;  // nullopt: the policy's default, which may be "until released"
  Priority priority = Priority::normal;
  std::map<std::string, std::string> labels;
  bool no_wait = false;  // fail with the reason instead of waiting in the queue
  HostLimits host_limits;
  std::optional<Once> once;
};

// waiting -> cutting -> granting -> active -> (parked) -> releasing -> ended
enum class LeaseState { waiting, cutting, granting, active, parked, releasing, ended };

struct DeviceNode {
  std::string path;  // as the program opens it: "/dev/nvidia-caps/nvidia-cap12"
  int major = 0, minor = 0;
  bool capability = false;  // one of nvidia-caps: its owner and mode guard it
};

// A MIG device, a bare GPU instance (compute_instance nullopt), or a whole GPU (both nullopt).
struct GrantedDevice {
  std::string gpu;  // UUID
  int gpu_index = 0;
  std::string pci_bus_id;
  std::string board;    // "a100-sxm4-40gb"
  std::string profile;  // "3g.20gb"; "" for a whole GPU
  std::optional<int> start;
  std::optional<int> gpu_instance, compute_instance;
  std::string uuid;   // "MIG-..." or "GPU-..."; what CUDA_VISIBLE_DEVICES takes; "" for a bare GPU instance
  std::string index;  // "0:1", for people
  std::string cdi;    // "nvidia.com/gpu=MIG-..."
  Bytes memory;
  int sms = 0, compute_slices = 0, memory_slices = 0;
};

struct Grant {
  std::vector<GrantedDevice> devices;
  std::vector<DeviceNode> nodes;  // all that a program needs to open
  std::string cuda_visible_devices;
};

struct Lease {
  std::int64_t id = 0;
  std::string name;
  LeaseState state = LeaseState::waiting;
  Holder holder;
  Requirement requirement;
  Priority priority = Priority::normal;
  std::map<std::string, std::string> labels;
  Time asked;
  std::optional<Time> granted, expires, ended;
  std::optional<Grant> grant;         // while active or releasing
  std::optional<int> queue_position;  // while waiting, from 1
  std::optional<Time> estimate;       // while waiting: when it is served at the latest, if all expiries are kept
  std::string cause;                  // why it waits, or why it ended: "released by alice", "expired", "GPU 3 lost"
  std::vector<std::string> cause_details;  // as Error::details
  bool recut = false;                      // an instance was cut for it (else an idle one served)
  HostLimits host_limits;
};

struct LeaseQuery {
  Caller caller;
  std::string name;        // "": all
  std::string user;        // "": of all users
  bool ended = false;      // ended ones, too (the latest 1000)
  std::int64_t after = 0;  // ids above this, for pages
  int limit = 0;           // 0: all
};

struct LeaseChange {
  Caller caller;
  std::string name;
  // release: what still runs gets SIGTERM, and SIGKILL after this
  std::chrono::milliseconds grace = std::chrono::seconds(10);
  bool force = false;  // administrators: also another user's
};

// Something that happened, in the order of its number. Numbers never come again.
struct Event {
  std::int64_t number = 0;
  Time at;
  // "lease.waiting", "lease.active", "lease.parked", "lease.renewed", "lease.expiring", "lease.releasing",
  // "lease.recut" (its partition was lost and made again), "lease.ended"; "layout.changed"; "foreign" (others changed
  // something); "recovered" (what a process that died left behind is gone).
  std::string kind;
  std::string lease;  // name, "" when none
  std::string text;
};
struct EventQuery {
  Caller caller;
  std::int64_t after = 0;
  int limit = 1000;
  std::chrono::milliseconds wait{0};  // for the first one; nothing new is no error
};

// Who is limited by what, and how much of it is used.
struct QuotaRow {
  std::string who;   // "user alice", "group ml"
  std::string what;  // "partitions", "compute slices", "memory"
  std::int64_t used = 0;
  std::optional<std::int64_t> limit;  // nullopt: none; memory in bytes
  std::string source;                 // "policy.yaml:12"
};
struct PolicyAnswer {
  std::string file;  // "" when there is none: no limits
  std::vector<QuotaRow> quotas;
  std::optional<std::chrono::milliseconds> default_duration, longest_duration;
};

std::string_view to_string(LeaseState state);
std::string_view to_string(HolderKind kind);
std::string_view to_string(Priority priority);
std::optional<LeaseState> lease_state(std::string_view text);
std::optional<HolderKind> holder_kind(std::string_view text);
std::optional<Priority> priority(std::string_view text);

}  // namespace partita::api
