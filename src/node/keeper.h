// The conduct of leases: what is asked, where it goes, cutting, handing over, ending. One thread; whoever holds the
// node's lock has one.
//
// Calls are served in groups. Of each group: the node is looked at once; intents reach the disk before the first driver
// call that changes something; permissions and files are in place and the results are on the disk before any answer.
// All that is in memory can be read from the ledger again, and is, after a failure to write.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/lease.h"
#include "api/measures.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "driver/driver.h"
#include "lease/choose.h"
#include "lease/policy.h"
#include "lease/queue.h"
#include "node/book.h"
#include "node/context.h"
#include "node/handover.h"
#include "node/lease_ledger.h"
#include "node/ledger.h"
#include "node/lock.h"
#include "node/node.h"
#include "node/planner.h"
#include "node/recover.h"

namespace partita::node {

// One call about leases and its answer.
struct LeaseCall {
  enum class Verb { lease, release, renew, resize, park, unpark, attach };
  Verb verb = Verb::lease;
  const api::LeaseRequest* request = nullptr;         // lease
  const api::LeaseChange* change = nullptr;           // all others
  std::optional<std::chrono::milliseconds> duration;  // renew
  const api::Requirement* requirement = nullptr;      // resize
  api::ProcessId process;                             // attach

  std::vector<std::int64_t> ids;  // of the leases that the answer tells
  std::optional<Error> error;
  std::vector<api::Lease> leases;

  Result<std::vector<api::Lease>> take() {
    if (error) return std::unexpected(std::move(*error));
    return std::move(leases);
  }
};

class Keeper {
 public:
  struct Parts {
    driver::Driver& driver;
    Ledger& ledger;
    const Clock& clock;
    const Options& options;
  };
  // `queues`: what cannot be served waits. References are kept.
  Keeper(const Parts& parts, lease::Policy policy, bool queues);

  // Settles what an earlier process left, and brings everything outside the ledger in line with it.
  Result<Recovered> open() { return open(silent_); }
  Result<Recovered> open(Progress& progress);
  // `tick`: also looks at what nobody tells: holders' processes, processes of groups.
  Result<void> serve(std::span<LeaseCall* const> calls, bool tick);
  // An apply or the like, with all leases pinned; leases whose partition it took have ended afterwards.
  Result<api::ApplyAnswer> apply(const api::PlanRequest& request, Progress& progress, Recovered before);
  // Everything is as the ledger says: the next open() need not look.
  Result<void> close();

  void set_policy(lease::Policy policy) { policy_ = std::move(policy); }
  const lease::Policy& policy() const { return policy_; }
  Book& book() { return book_; }
  const layout::NodeState& state() const { return state_; }
  Handover& handover() { return handover_; }
  const Epoch& epoch() const { return context_.epoch; }
  // What is in memory may be ahead of the ledger: writing failed.
  bool stale() const { return stale_; }
  const api::Measures& measures() const { return context_.measures; }
  // "unfinished: GPU 3 ...", for status.
  std::vector<std::string> notes() const;
  // Since the last time: what ended and what happened, in order.
  std::vector<LeaseRecord> take_ended() { return std::exchange(told_ended_, {}); }
  std::vector<api::Event> take_events() { return std::exchange(told_events_, {}); }

 private:
  struct Pending {  // a request that a call waits for
    LeaseCall* call = nullptr;
    std::optional<LeaseRecord> before;  // resize, unpark: what it was
  };
  struct Cut {  // what happens to one GPU in this group
    layout::Gpu before;
    std::vector<plan::Step> steps;
    std::set<std::int64_t> leases;
  };

  // keeper.cpp
  Result<void> serve_once(std::span<LeaseCall* const> calls, bool tick);
  Result<void> catch_up();
  void look_at_clock();
  Result<void> look();
  Result<void> settle_unfinished();
  Result<void> note_open(const Error& why);
  Result<void> store(std::string_view what, const std::vector<Operation*>& begun);
  Result<void> write_changes();
  void forget_changes();
  void answer(std::span<LeaseCall* const> calls);
  void event(std::string_view kind, std::string_view lease, std::string text);
  void changed(LeaseRecord& record);
  layout::Gpu* gpu(std::string_view uuid);
  const layout::GpuInstance* partition(const LeaseRecord& record);

  // keeper_calls.cpp
  void begin(LeaseCall& call);
  Result<void> ask(LeaseCall& call);
  Result<void> change(LeaseCall& call);
  Result<void> renew(LeaseCall& call, LeaseRecord& record);
  Result<void> resize(LeaseCall& call, LeaseRecord& record);
  Result<void> park(LeaseRecord& record);
  Result<void> unpark(LeaseCall& call, LeaseRecord& record);
  Result<void> attach(LeaseCall& call, LeaseRecord& record);
  Result<bool> asked_before(LeaseCall& call);
  Result<bool> same_again(LeaseCall& call);
  Result<void> check_quota(const api::Caller& caller, std::int64_t without, const lease::Usage& wanted);
  std::optional<lease::Size> most_of(const LeaseRecord& record);
  Result<void> check_idle(const LeaseRecord& record);

  // keeper_queue.cpp
  void place_all();
  void resize_all();
  std::vector<std::int64_t> order() const;
  void plan_rest(const std::vector<std::int64_t>& turns, bool only_new);
  Result<void> take_turn(const lease::Turn& turn);
  bool passes_quota(const lease::Turn& turn);
  std::vector<lease::Held> held();
  layout::NodeState usable() const;

  // keeper_place.cpp
  Error reason(const LeaseRecord& record);
  Result<void> place(std::int64_t bundle);
  Result<void> place_one(LeaseRecord& record);
  Result<lease::Constraints> constraints_of(const LeaseRecord& record);
  Result<void> take_choice(LeaseRecord& record, const lease::Choice& choice);
  void wait_again(LeaseRecord& record);
  void refuse(std::int64_t bundle, const Error& error);
  void tell_reason(std::int64_t bundle);
  void put_back(LeaseRecord& record, LeaseRecord before);
  std::vector<const LeaseRecord*> kept_rooms();
  std::vector<std::string> resting() const;
  void pin(const LeaseRecord& record);
  void unpin(const LeaseRecord& record);

  // keeper_cut.cpp
  Result<bool> cut(bool last);
  Result<void> cut_gpu(Operation& operation, const GpuWork& work);
  Result<void> settle_back(const Operation& operation);
  Result<void> look_again();
  GpuWork work_of(const std::string& gpu, const Cut& cut);
  bool take_cut_back(const Cut& cut, const Error& error, bool last);

  // keeper_grant.cpp
  Result<void> grant_all();
  void grant_bundle(std::int64_t bundle);
  bool stays(LeaseRecord& record, const Error& error);
  Result<void> grant(LeaseRecord& record);
  Result<void> refresh_names();
  Result<void> close_idle();
  struct Idle {
    const layout::Gpu* gpu = nullptr;
    const layout::GpuInstance* instance = nullptr;
  };
  std::map<std::string, Idle> idle_instances() const;
  void remember_closed(const std::map<std::string, Idle>& idle);

  // keeper_end.cpp
  void settle(bool tick);
  void clear_groups();
  bool settle_expiry(LeaseRecord& record, bool tick);
  void begin_end(LeaseRecord& record, std::string cause, std::chrono::milliseconds grace);
  bool finish_end(LeaseRecord& record);
  void end(LeaseRecord& record, std::string cause);
  LeaseRecord leave_bundle(LeaseRecord& record);
  Result<std::vector<std::string>> running(const LeaseRecord& record);

  // keeper_recover.cpp
  void note_foreign(const layout::NodeState& before);
  Result<void> reconcile(bool new_epoch);
  void reconcile_lease(LeaseRecord& record, bool new_epoch, std::vector<std::int64_t>& lost);
  Result<void> cut_same(const std::string& uuid, const std::vector<LeaseRecord*>& records);
  Result<void> recut_settled(const std::map<std::string, Error>& were_unfinished);
  Result<void> place_lost(const std::vector<std::int64_t>& lost);
  Result<void> cut_again(const std::vector<std::int64_t>& lost);
  Result<void> remove_leftovers();
  std::optional<std::string> gone(const LeaseRecord& record);
  void remember_grant(LeaseRecord& record);

  Parts parts_;
  const std::string own_command_ = own_command();
  lease::Policy policy_;
  const bool queues_;
  SilentProgress silent_;
  Context context_;
  Handover handover_;
  LeaseLedger leases_;

  Book book_;
  Time now_{};
  bool looked_ = false;      // state_ is from an earlier group
  layout::NodeState state_;  // as looked at, then as this group plans it
  bool stale_ = false;       // memory may not be as the ledger is
  bool room_changed_ = true;
  bool reasons_old_ = true;     // who waits was told of leases that may have changed since
  bool tells_reasons_ = false;  // in this group
  static constexpr std::string_view kSomeoneElse = "someone else";
  std::string_view taken_by_ = kSomeoneElse;  // whose work it is when a partition is not there any more
  std::map<std::string, Error> unfinished_;   // GPUs in the middle of an operation: UUID
  struct Rest {
    Time until;
    int failures = 0;
  };
  std::map<std::string, Rest> resting_;  // GPUs where cuts failed: those that wait go elsewhere until then

  // Of the group that is being served.
  std::map<std::int64_t, Pending> pending_;  // by bundle
  std::map<std::string, Cut> cuts_;          // by GPU
  std::set<std::string> closed_;             // idle instances that are root's alone
  std::set<std::int64_t> changed_;
  std::vector<std::int64_t> dropped_;
  std::vector<Asked> asked_;
  std::vector<LeaseRecord> ended_;
  std::vector<api::Event> events_;
  std::vector<std::string> served_users_;

  lease::Geometries geometries_;
  std::map<std::int64_t, lease::Reservation> reserved_;  // room kept for those that wait, by bundle
  std::vector<LeaseRecord> told_ended_;
  std::vector<api::Event> told_events_;
};

}  // namespace partita::node
