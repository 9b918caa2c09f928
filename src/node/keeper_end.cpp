// Expiry, holders that are gone, and how a lease ends.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/duration.h"
#include "base/process.h"
#include "base/text.h"
#include "node/keeper.h"
#include "node/process_id.h"

namespace partita::node {
namespace {

using State = api::LeaseState;

constexpr auto kGrace = std::chrono::seconds(10);  // from SIGTERM to SIGKILL when nobody said otherwise

}  // namespace

void Keeper::settle(bool tick) {
  if (tick) clear_groups();
  std::vector<std::int64_t> ids;  // a lease that ends leaves the book
  for (const auto& [id, record] : book_.live()) {
    const bool due = record.lease.expires && now_ >= *record.lease.expires - policy_.warning;
    if (due || tick || record.lease.state == State::releasing) ids.push_back(id);
  }
  for (const std::int64_t id : ids) {
    LeaseRecord& record = *book_.find(id);
    if (record.lease.state == State::releasing) {
      if (finish_end(record) || record.killed || !record.kill_at || now_ < *record.kill_at) continue;
      if (auto killed = handover_.signal(record.lease.name, SIGKILL); !killed)
        event("lease.releasing", record.lease.name, killed.error().message);
      record.killed = true;
      (void)finish_end(record);
      continue;
    }
    const auto& holder = record.lease.holder.process;
    if (tick && holder && !is_alive(*holder)) {
      begin_end(record, fmt::format("its process, pid {}, ended", holder->pid), kGrace);
      continue;
    }
    if (settle_expiry(record, tick)) continue;
    if (tick && record.lease.state == State::active)
      if (auto done = handover_.register_processes(record); !done)
        event("lease.active", record.lease.name, done.error().message);
  }
}

// Of leases that have nothing: what was in them took its time to die. Waits for none: a process that hangs in the
// driver of a lost GPU may never die, and this is done every second.
void Keeper::clear_groups() {
  for (const std::string& name : handover_.groups()) {
    const LeaseRecord* const record = book_.find(std::string_view(name));
    const bool has = record != nullptr && holds_partition(record->lease.state) && record->lease.state != State::cutting;
    if (has) continue;
    (void)handover_.signal(name, SIGKILL);
    (void)handover_.dissolve(name);
  }
}

// Returns whether it ends.
bool Keeper::settle_expiry(LeaseRecord& record, bool tick) {
  if (!record.lease.expires) return false;
  const Time at = *record.lease.expires;
  if (now_ >= at + policy_.grace) {
    begin_end(record, "expired", kGrace);
    return true;
  }
  if (now_ >= at) {
    // Until the grace is over only what runs keeps it.
    if (!tick && record.warned) return false;
    const auto runs = running(record);
    if (runs && runs->empty()) {
      begin_end(record, "expired", kGrace);
      return true;
    }
  }
  if (now_ >= at - policy_.warning && !record.warned) {
    record.warned = true;
    const auto left = std::max(std::chrono::milliseconds(0), at - now_);
    event("lease.expiring", record.lease.name,
          fmt::format("it expires in {}", partita::to_string(std::chrono::duration_cast<std::chrono::seconds>(left))));
    changed(record);
  }
  return false;
}

// What runs on it: processes of its control group, and those that the driver lists; not the command that asks.
Result<std::vector<std::string>> Keeper::running(const LeaseRecord& record) {
  std::vector<std::string> running;
  std::vector<pid_t> seen = {::getpid()};
  for (const pid_t pid : TRY(handover_.processes(record.lease.name))) {
    running.push_back(fmt::format("pid {} ({})", pid, process_name(pid)));
    seen.push_back(pid);
  }
  if (!record.place) return running;
  const layout::Gpu* const there = gpu(record.place->gpu);
  if (there != nullptr && there->fault && !is_for_good(*there->fault))
    return fail(ErrorCode::driver, fmt::format("GPU {}: {}", there->index, *there->fault));
  const layout::GpuInstance* const instance = partition(record);
  if (there == nullptr || (!record.place->whole_gpu && instance == nullptr)) return running;
  for (const layout::Process& process : there->processes)
    if ((instance == nullptr || process.gpu_instance == instance->id) &&
        std::ranges::find(seen, process.pid) == seen.end())
      running.push_back(to_string(process));
  return running;
}

// What runs is asked to end; nobody can open the partition any more.
void Keeper::begin_end(LeaseRecord& record, std::string cause, std::chrono::milliseconds grace) {
  record.ending = std::move(cause);
  if (!holds_partition(record.lease.state)) return end(record, record.ending);
  if (record.lease.state != State::releasing) {
    auto taken = handover_.take(record);
    if (!taken) event("lease.releasing", record.lease.name, taken.error().message);
    if (taken && finish_end(record)) return;
    record.kill_at = now_ + grace;
    if (auto told = handover_.signal(record.lease.name, grace.count() > 0 ? SIGTERM : SIGKILL); !told)
      event("lease.releasing", record.lease.name, told.error().message);
    record.lease.state = State::releasing;
    event("lease.releasing", record.lease.name, record.ending);
  } else {
    record.kill_at = std::min(record.kill_at.value_or(now_ + grace), now_ + grace);
  }
  record.lease.cause = record.ending;
  record.lease.cause_details = running(record).value_or(std::vector<std::string>{});
  changed(record);
}

// Ends it unless something still runs there.
bool Keeper::finish_end(LeaseRecord& record) {
  const auto runs = running(record);
  if (!runs || !runs->empty()) return false;
  if (!handover_.take(record) || !handover_.dissolve(record.lease.name)) return false;
  end(record, record.ending.empty() ? record.lease.cause : record.ending);
  return true;
}

// Out of the book. Those asked together with it stay together: the next of them gives its number.
LeaseRecord Keeper::leave_bundle(LeaseRecord& record) {
  const std::vector<LeaseRecord*> members = book_.bundle(record.lease.id);
  if (members.size() > 1 && members[0] == &record) {
    for (LeaseRecord* member : members) {
      member->bundle = members[1]->lease.id;
      changed(*member);
    }
    if (auto pending = pending_.extract(record.lease.id)) {
      pending.key() = members[1]->lease.id;
      pending_.insert(std::move(pending));
    }
  }
  return book_.take(record.lease.id);
}

// It has nothing any more.
void Keeper::end(LeaseRecord& record, std::string cause) {
  (void)handover_.take(record);
  handover_.clear_group(record.lease.name);
  if (record.place) {
    unpin(record);
    room_changed_ = true;
  }
  LeaseRecord ended = leave_bundle(record);
  changed_.erase(ended.lease.id);
  ended.place.reset();
  ended.lease.grant.reset();
  ended.lease.state = State::ended;
  ended.lease.ended = now_;
  ended.lease.queue_position.reset();
  ended.lease.estimate.reset();
  ended.lease.cause = std::move(cause);
  ended.shown = nullptr;
  reasons_old_ = true;
  event("lease.ended", ended.lease.name, ended.lease.cause);
  ended_.push_back(std::move(ended));
}

}  // namespace partita::node
