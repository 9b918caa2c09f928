#include "node/doctor.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/text.h"
#include "node/doctor_leases.h"
#include "node/epoch.h"
#include "node/ledger.h"
#include "node/lock.h"
#include "node/paths.h"
#include "node/pins.h"
#include "node/recover.h"

namespace partita::node {
namespace {

using Level = api::Finding::Level;

class Doctor {
 public:
  explicit Doctor(const Options& options) : options_(options) {}

  void no_driver(const Error& why) {
    problem("driver", why.message,
            options_.emulated
                ? "start the emulated node again"
                : "install or load NVIDIA's driver, or try an emulated node: partita --emulate dgx-a100 status");
  }

  void driver(const layout::NodeState& state) {
    ok("driver", fmt::format("version {}, NVML {}, {}", state.driver_version, state.nvml_version,
                             count_of(state.gpus.size(), "GPU")));
    if (state.gpus.empty()) problem("GPUs", "the driver lists none", "check lspci -d 10de: and the kernel log");
    for (const layout::Gpu& gpu : state.gpus) look_at(gpu);
    capability_files(state);
  }

  void permissions() {
    if (options_.emulated || geteuid() == 0) return ok("permissions", "may change MIG mode and instances");
    const auto config = options_.driver.device_root / "proc/driver/nvidia/capabilities/mig/config";
    if (access(config.c_str(), R_OK) == 0) return ok("permissions", "may cut instances (mig/config capability)");
    warning("permissions", fmt::format("uid {} may look, but not change anything", geteuid()),
            "run as root to change the node");
  }

  void device_nodes(const layout::NodeState& state) {
    std::vector<std::string> wanted = {"dev/nvidiactl"};
    for (const layout::Gpu& gpu : state.gpus)
      if (gpu.minor) wanted.push_back(fmt::format("dev/nvidia{}", *gpu.minor));
    std::vector<std::string> missing;
    for (const std::string& name : wanted)
      if (access((options_.driver.device_root / name).c_str(), F_OK) != 0) missing.push_back("/" + name);
    if (missing.empty()) return ok("device nodes", fmt::format("{} are there", wanted.size()));
    problem("device nodes", fmt::format("missing: {}", join(missing, ", ")),
            "run nvidia-modprobe -c 0 -u, or nvidia-smi as root");
  }

  void state_folder() {
    const auto& folder = options_.state_dir;
    if (access(folder.c_str(), F_OK) != 0) {
      return warning("state folder", fmt::format("{} is not there yet", folder.string()), "the first apply makes it");
    }
    if (access(folder.c_str(), W_OK | X_OK) != 0)
      return warning("state folder", fmt::format("{}: {}", folder.string(), std::strerror(errno)),
                     "run as the user that owns it to change the node");
    ok("state folder", fmt::format("{} is writable", folder.string()));
  }

  void lock() {
    const auto holder = lock_holder(lock_file(options_));
    if (holder && !holder->socket.empty())
      return ok("node lock", fmt::format("held by the daemon, {}, at {}", to_string(*holder), holder->socket.string()));
    if (holder) return warning("node lock", fmt::format("held by {}", to_string(*holder)), "wait for it to end");
    ok("node lock", "free");
  }

  void ledger() {
    if (access(ledger_file(options_).c_str(), F_OK) != 0) return ok("ledger", "none yet: nothing was applied here");
    auto ledger = Ledger::open(ledger_file(options_), Database::Access::read);
    if (!ledger) return problem("ledger", ledger.error().message, "");
    const auto operations = ledger->open_operations();
    if (!operations) return problem("ledger", operations.error().message, "");
    if (operations->empty()) return ok("ledger", "no operation is unfinished");
    for (const Operation& operation : *operations)
      problem("ledger", fmt::format("unfinished: {}", describe(operation)),
              "run any apply: it finishes or rolls it back first");
  }

  api::DoctorAnswer take() { return {std::move(findings_)}; }

 private:
  void look_at(const layout::Gpu& gpu) {
    const std::string what = gpu.product.empty() ? label(gpu) : fmt::format("{} ({})", label(gpu), gpu.product);
    if (gpu.fault) return problem(what, *gpu.fault, "see the kernel log for an Xid, then reset the GPU or reboot");
    if (!gpu.board)
      return warning(
          what,
          fmt::format("PCI id 0x{:04X} is not in the catalog: no plan while MIG mode is off", gpu.pci_device_id >> 16U),
          "turn MIG mode on (the driver then tells what it offers), or give a board file by --data");
    if (!gpu.mode) return ok(what, "no MIG on this board");
    if (gpu.mode->current != gpu.mode->pending)
      return problem(what,
                     fmt::format("MIG mode is {}, and {} after a reset", gpu.mode->current ? "on" : "off",
                                 gpu.mode->pending ? "on" : "off"),
                     "apply again, or reset the GPU when nothing runs on it");
    ok(what, gpu.mode->current ? fmt::format("MIG mode on, {}", count_of(gpu.instances.size(), "GPU instance"))
                               : "MIG mode off");
  }

  void capability_files(const layout::NodeState& state) {
    const bool any =
        std::ranges::any_of(state.gpus, [](const layout::Gpu& gpu) { return gpu.mode && gpu.mode->current; });
    const auto folder = options_.driver.device_root / "proc/driver/nvidia/capabilities";
    if (!any) return ok("MIG capability files", "not needed: MIG mode is off everywhere");
    std::vector<std::string> missing;
    if (access((folder / "mig/config").c_str(), F_OK) != 0) missing.push_back((folder / "mig/config").string());
    for (const layout::Gpu& gpu : state.gpus)
      for (const layout::GpuInstance& instance : gpu.instances) {
        const auto file = folder / fmt::format("gpu{}/mig/gi{}/access", gpu.minor.value_or(gpu.index), instance.id);
        if (access(file.c_str(), F_OK) != 0) missing.push_back(file.string());
      }
    if (missing.empty()) return ok("MIG capability files", fmt::format("complete below {}", folder.string()));
    problem("MIG capability files", fmt::format("missing: {}", join(missing, ", ")),
            "run nvidia-modprobe -f FILE for each, or nvidia-smi as root");
  }

  void ok(std::string what, std::string found) { add(Level::ok, std::move(what), std::move(found), ""); }
  void warning(std::string what, std::string found, std::string advice) {
    add(Level::warning, std::move(what), std::move(found), std::move(advice));
  }
  void problem(std::string what, std::string found, std::string advice) {
    add(Level::problem, std::move(what), std::move(found), std::move(advice));
  }
  void add(Level level, std::string what, std::string found, std::string advice) {
    findings_.push_back({level, std::move(what), std::move(found), std::move(advice)});
  }

  const Options& options_;
  std::vector<api::Finding> findings_;
};

}  // namespace

api::DoctorAnswer diagnose(const Options& options, driver::Driver* driver, const Error* why) {
  Doctor doctor(options);
  Result<layout::NodeState> state = fail(ErrorCode::unavailable, "the driver was not opened");
  if (driver != nullptr) state = driver->state();
  if (state) {
    doctor.driver(*state);
    doctor.device_nodes(*state);
  } else {
    doctor.no_driver(why != nullptr ? *why : state.error());
  }
  doctor.permissions();
  doctor.state_folder();
  doctor.lock();
  doctor.ledger();
  api::DoctorAnswer answer = doctor.take();
  std::ranges::move(lease_findings(options, driver, state ? &*state : nullptr), std::back_inserter(answer.findings));
  return answer;
}

}  // namespace partita::node
