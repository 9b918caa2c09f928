#include "holders.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "api/json.h"

namespace partita::chaos {
namespace {

using State = api::LeaseState;

constexpr std::array kProfiles = {"1g.5gb",  "1g.5gb",  "1g.10gb",   "2g.10gb", "3g.20gb",
                                  "4g.20gb", "7g.40gb", "1g.5gb+me", "1g.10gb", "1g.20gb",
                                  "2g.20gb", "3g.40gb", "4g.40gb",   "7g.80gb", "1g.10gb+me"};

}  // namespace

api::ProcessId process_id(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream rest(text.substr(text.rfind(')') + 2));
  std::vector<std::string> fields(std::istream_iterator<std::string>(rest), {});
  return {pid, std::stoull(fields.at(19))};  // field 22 of all; the first two are before the bracket
}

api::Caller Holders::user(int holder) {
  const int number = holder % kUsers;
  const std::string name = "u" + std::to_string(number);
  return {static_cast<uid_t>(3000 + number), name, false, false, {"g" + std::to_string(number % kGroups)}};
}

std::vector<std::string> Holders::names_of(int holder) const {
  std::vector<std::string> names;
  for (const auto& [name, promise] : promises_)
    if (promise.holder == holder) names.push_back(name);
  return names;
}

Process::Process(uid_t uid) {
  int ready[2] = {-1, -1};
  if (::pipe(ready) != 0) throw std::runtime_error("no pipe");
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("no process");
  if (pid_ == 0) {
    if (::geteuid() == 0 && ::setresuid(uid, uid, uid) != 0) ::_exit(1);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_DUMPABLE, 1);  // else /proc says it is root's
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  (void)!::read(ready[0], &byte, 1);
  ::close(ready[0]);
  ::close(ready[1]);
}

Process::~Process() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

pid_t Holders::new_process(uid_t uid) {
  auto child = std::make_unique<Process>(uid);
  const pid_t pid = child->pid();
  processes_[pid] = std::move(child);
  return pid;
}

void Holders::end_one_process() {
  if (processes_.empty()) return;
  processes_.erase(std::next(processes_.begin(), draw(static_cast<int>(processes_.size()))));
}

void Holders::end_all_processes() { processes_.clear(); }

bool Holders::runs_something(const Promise& promise) const {
  if (!promise.lease.grant || promise.lease.grant->devices.empty()) return false;
  const api::GrantedDevice& device = promise.lease.grant->devices[0];
  if (!device.start) return false;
  const auto seen = evidence_.at(device.gpu, *device.start);
  return seen && evidence_.busy(*seen);
}

std::optional<Ask> Holders::next(int connection) {
  const int holder = draw(kCount);
  if (busy_holders_.contains(holder)) return std::nullopt;
  Asked asked;
  asked.holder = holder;
  std::optional<Ask> ask;
  if (names_of(holder).empty()) {
    if (unanswered_.contains("h" + std::to_string(holder)) || unanswered_.contains("h" + std::to_string(holder) + "-1"))
      return std::nullopt;  // the next look tells
    ask = ask_lease(holder, asked);
  } else {
    ask = ask_change(holder, asked);
  }
  if (!ask) return std::nullopt;
  asked.ask = *ask;
  ++tally_.asked[ask->verb];
  busy_holders_.insert(holder);
  asked_[connection] = std::move(asked);
  return ask;
}

api::Requirement Holders::requirement() {
  api::Requirement wanted;
  const int kind = draw(100);
  if (kind < 62) {
    wanted.profile = kProfiles[static_cast<std::size_t>(draw(kProfiles.size()))];
  } else if (kind < 72) {
    wanted.memory = Bytes{static_cast<std::uint64_t>(1 + draw(36)) << 30U};
  } else if (kind < 78) {
    wanted.sms = 1 + draw(60);
  } else if (kind < 82) {
    wanted.whole_gpu = true;
  } else if (kind < 88) {
    wanted.profile = "2g.10gb";
    wanted.bare = true;
  } else if (kind < 93) {
    wanted.profile = "3g.20gb";
    wanted.compute = {"1c", "2c"};
  } else {
    wanted.profile = "1g.5gb";
    wanted.gpu = std::to_string(draw(4));
    wanted.start = draw(7);
  }
  if (chance(3)) wanted.exclusive_gpu = true;
  if (chance(3)) wanted.board = chance(50) ? "a100-sxm4-40gb" : "h100-sxm5-80gb";
  if (chance(3) && !promises_.empty())
    wanted.same_gpu_as = std::next(promises_.begin(), draw(static_cast<int>(promises_.size())))->first;
  return wanted;
}

Ask Holders::ask_lease(int holder, Asked& asked) {
  api::LeaseRequest request;
  request.caller = user(holder);
  request.name = "h" + std::to_string(holder);
  request.requirement = requirement();
  if (chance(10)) request.count = 2 + draw(3);
  request.no_wait = chance(50);
  request.priority = static_cast<api::Priority>(draw(3));
  if (chance(70)) request.duration = std::chrono::seconds(10 + draw(600));
  if (chance(20)) request.labels["run"] = std::to_string(draw(1000));
  request.holder = {static_cast<api::HolderKind>(draw(6)), request.caller.uid, request.caller.name, "", std::nullopt};
  if (request.holder.kind != api::HolderKind::user && request.holder.kind != api::HolderKind::process)
    request.holder.id = "id-" + std::to_string(holder);
  if (request.holder.kind == api::HolderKind::process) {
    asked.process = new_process(request.caller.uid);
    request.holder.process = process_id(asked.process);
    if (chance(10)) processes_.erase(asked.process);
  }
  return {"lease", request.caller, request.name, api::to_json(request)};
}

std::optional<Ask> Holders::ask_change(int holder, Asked& asked) {
  const std::vector<std::string> names = names_of(holder);
  const std::string& name = names[static_cast<std::size_t>(draw(static_cast<int>(names.size())))];
  Promise& promise = promises_.at(name);
  api::LeaseChange change;
  change.caller = user(holder);
  change.name = name;
  change.grace = std::chrono::milliseconds(draw(3000));
  asked.busy = runs_something(promise);
  const int kind = draw(100);
  const auto ask = [&](const char* verb, std::string body) { return Ask{verb, change.caller, name, std::move(body)}; };
  if (kind < 40) {
    promise.release_asked = true;
    return ask("release", api::to_json(change));
  }
  if (kind < 55)
    return ask("renew", api::to_json(change, std::optional(std::chrono::milliseconds(10'000 + draw(600'000)))));
  if (kind < 65) return ask("resize", api::to_json(change, requirement()));
  if (kind < 75) return ask(promise.lease.state == State::parked ? "unpark" : "park", api::to_json(change));
  if (kind < 85 && promise.lease.state == State::active) {
    change.caller.administrator = false;
    asked.process = new_process(change.caller.uid);
    return ask("attach", api::to_json(change, process_id(asked.process)));
  }
  if (kind < 90) {  // someone else
    change.caller = user(holder + 1);
    asked.stranger = true;
    return ask(chance(50) ? "release" : "park", api::to_json(change));
  }
  if (kind < 92) return Ask{"demand", node::LeaseWorld::administrator(), chance(50) ? "1g.10gb" : "2g.10gb", ""};
  if (kind < 94) return Ask{"status", node::LeaseWorld::administrator(), "", ""};
  return std::nullopt;
}

void Holders::unanswered() {
  for (const auto& [connection, asked] : asked_) {
    const std::string& verb = asked.ask.verb;
    if (verb == "lease") {
      unanswered_[asked.ask.name] = asked.holder;
      for (int n = 1; n <= 4; ++n) unanswered_[asked.ask.name + "-" + std::to_string(n)] = asked.holder;
    }
    const auto found = promises_.find(asked.ask.name);
    if (found == promises_.end() || asked.stranger || verb == "attach") continue;
    found->second.unsure |= verb == "resize" || verb == "park" || verb == "unpark";
    if (verb == "renew") found->second.may_expire = Time::min();  // by the old time or the new one
  }
  asked_.clear();
  busy_holders_.clear();
}

void Holders::answered(int connection, Answer answer) {
  const auto found = asked_.find(connection);
  if (found == asked_.end()) return violation("an answer that nobody waits for");
  const Asked asked = std::move(found->second);
  asked_.erase(found);
  busy_holders_.erase(asked.holder);
  if (answer.error) return refused(asked, *answer.error);
  ++tally_.granted[asked.ask.verb];
  if (asked.stranger) violation("user " + asked.ask.caller.name + " changed another's lease " + asked.ask.name);
  for (const api::Lease& lease : answer.leases) {
    if (asked.ask.verb == "lease")
      promised(asked.holder, lease);
    else
      changed(asked, lease);
  }
}

void Holders::refused(const Asked& asked, const Error& error) {
  ++tally_.refused[asked.ask.verb + " " + std::string(name(error.code))];
  if (error.code == ErrorCode::internal)
    violation(asked.ask.verb + " " + asked.ask.name + ": internal: " + error.message);
  const auto found = promises_.find(asked.ask.name);
  // Cut in its own room and rolled back: nothing ran there, and what came again is another instance.
  if (asked.ask.verb == "resize" && found != promises_.end() && (found->second.faulted || faults_))
    found->second.serial = 0;
  // A release that was refused is no reason to end.
  if (asked.ask.verb == "release" && found != promises_.end() && found->second.lease.state != State::releasing)
    found->second.release_asked = false;
  if (asked.ask.verb == "release" && found != promises_.end() && error.code == ErrorCode::denied && !asked.stranger)
    violation(found->second.lease.holder.user + " may not release their own lease " + asked.ask.name);
}

void Holders::promised(int holder, const api::Lease& lease) {
  if (lease.state == State::ended) return violation("lease " + lease.name + " was answered as ended");
  Promise promise;
  promise.holder = holder;
  promise.lease = lease;
  promise.faulted = faults_;
  for (int gpu = 0; gpu < evidence_.gpus(); ++gpu)
    if (evidence_.lost(gpu)) promise.lost.insert(gpu);  // after it was answered, perhaps
  if (lease.state == State::active) check_handed_over(lease);
  if (lease.grant && !lease.grant->devices.empty() && lease.grant->devices[0].start)
    if (const auto seen = evidence_.at(lease.grant->devices[0].gpu, *lease.grant->devices[0].start))
      promise.serial = seen->serial;
  const auto found = promises_.find(lease.name);
  if (found != promises_.end() && found->second.lease.id == lease.id)
    violation("lease " + lease.name + " was asked for and given while it was there");
  promises_[lease.name] = std::move(promise);
}

// At the answer all is in place already.
void Holders::check_handed_over(const api::Lease& lease) {
  if (lease.expires && *lease.expires <= clock_.now()) return;
  if (lease.holder.process && !process_lives(lease.holder.process->pid)) return;
  if (!lease.grant || lease.grant->devices.empty())
    return violation("lease " + lease.name + " is active without a device");
  for (const api::GrantedDevice& device : lease.grant->devices) {
    if (!device.start || evidence_.lost(device.gpu_index)) continue;  // lost since it was answered
    const auto seen = evidence_.at(device.gpu, *device.start);
    if (!seen || !seen->is_called(device.profile)) {
      violation("lease " + lease.name + " was given " + device.profile + "@" + std::to_string(*device.start) + " on " +
                device.gpu + ", which is not there");
      continue;
    }
    if (!device.uuid.empty() && std::ranges::find(seen->uuids, device.uuid) == seen->uuids.end())
      violation("lease " + lease.name + " was given " + device.uuid + ", which is not there");
    if (::geteuid() != 0) continue;
    for (const Evidence::Access& access : evidence_.access(*seen))
      if (access.uid != static_cast<long>(lease.holder.uid))
        violation("lease " + lease.name + " was given " + access.node + ", which belongs to uid " +
                  std::to_string(access.uid));
  }
}

void Holders::changed(const Asked& asked, const api::Lease& lease) {
  const auto found = promises_.find(lease.name);
  if (found == promises_.end()) return;
  Promise& promise = found->second;
  const std::string& verb = asked.ask.verb;
  if (lease.id != promise.lease.id) return violation("lease " + lease.name + " has another id now");
  if (verb == "release") {
    if (lease.state == State::ended) {
      finished_.insert(lease.id);
      promises_.erase(found);
      return;
    }
    if (lease.state != State::releasing) violation("lease " + lease.name + " is not released, but was answered so");
  }
  if ((verb == "park" || verb == "resize") && asked.busy && promise.lease.state == State::active &&
      runs_something(promise))
    violation(verb + " of lease " + lease.name + ", on which something runs");
  const bool same = verb == "renew" || verb == "attach" || verb == "release";
  promise.lease = lease;
  if (same) return;
  promise.serial = 0;
  promise.unsure = false;
  if (lease.state != State::active) return;
  check_handed_over(lease);
  if (lease.grant && !lease.grant->devices.empty() && lease.grant->devices[0].start)
    if (const auto seen = evidence_.at(lease.grant->devices[0].gpu, *lease.grant->devices[0].start))
      promise.serial = seen->serial;
}

}  // namespace partita::chaos
