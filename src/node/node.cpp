#include "node/node.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "node/check.h"
#include "node/doctor.h"
#include "node/keeper.h"
#include "node/lease_verbs.h"
#include "node/ledger.h"
#include "node/lock.h"
#include "node/paths.h"
#include "node/signals.h"
#include "node/view.h"

namespace partita::node {
namespace {

constexpr std::chrono::milliseconds kFirstPause(5), kLongestPause(200);
constexpr std::chrono::seconds kKilledWithin(2);  // a process ends soon after SIGKILL, or hangs in the kernel

class LocalNode final : public LeaseVerbs<api::Node> {
 public:
  LocalNode(driver::Driver driver, const Clock& clock, Options options)
      : driver_(std::move(driver)), clock_(clock), options_(std::move(options)) {}

  Result<api::StatusAnswer> status() override {
    return status_of(TRY(look(driver_, options_, clock_.now(), false)), options_);
  }
  Result<api::NodePlanAnswer> plan(const api::PlanRequest& request) override {
    return plan_of(TRY(look(driver_, options_, clock_.now(), request.options.adopt)), request);
  }
  Result<api::AssertAnswer> check(const api::PlanRequest& request) override {
    return check_node(TRY(look(driver_, options_, clock_.now(), request.options.adopt)).state, request);
  }
  Result<layout::NodeState> state() override { return TRY(look(driver_, options_, clock_.now(), false)).state; }
  Result<api::DoctorAnswer> doctor() override { return diagnose(options_, &driver_, nullptr); }

  Result<api::ApplyAnswer> apply(const api::PlanRequest& request, Progress& progress) override {
    TRY_VOID(may_change(request.caller));
    Operating operating(*this);
    TRY_VOID(operating.begin(request.options.no_wait, progress));
    auto answer = operating.keeper->apply(request, progress, std::move(operating.recovered));
    return operating.end(std::move(answer));
  }

  Result<std::vector<api::Lease>> leases(const api::LeaseQuery& query) override {
    if (!has_ledger()) return std::vector<api::Lease>{};
    Ledger ledger = TRY(Ledger::open(ledger_file(options_), Database::Access::read));
    LeaseLedger rows(ledger);
    std::vector<LeaseRecord> records = TRY(rows.live());
    if (query.ended) std::ranges::move(TRY(rows.ended(kEndedKept)), std::back_inserter(records));
    std::ranges::sort(records, {}, [](const LeaseRecord& record) { return record.lease.id; });
    Handover handover(driver_, options_);
    const layout::NodeState state = TRY(driver_.state());
    std::vector<api::Lease> result;
    for (LeaseRecord& record : records) {
      if (!asked_for(query, record.lease)) continue;
      if (record.place && holds_partition(record.lease.state))
        if (const auto at = std::ranges::find(state.gpus, record.place->gpu, &layout::Gpu::uuid);
            at != state.gpus.end())
          if (auto grant = handover.grant_of(*at, *record.place)) record.lease.grant = *std::move(grant);
      result.push_back(std::move(record.lease));
      if (query.limit > 0 && std::ssize(result) == query.limit) break;
    }
    return result;
  }
  // Nobody else would end what does not end by itself. The lock is free meanwhile.
  Result<api::Lease> release(const api::LeaseChange& change) override {
    const auto end = std::chrono::steady_clock::now() + change.grace;
    api::LeaseChange next = change;
    api::Lease lease = TRY(LeaseVerbs::release(change));
    for (auto pause = kFirstPause; lease.state == api::LeaseState::releasing;
         pause = std::min(pause * 2, kLongestPause)) {
      const auto now = std::chrono::steady_clock::now();
      if (now >= end + kKilledWithin) break;
      if (now >= end) next.grace = std::chrono::milliseconds(0);
      std::this_thread::sleep_for(pause);
      auto released = LeaseVerbs::release(next);
      const bool ended = !released && released.error().code == ErrorCode::not_found;
      lease = ended ? TRY(ended_lease(lease)) : TRY(std::move(released));
    }
    return lease;
  }
  // Nobody else changes the node meanwhile, so there is nothing to wait for.
  Result<std::vector<api::Event>> events(const api::EventQuery& query) override {
    if (!has_ledger()) return std::vector<api::Event>{};
    Ledger ledger = TRY(Ledger::open(ledger_file(options_), Database::Access::read));
    return LeaseLedger(ledger).events(query.after, query.limit > 0 ? query.limit : kEventsKept);
  }
  Result<api::PolicyAnswer> policy(const api::Caller& caller) override {
    const lease::Policy policy = TRY(load_policy(options_));
    lease::Usages usages;
    if (has_ledger()) {
      Ledger ledger = TRY(Ledger::open(ledger_file(options_), Database::Access::read));
      usages = TRY(Book::load(ledger)).usages();
    }
    return policy_answer(policy, caller, usages);
  }

 private:
  // The lock, the ledger and the leases, for one operation.
  struct Operating {
    explicit Operating(LocalNode& local) : node(local) {}
    Result<void> begin(bool no_wait, Progress& progress) {
      TRY_VOID(node.make_state_folder());
      auto taken = take_lock(lock_file(node.options_), own_command(), no_wait, node.options_.lock_timeout, progress);
      if (!taken) return std::unexpected(node.with_owner(std::move(taken).error()));
      lock.emplace(*std::move(taken));
      if (!node.options_.emulated) keep_private(ledger_file(node.options_));
      ledger = std::make_unique<Ledger>(
          TRY(Ledger::open(ledger_file(node.options_), Database::Access::write, node.options_.on_event)));
      keeper = std::make_unique<Keeper>(Keeper::Parts{node.driver_, *ledger, node.clock_, node.options_},
                                        TRY(load_policy(node.options_)), false);
      recovered = TRY(keeper->open(progress));
      return {};
    }
    template <class T>
    Result<T> end(Result<T> result) {
      if (auto closed = keeper->close(); !closed && result) return std::unexpected(std::move(closed).error());
      return result;
    }

    LocalNode& node;
    const SignalsWait signals_wait{};  // what has begun comes to its end
    std::optional<Lock> lock;
    std::unique_ptr<Ledger> ledger;
    std::unique_ptr<Keeper> keeper;
    Recovered recovered;
  };

  Result<std::vector<api::Lease>> serve(LeaseCall& call, const api::Caller& caller) override {
    TRY_VOID(may_change(caller));
    SilentProgress silent;
    Operating operating(*this);
    TRY_VOID(operating.begin(false, silent));
    LeaseCall* const calls[] = {&call};
    TRY_VOID(operating.keeper->serve(calls, true));
    return operating.end(call.take());
  }
  // It ended before it was asked again.
  Result<api::Lease> ended_lease(const api::Lease& lease) {
    for (api::Lease& found : TRY(leases({{}, lease.name, "", true, lease.id - 1, 1})))
      if (found.id == lease.id) return std::move(found);
    return fail(ErrorCode::not_found, fmt::format("lease {} has ended", lease.name));
  }

  static Result<void> may_change(const api::Caller& caller) {
    if (caller.administrator) return {};
    return fail(ErrorCode::denied,
                fmt::format("{} (uid {}) may not change this node: run as root or ask an administrator",
                            caller.name.empty() ? "this user" : caller.name, caller.uid));
  }

  // Who may not be the node can still ask one.
  Error with_owner(Error error) const {
    struct stat folder{};
    if (error.code != ErrorCode::denied || stat(options_.state_dir.c_str(), &folder) != 0 || geteuid() == 0 ||
        geteuid() == folder.st_uid)
      return error;
    error.details.push_back(fmt::format(
        "the node is uid {}'s: with a daemon of theirs (partita serve) this user asks it, by itself or with --server "
        "SOCKET",
        folder.st_uid));
    return error;
  }

  Result<void> make_state_folder() const {
    std::error_code error;
    std::filesystem::create_directories(options_.state_dir, error);
    if (!error) return {};
    const bool denied = error == std::errc::permission_denied || error == std::errc::read_only_file_system;
    return fail(denied ? ErrorCode::denied : ErrorCode::unavailable,
                fmt::format("{}: the state folder cannot be made: {}", options_.state_dir.string(), error.message()));
  }
  bool has_ledger() const {
    std::error_code unused;
    return std::filesystem::exists(ledger_file(options_), unused);
  }

  driver::Driver driver_;
  const Clock& clock_;
  Options options_;
};

}  // namespace

Result<std::unique_ptr<api::Node>> open_node(catalog::Catalog& catalog, const Clock& clock, Options options) {
  driver::Driver driver = TRY(driver::Driver::open(catalog, options.driver));
  return std::make_unique<LocalNode>(std::move(driver), clock, std::move(options));
}

std::optional<std::filesystem::path> daemon_socket(const Options& options) {
  auto holder = lock_holder(lock_file(options));
  if (!holder || holder->socket.empty()) return std::nullopt;
  return std::move(holder->socket);
}

api::DoctorAnswer examine(catalog::Catalog& catalog, const Options& options) {
  auto driver = driver::Driver::open(catalog, options.driver);
  if (driver) return diagnose(options, &*driver, nullptr);
  return diagnose(options, nullptr, &driver.error());
}

}  // namespace partita::node
