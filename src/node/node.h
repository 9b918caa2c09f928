// The conductor of one node: implements api::Node over the driver, the ledger (SQLite) and the plan.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/node.h"
#include "base/clock.h"
#include "base/error.h"
#include "catalog/catalog.h"
#include "driver/driver.h"

namespace partita::node {

struct Options {
  driver::Options driver;
  // Where the database and node.lock live: /var/lib/partita (root), the XDG state folder, or beside an emulated node.
  std::filesystem::path state_dir;
  std::string name;  // host name or emulated node's name
  bool emulated = false;
  // Resets GPUs, run without a shell: "{bus-id}" within an argument becomes the PCI bus ids joined by commas; an
  // argument that is just "{bus-ids}" becomes one argument per PCI bus id. Called once for all GPUs of one apply.
  // Default: nvidia-smi --gpu-reset -i BUS-ID[,BUS-ID...].
  std::vector<std::string> reset_command = {"nvidia-smi", "--gpu-reset", "-i", "{bus-id}"};
  std::chrono::milliseconds reset_timeout = std::chrono::minutes(5);
  std::chrono::milliseconds hook_timeout = std::chrono::minutes(10);
  // How long an operation waits for another one that holds node.lock.
  std::chrono::milliseconds lock_timeout = std::chrono::minutes(10);
  // Leases. The policy is read anew when the file changes hands (reload()); absent: no limits.
  std::filesystem::path policy_file;
  std::filesystem::path cdi_folder;  // "": no CDI files. /var/run/cdi, or beside an emulated node
  std::string confinement_prefix;    // the control groups' parent, this node's alone: "partita"; "": no confinement
  // Emulated nodes: tells the emulated driver that a process uses a device (a UUID), as the kernel tells the real one.
  std::function<Result<void>(std::string_view device, pid_t pid)> register_process;
  // Of a daemon, once: its lock or ledger was removed or replaced. It serves nothing any more.
  std::function<void()> on_lost;
  // For crash tests only: called after each driver call that changes something and after each database write.
  std::function<void(std::string_view)> on_event;
};

// Opens the driver and the database. The lock is taken per operation, not here. References are kept.
Result<std::unique_ptr<api::Node>> open_node(catalog::Catalog& catalog, const Clock& clock, Options options);

// The node of a daemon: holds node.lock for its life and names `socket` beside it. Waits for a command that has the
// lock, and tells `progress` so; `unavailable` names another daemon that has it. May be called from many threads; calls
// that come at the same time share one durable write. Keeps the queue moving, watches holders' processes and expiries,
// and settles what it finds, whenever something happens and at least every second.
class DaemonNode : public api::Node {
 public:
  // Reads the policy file again; a wrong one leaves the old policy.
  virtual Result<void> reload() = 0;
  // What is odd in the policy that holds, one line each: users and groups that this machine does not know.
  virtual std::vector<std::string> policy_warnings() = 0;
  // That its lock or ledger is gone, and what that means; nothing as long as they are there.
  virtual Result<void> grounded() = 0;
};
Result<std::unique_ptr<DaemonNode>> open_daemon(catalog::Catalog& catalog, const Clock& clock, Options options,
                                                const std::filesystem::path& socket, Progress* progress = nullptr);

// The socket of the daemon that holds the node's lock; nullopt when none does.
std::optional<std::filesystem::path> daemon_socket(const Options& options);

// What doctor() answers, also where no node can be opened: a driver that is missing is its first finding.
api::DoctorAnswer examine(catalog::Catalog& catalog, const Options& options);

}  // namespace partita::node
