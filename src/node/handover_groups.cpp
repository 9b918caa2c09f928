// The control groups of leases.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/text.h"

#include "node/handover.h"

namespace partita::node {

Result<deliver::Confinement*> Handover::confinement() {
  if (confinement_) return confinement_.get();
  if (!no_confinement_ && options_.confinement_prefix.empty())
    no_confinement_ = Error{ErrorCode::unavailable, "processes are not confined on this node", {}};
  if (no_confinement_) return std::unexpected(*no_confinement_);
  auto opened = deliver::Confinement::open(options_.confinement_prefix);
  if (!opened) {
    no_confinement_ = std::move(opened).error();
    return std::unexpected(*no_confinement_);
  }
  confinement_ = std::make_unique<deliver::Confinement>(*std::move(opened));
  for (std::string& lease : confinement_->leases()) groups_.insert(std::move(lease));
  return confinement_.get();
}

Result<std::string> Handover::confinement_kind() { return std::string(TRY(confinement())->kind()); }

std::vector<std::string> Handover::groups() {
  if (!confinement()) return {};
  return {groups_.begin(), groups_.end()};
}

Result<bool> Handover::has_group(std::string_view lease) {
  if (!confinement()) return false;
  return groups_.contains(lease);
}

Result<void> Handover::confine(const LeaseRecord& record, pid_t pid) {
  auto confinement = this->confinement();
  if (!confinement) {
    // The nodes of an emulated node of an ordinary user are plain files: there is nothing that the kernel could guard.
    const bool plain_files = options_.emulated && (::geteuid() != 0 || options_.confinement_prefix.empty());
    if (plain_files) return {};
    return std::unexpected(std::move(confinement).error());
  }
  const auto& grant = record.lease.grant;
  if (!grant) return fail(ErrorCode::internal, "a lease without a grant confines nothing");
  deliver::Filter filter{majors().guarded, {}};
  for (const api::DeviceNode& node : grant->nodes) filter.allowed.push_back({node.major, node.minor});
  const deliver::Limits limits{record.lease.host_limits.cpus, record.lease.host_limits.memory,
                               near_processors(grant->devices.front().pci_bus_id)};
  TRY_VOID((*confinement)->prepare(record.lease.name, filter, limits));
  groups_.insert(record.lease.name);
  happened("prepare");
  if (auto added = (*confinement)->add(record.lease.name, pid); !added) {
    (void)dissolve(record.lease.name);  // unless others are in it
    return added;
  }
  happened("confine");
  return {};
}

Result<void> Handover::let_out(std::string_view lease, pid_t pid) {
  if (!TRY(has_group(lease))) return {};
  return confinement_->let_out(lease, pid);
}

// The processors of the GPU's NUMA node, as the kernel lists them: "0-31,64-95"; empty where it does not tell.
std::vector<int> Handover::near_processors(std::string_view bus_id) const {
  if (options_.emulated) return {};  // its GPUs hang on no bus of this machine
  std::string address = lower(bus_id);
  if (address.size() > 12) address.erase(0, address.size() - 12);  // the kernel writes four digits of domain
  std::ifstream file(below_root("/sys/bus/pci/devices/" + address + "/local_cpulist"));
  std::string list;
  std::getline(file, list);
  std::vector<int> processors;
  for (const std::string& range : split(list, ',')) {
    int first = 0, last = 0;
    const char* const end = range.data() + range.size();
    const auto read = std::from_chars(range.data(), end, first);
    if (read.ec != std::errc{}) continue;
    last = first;
    if (read.ptr != end) std::from_chars(read.ptr + 1, end, last);
    for (int n = first; n <= last && n < 8192; ++n) processors.push_back(n);
  }
  return processors;
}

Result<std::vector<pid_t>> Handover::processes(std::string_view lease) {
  if (!TRY(has_group(lease))) return std::vector<pid_t>{};
  return confinement_->processes(lease);
}

Result<void> Handover::signal(std::string_view lease, int signal) {
  if (!TRY(has_group(lease))) return {};
  return confinement_->signal(lease, signal);
}

Result<void> Handover::dissolve(std::string_view lease) {
  if (!TRY(has_group(lease))) return {};
  TRY_VOID(confinement_->dissolve(lease));
  groups_.erase(groups_.find(lease));
  happened("dissolve");
  return {};
}

void Handover::clear_group(std::string_view lease) {
  constexpr int kTries = 100;
  constexpr std::chrono::milliseconds kBetween{2};
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const auto dissolved = dissolve(lease);
    if (dissolved || dissolved.error().code != ErrorCode::busy) return;
    if (!signal(lease, SIGKILL)) return;
    std::this_thread::sleep_for(kBetween);
  }
}

Result<void> Handover::register_processes(LeaseRecord& record, std::optional<pid_t> also) {
  if (!options_.register_process || !record.lease.grant) return {};
  std::vector<pid_t> pids = TRY(processes(record.lease.name));
  if (also) pids.push_back(*also);
  for (const pid_t pid : pids) {
    if (std::ranges::find(record.registered, pid) != record.registered.end()) continue;
    for (const api::GrantedDevice& device : record.lease.grant->devices) {
      if (device.uuid.empty()) continue;
      auto done = options_.register_process(device.uuid, pid);
      if (!done && ::kill(pid, 0) == 0) return done;  // else it ended in the meantime
    }
    record.registered.push_back(pid);
  }
  return {};
}

}  // namespace partita::node
