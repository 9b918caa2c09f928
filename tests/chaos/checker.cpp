#include "checker.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "deliver/cdi.h"
#include "node/paths.h"

namespace partita::chaos {
namespace {

using State = api::LeaseState;

// The GPU and start of a lease's instance, as its grant tells.
std::optional<std::pair<std::string, int>> place(const api::Lease& lease) {
  if (!lease.grant || lease.grant->devices.empty() || !lease.grant->devices[0].start) return std::nullopt;
  return std::pair(lease.grant->devices[0].gpu, *lease.grant->devices[0].start);
}

std::string text(const api::Lease& lease) {
  const auto at = place(lease);
  return "lease " + lease.name + " (" + std::to_string(lease.id) + ", " + std::string(api::to_string(lease.state)) +
         (at ? ", " + lease.grant->devices[0].profile + "@" + std::to_string(at->second) + " on GPU " +
                   std::to_string(lease.grant->devices[0].gpu_index)
             : std::string()) +
         ")";
}

}  // namespace

Checker::Words Checker::always(const std::vector<api::Lease>& live) {
  Words words;
  one_holder(live, words);
  quotas(live, words);
  pinned_are_there(words);
  return words;
}

void Checker::one_holder(const std::vector<api::Lease>& live, Words& words) const {
  std::map<std::pair<std::string, int>, std::string> places;
  std::map<std::string, std::vector<const api::Lease*>> on_gpu;
  for (const api::Lease& lease : live) {
    if (!lease.grant || lease.grant->devices.empty()) continue;
    on_gpu[lease.grant->devices[0].gpu].push_back(&lease);
    if (const auto at = place(lease))
      if (const auto [other, added] = places.emplace(*at, lease.name); !added)
        words.push_back(text(lease) + " has the device of lease " + other->second);
  }
  for (const auto& [gpu, leases] : on_gpu)
    for (const api::Lease* lease : leases) {
      const bool alone = lease->requirement.whole_gpu || lease->requirement.exclusive_gpu;
      if (alone && leases.size() > 1) words.push_back(text(*lease) + " is not alone on its GPU");
    }
}

// Of what it has now; one that waits or is parked counts as a partition.
Limits Checker::size_of(const api::Lease& lease) const {
  if (!lease.grant || lease.grant->devices.empty()) return {1, 0, 0};
  const api::GrantedDevice& device = lease.grant->devices[0];
  // All leases as they were told at one moment: the driver may be further already.
  if (device.start) {
    const emulator::ProfileSpec* const profile = evidence_.profile(device.gpu_index, device.profile);
    return profile ? Limits{1, profile->compute_slices, static_cast<int>(profile->memory_mib)} : Limits{1, 0, 0};
  }
  const emulator::GpuSpec& spec = evidence_.spec(device.gpu_index);
  return {1, spec.compute_slices, static_cast<int>(spec.memory_mib)};
}

void Checker::quotas(const std::vector<api::Lease>& live, Words& words) const {
  std::map<std::string, Limits> used;
  for (const api::Lease& lease : live) {
    const int user = std::stoi(lease.holder.user.substr(1));
    const Limits size = size_of(lease);
    for (const std::string& who : {"user " + lease.holder.user, "group " + std::to_string(user % Holders::kGroups)}) {
      used[who].partitions += size.partitions;
      used[who].compute_slices += size.compute_slices;
      used[who].memory_mib += size.memory_mib;
    }
  }
  for (const auto& [who, sum] : used) {
    const Limits& most = who.starts_with("user") ? user_ : group_;
    if (sum.partitions > most.partitions)
      words.push_back(who + " has " + std::to_string(sum.partitions) + " partitions of " +
                      std::to_string(most.partitions));
    if (sum.compute_slices > most.compute_slices)
      words.push_back(who + " has " + std::to_string(sum.compute_slices) + " compute slices of " +
                      std::to_string(most.compute_slices));
    if (sum.memory_mib > most.memory_mib)
      words.push_back(who + " has " + std::to_string(sum.memory_mib) + " MiB of " + std::to_string(most.memory_mib));
  }
}

// Foreign ones, and those of leases that nobody ended.
void Checker::pinned_are_there(Words& words) {
  std::set<std::uint32_t> there;
  for (const Seen& seen : evidence_.instances()) there.insert(seen.serial);
  for (const std::uint32_t serial : disturber_.foreign_serials())
    if (!there.contains(serial)) words.push_back("a foreign instance was destroyed");
}

Checker::Words Checker::settled(const std::vector<api::Lease>& live) {
  Words words;
  for (const api::Lease& lease : live) {
    if (lease.state == State::cutting || lease.state == State::granting)
      words.push_back(text(lease) + " does not move");
    if (lease.holder.process && !holders_.process_lives(lease.holder.process->pid) && lease.state != State::releasing)
      words.push_back(text(lease) + " outlives its process");
    if (lease.state != State::releasing) continue;
    const auto at = place(lease);
    const auto seen = at ? evidence_.at(at->first, at->second) : std::nullopt;
    if (at && (!seen || !evidence_.busy(*seen)))
      words.push_back(text(lease) + " does not end, though nothing runs on it");
  }
  ledger_is_driver(live, words);
  permissions(live, words);
  groups(live, words);
  files(live, words);
  return words;
}

void Checker::ledger_is_driver(const std::vector<api::Lease>& live, Words& words) const {
  const LedgerSeen ledger = evidence_.ledger(node::ledger_file(world_.options));
  bool all_there = true;
  for (int gpu = 0; gpu < evidence_.gpus(); ++gpu) all_there &= !evidence_.lost(gpu);
  if (!ledger.open_operations.empty() && all_there)
    words.push_back(std::to_string(ledger.open_operations.size()) + " operations are open");
  std::set<Marked> marks(ledger.marks.begin(), ledger.marks.end());
  for (const Seen& seen : evidence_.instances()) {
    const bool marked = marks.erase({evidence_.uuid(seen.gpu), seen.id, seen.profile, seen.start}) > 0;
    const bool foreign = disturber_.foreign_serials().contains(seen.serial);
    const std::string what =
        seen.profile_name + "@" + std::to_string(seen.start) + " on GPU " + std::to_string(seen.gpu);
    if (evidence_.lost(seen.gpu)) continue;
    if (marked && foreign) words.push_back(what + " is foreign, and the ledger says it is ours");
    if (!marked && !foreign) words.push_back(what + " has no owner");
  }
  // What is on a GPU that is lost nobody can see: its marks are looked at again when it is back.
  for (int gpu = 0; gpu < evidence_.gpus(); ++gpu)
    if (evidence_.lost(gpu)) std::erase_if(marks, [&](const Marked& mark) { return mark.gpu == evidence_.uuid(gpu); });
  for (const Marked& mark : marks)
    words.push_back("the ledger has instance " + std::to_string(mark.id) + " of " + mark.gpu + ", the driver has not");
  std::set<std::int64_t> ids;
  for (const api::Lease& lease : live) ids.insert(lease.id);
  if (ids != ledger.live) words.push_back("the ledger has other live leases than the node tells");
  for (const api::Lease& lease : live) {
    if (lease.state != State::active) continue;
    const auto at = place(lease);
    if (lease.requirement.whole_gpu) {
      if (!lease.grant || at || evidence_.mig_enabled(lease.grant->devices.at(0).gpu_index))
        words.push_back(text(lease) + " has no whole GPU");
      continue;
    }
    const auto seen = at ? evidence_.at(at->first, at->second) : std::nullopt;
    if (!seen || !seen->is_called(lease.grant->devices[0].profile))
      words.push_back(text(lease) + " has no such instance");
    else if (!lease.grant->devices[0].uuid.empty() &&
             std::ranges::find(seen->uuids, lease.grant->devices[0].uuid) == seen->uuids.end())
      words.push_back(text(lease) + " is told a device that is not there");
  }
}

// A holder's for the time of the lease, else root's alone; foreign ones are as the driver made them, root's, too.
void Checker::permissions(const std::vector<api::Lease>& live, Words& words) const {
  if (::geteuid() != 0) return;
  std::map<std::pair<std::string, int>, const api::Lease*> leased;
  for (const api::Lease& lease : live)
    if (const auto at = place(lease); at && lease.state == State::active) leased[*at] = &lease;
  int nodes = 0;
  for (const Seen& seen : evidence_.instances()) {
    const auto found = leased.find({evidence_.uuid(seen.gpu), seen.start});
    const long owner = found == leased.end() ? 0 : static_cast<long>(found->second->holder.uid);
    const bool foreign = disturber_.foreign_serials().contains(seen.serial);
    for (const Evidence::Access& access : evidence_.access(seen)) {
      nodes += access.uid >= 0 ? 1 : 0;
      if (evidence_.lost(seen.gpu)) continue;
      const std::string what = access.node + " of " + seen.profile_name + "@" + std::to_string(seen.start) +
                               " on GPU " + std::to_string(seen.gpu);
      if (access.uid != owner)
        words.push_back(what + " belongs to uid " + std::to_string(access.uid) + ", expected " + std::to_string(owner) +
                        (found == leased.end() ? "" : " of " + text(*found->second)));
      if (!foreign && (access.mode & 077U) != 0) words.push_back(what + " is open to others");
    }
  }
  if (nodes != evidence_.capability_nodes()) words.push_back("there are capability nodes of no instance");
}

// Control groups are of leases that have something, and in them is nobody but their holders.
void Checker::groups(const std::vector<api::Lease>& live, Words& words) const {
  if (world_.options.confinement_prefix.empty()) return;
  for (const auto& found : Evidence::groups(world_.options.confinement_prefix)) {
    const std::string& name = found.lease;
    const auto lease = std::ranges::find(live, name, &api::Lease::name);
    if (lease == live.end() || (lease->state != State::active && lease->state != State::releasing)) {
      words.push_back("a control group of " + name + ", which has nothing");
      continue;
    }
    for (const uid_t uid : found.users)
      if (uid != lease->holder.uid)
        words.push_back("a process of uid " + std::to_string(uid) + " is in the control group of " + text(*lease));
  }
}

void Checker::files(const std::vector<api::Lease>& live, Words& words) const {
  std::set<std::string> expected;
  for (const api::Lease& lease : live)
    if (lease.state == State::active && (lease.requirement.whole_gpu || !lease.requirement.bare))
      expected.insert(lease.name);
  for (const std::string& name : deliver::list_cdi(world_.options.cdi_folder))
    if (expected.erase(name) == 0) {
      const auto lease = std::ranges::find(live, name, &api::Lease::name);
      if (lease == live.end() || lease->state != State::active)
        words.push_back("a CDI file of " + name + ", which has nothing");
    }
  for (const std::string& name : expected) words.push_back("no CDI file of lease " + name);
  for (const api::Lease& lease : live)
    if (lease.state == State::active && !expected.contains(lease.name)) file_of(lease, words);
}

// Containers get the lease's own nodes by it: the GPU's, and the capability nodes of its instance and no others.
void Checker::file_of(const api::Lease& lease, Words& words) const {
  std::ostringstream read;
  read << std::ifstream(world_.options.cdi_folder / ("partita-" + lease.name + ".json")).rdbuf();
  const std::string file = read.str();
  if (file.empty() || !lease.grant) return;
  std::set<std::string> expected, found;
  if (const auto at = place(lease))
    if (const auto seen = evidence_.at(at->first, at->second)) {
      if (evidence_.lost(seen->gpu)) return;
      for (const Evidence::Access& access : evidence_.access(*seen)) expected.insert(access.node);
    }
  const std::string_view key = "nvidia-caps/";
  for (std::size_t at = file.find(key); at != file.npos; at = file.find(key, at + 1)) {
    const std::size_t from = at + key.size();
    found.insert(file.substr(from, file.find('"', from) - from));
  }
  if (found != expected) words.push_back("the CDI file of " + text(lease) + " has other capability nodes than it");
  const std::string node =
      "/dev/nvidia" + std::to_string(evidence_.spec(lease.grant->devices.at(0).gpu_index).minor) + "\"";
  if (file.find(node) == file.npos) words.push_back("the CDI file of " + text(lease) + " lacks its GPU");
}

Checker::Words Checker::kept(const std::vector<api::Lease>& all) {
  Words words;
  std::map<std::int64_t, const api::Lease*> by_id;
  for (const api::Lease& lease : all) by_id[lease.id] = &lease;
  std::vector<std::string> gone;
  for (auto& [name, promise] : holders_.promises()) {
    const auto found = by_id.find(promise.lease.id);
    if (found == by_id.end()) {
      words.push_back("acknowledged " + text(promise.lease) + " is neither there nor ended");
      gone.push_back(name);
      continue;
    }
    if (found->second->state != State::ended) {
      kept_alive(promise, *found->second, words);
      continue;
    }
    const std::string why = may_end(promise, *found->second);
    ++holders_.tally().causes[why];
    if (why.empty())
      words.push_back("acknowledged " + text(promise.lease) + " ended for no reason of ours: \"" +
                      found->second->cause + "\"");
    gone.push_back(name);
  }
  for (const std::string& name : gone) holders_.promises().erase(name);
  for (const api::Lease& lease : all) {
    if (lease.state == State::ended) continue;
    if (holders_.finished().contains(lease.id)) words.push_back(text(lease) + " lives, but was answered as ended");
    if (holders_.promises().contains(lease.name)) continue;
    const auto asked = holders_.unanswered_leases().find(lease.name);
    if (asked == holders_.unanswered_leases().end()) {
      words.push_back(text(lease) + " is there, and nobody was told");
      continue;
    }
    Promise promise;
    promise.holder = asked->second;
    promise.lease = lease;
    holders_.promises()[lease.name] = promise;
  }
  holders_.unanswered_leases().clear();
  holders_.finished().clear();
  return words;
}

void Checker::kept_alive(Promise& promise, const api::Lease& now, Words& words) {
  const State was = promise.lease.state;
  const bool disturbed = promise.unsure || promise.rebooted;
  const bool waits = now.state == State::waiting;
  if (!disturbed && was == State::active && (waits || now.state == State::parked))
    words.push_back("acknowledged " + text(promise.lease) + " is " + std::string(api::to_string(now.state)) + " now");
  if (!disturbed && was == State::parked && now.state != State::parked)
    words.push_back("acknowledged " + text(promise.lease) + " is " + std::string(api::to_string(now.state)) + " now");
  if (now.state == State::releasing && was != State::releasing && may_end(promise, now).empty())
    words.push_back("acknowledged " + text(promise.lease) + " is being released for no reason of ours: " + now.cause);
  if (!disturbed && !(promise.lease.requirement == now.requirement))
    words.push_back("acknowledged " + text(promise.lease) + " asks for something else now");
  const auto at = place(now);
  const auto seen = at ? evidence_.at(at->first, at->second) : std::nullopt;
  if (seen && promise.serial != 0 && !disturbed && seen->serial != promise.serial)
    words.push_back("acknowledged " + text(promise.lease) + " lost its instance, and has another one: " + text(now));
  if (promise.lease.expires && now.expires != promise.lease.expires && !promise.may_expire)
    words.push_back("acknowledged " + text(promise.lease) + " has another expiry now");
  promise.lease = now;
  promise.serial = seen && now.state == State::active ? seen->serial : 0;
  promise.unsure = promise.rebooted = promise.faulted = false;
  promise.may_expire.reset();
  promise.lost.clear();
  for (int gpu = 0; gpu < evidence_.gpus(); ++gpu)
    if (evidence_.lost(gpu)) promise.lost.insert(gpu);
}

// In one word; "" when nothing that happened explains it.
std::string Checker::may_end(const Promise& promise, const api::Lease& ended) const {
  const std::string& cause = ended.cause;
  const auto& process = promise.lease.holder.process;
  if (cause.starts_with("released by ")) return promise.release_asked ? "released" : "";
  if (cause == "expired") {
    const auto at = promise.may_expire ? promise.may_expire : ended.expires;
    return at && *at <= clock_.now() ? "expired" : "";
  }
  if (process && cause == "its process, pid " + std::to_string(process->pid) + ", ended")
    return holders_.process_lives(process->pid) ? "" : "its process ended";
  if (cause.find("lost") != std::string::npos && !promise.lost.empty()) return "its GPU was lost";
  if (promise.lease.requirement.same_gpu_as &&
      cause.find("has a partition: nothing can be on its GPU") != std::string::npos)
    return "the lease beside it is gone";
  if (promise.rebooted && cause.find("destroyed by") != std::string::npos) return "lost in a reboot";
  return "";
}

}  // namespace partita::chaos
