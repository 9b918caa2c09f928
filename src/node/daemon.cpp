// The node of a daemon: one conductor thread serves calls in groups; readers look at what it published last.
#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

#include "node/check.h"
#include "node/doctor.h"
#include "node/keeper.h"
#include "node/kept_file.h"
#include "node/lease_verbs.h"
#include "node/ledger.h"
#include "node/lock.h"
#include "node/paths.h"
#include "node/pins.h"
#include "node/published.h"
#include "node/view.h"
#include "node/wake.h"

namespace partita::node {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kTick(1000);         // how often it looks at what nobody tells
constexpr milliseconds kReleasingTick(50);  // while something is being ended
constexpr milliseconds kFresh(100);         // what was published is told as it is for so long

// A call that waits for the conductor: about leases, or work of another kind.
struct Task {
  LeaseCall* call = nullptr;
  std::function<void(Keeper&)> work;
  Result<void> done;  // of `work`: that it was not done

  void refuse(const Error& error) {
    if (call != nullptr)
      call->error = error;
    else
      done = std::unexpected(error);
    end();
  }

  void end() {
    const std::scoped_lock lock(mutex);
    ended = true;
    changed.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return ended; });
  }

 private:
  std::mutex mutex;
  std::condition_variable changed;  // sleeps at once, where a semaphore of the library tries for a while first
  bool ended = false;
};

class Daemon final : public LeaseVerbs<DaemonNode> {
 public:
  Daemon(driver::Driver driver, driver::Driver reader, Lock lock, Ledger ledger, const Clock& clock, Options options)
      : lock_(std::move(lock)),
        options_(std::move(options)),
        clock_(clock),
        driver_(std::move(driver)),
        reader_(std::move(reader)),
        ledger_(std::move(ledger)),
        ledger_file_(ledger_file(options_)) {}
  ~Daemon() override {
    thread_.request_stop();
    wake_.wake();
    if (thread_.joinable()) thread_.join();
    if (keeper_) (void)keeper_->close();
  }

  Result<void> start() {
    keeper_ =
        std::make_unique<Keeper>(Keeper::Parts{driver_, ledger_, clock_, options_}, TRY(load_policy(options_)), true);
    TRY_VOID(wake_.open());
    TRY_VOID(keeper_->open());
    TRY_VOID(published_.load(ledger_));
    TRY_VOID(keeper_->serve({}, true));
    publish();
    thread_ = std::jthread([this](const std::stop_token& stop) { conduct(stop); });
    return {};
  }

  Result<api::StatusAnswer> status() override { return status_of(TRY(view(false)), options_); }
  Result<api::NodePlanAnswer> plan(const api::PlanRequest& request) override {
    return plan_of(TRY(view(request.options.adopt)), request);
  }
  Result<api::AssertAnswer> check(const api::PlanRequest& request) override {
    return check_node(TRY(view(request.options.adopt)).state, request);
  }
  Result<layout::NodeState> state() override { return TRY(view(false)).state; }
  Result<api::DoctorAnswer> doctor() override {
    const std::scoped_lock reading(reader_mutex_);
    return diagnose(options_, &reader_, nullptr);
  }
  Result<api::ApplyAnswer> apply(const api::PlanRequest& request, Progress& progress) override {
    if (!request.caller.administrator)
      return fail(ErrorCode::denied,
                  fmt::format("{} may not change this node: ask an administrator", request.caller.name));
    Result<api::ApplyAnswer> answer;
    TRY_VOID(run([&](Keeper& keeper) { answer = keeper.apply(request, progress, {}); }));
    return answer;
  }

  Result<std::vector<api::Lease>> leases(const api::LeaseQuery& query) override { return published_.leases(query); }
  Result<std::vector<api::Event>> events(const api::EventQuery& query) override { return published_.events(query); }
  Result<api::PolicyAnswer> policy(const api::Caller& caller) override {
    api::PolicyAnswer answer;
    TRY_VOID(run([&](Keeper& keeper) { answer = policy_answer(keeper.policy(), caller, keeper.book().usages()); }));
    return answer;
  }
  Result<api::Measures> measures() override { return published_.look().measures; }
  Result<void> reload() override {
    lease::Policy policy = TRY(load_policy(options_));
    return run([&](Keeper& keeper) { keeper.set_policy(std::move(policy)); });
  }

  std::vector<std::string> policy_warnings() override {
    lease::Policy policy;
    (void)run([&](Keeper& keeper) { policy = keeper.policy(); });
    return unknown_names(policy);
  }

  Result<void> grounded() override {
    const bool ledger = ledger_file_.stands();
    if (ledger && lock_.stands()) return {};
    return fail(ErrorCode::unavailable,
                fmt::format("{} was removed or replaced while the daemon had it: it grants nothing more, because what "
                            "it stores would be lost; start it again",
                            (ledger ? lock_file(options_) : ledger_file_.path()).string()));
  }

 private:
  Result<std::vector<api::Lease>> serve(LeaseCall& call, const api::Caller& /*caller*/) override {
    Task task;
    task.call = &call;
    wait_for(task);
    return call.take();
  }
  Result<void> run(std::function<void(Keeper&)> work) {
    Task task;
    task.work = std::move(work);
    wait_for(task);
    return std::move(task.done);
  }
  void wait_for(Task& task) {
    {
      const std::scoped_lock lock(queue_mutex_);
      queue_.push_back(&task);
      if (queue_.size() == 1) wake_.wake();
    }
    task.wait();
  }

  // What was published, or a look of one's own when that is old.
  Result<View> view(bool adopt) {
    Published::Look look = published_.look();
    if (Steady::now() - look.at > kFresh) {
      const std::scoped_lock reading(reader_mutex_);
      layout::NodeState state = TRY(reader_.state());
      const bool at_work = at_work_;  // asked before the look: what an earlier group made is in it
      look = published_.look();
      set_pins(state, look.owned(), {.adopt = false, .refused = {}, .leased = *look.leased});
      if (at_work) unpin_new(state, *look.state);
      look.state = std::make_shared<const layout::NodeState>(std::move(state));
    }
    View view{*look.state, *look.notes};
    if (adopt)
      for (layout::Gpu& gpu : view.state.gpus)
        for (layout::GpuInstance& instance : gpu.instances) unpin_foreign(instance);
    return view;
  }
  // While the conductor cuts, what nobody knew before is its work.
  static void unpin_new(layout::NodeState& state, const layout::NodeState& before) {
    for (layout::Gpu& gpu : state.gpus) {
      const auto known = std::ranges::find(before.gpus, gpu.uuid, &layout::Gpu::uuid);
      for (layout::GpuInstance& instance : gpu.instances) {
        const bool was_there =
            known != before.gpus.end() && std::ranges::any_of(known->instances, [&](const layout::GpuInstance& old) {
              return old.id == instance.id && old.profile == instance.profile && old.placement == instance.placement;
            });
        if (!was_there) unpin_foreign(instance);
      }
    }
  }

  void conduct(const std::stop_token& stop) {
    auto next_tick = Steady::now() + kTick;
    while (!stop.stop_requested()) {
      const auto left = std::chrono::ceil<milliseconds>(next_tick - Steady::now());
      const bool ended = wake_.wait(std::max(left, milliseconds(0)));
      std::vector<Task*> tasks;
      {
        const std::scoped_lock lock(queue_mutex_);
        tasks.swap(queue_);
      }
      const bool tick = ended || Steady::now() >= next_tick;
      serve_group(tasks, tick);
      if (tick) next_tick = Steady::now() + (releasing_ ? kReleasingTick : kTick);
    }
    // Nobody waits for an answer that does not come.
    const std::scoped_lock lock(queue_mutex_);
    for (Task* task : queue_) task->refuse(Error{ErrorCode::unavailable, "the daemon is stopping", {}});
    queue_.clear();
  }

  void serve_group(const std::vector<Task*>& tasks, bool tick) {
    if (const auto grounded = this->grounded(); !grounded) {
      for (Task* task : tasks) task->refuse(grounded.error());
      if (!lost_ && options_.on_lost) options_.on_lost();
      lost_ = true;
      return;
    }
    std::vector<LeaseCall*> calls;
    for (Task* task : tasks)
      if (task->call != nullptr) calls.push_back(task->call);
    at_work_ = true;
    if (tick || !calls.empty()) (void)keeper_->serve(calls, tick);
    for (Task* task : tasks)
      if (task->work) task->work(*keeper_);
    publish();
    at_work_ = false;
    for (Task* task : tasks) task->end();
  }

  void publish() {
    if (keeper_->stale()) return;  // what was told last is still so: nothing of this group was stored
    published_.publish(*keeper_, clock_.now());
    wake_.watch(keeper_->book());
    releasing_ = std::ranges::any_of(keeper_->book().live(), [](const auto& entry) {
      return entry.second.lease.state == api::LeaseState::releasing;
    });
  }

  Lock lock_;
  Options options_;
  const Clock& clock_;
  driver::Driver driver_;
  driver::Driver reader_;
  std::mutex reader_mutex_;
  Ledger ledger_;
  KeptFile ledger_file_;
  bool lost_ = false;
  std::unique_ptr<Keeper> keeper_;
  Published published_;
  Wake wake_;
  bool releasing_ = false;
  std::atomic<bool> at_work_ = false;  // on a group that is not published yet

  std::mutex queue_mutex_;
  std::vector<Task*> queue_;
  std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<DaemonNode>> open_daemon(catalog::Catalog& catalog, const Clock& clock, Options options,
                                                const std::filesystem::path& socket, Progress* progress) {
  std::error_code error;
  std::filesystem::create_directories(options.state_dir, error);
  if (error)
    return fail(ErrorCode::denied,
                fmt::format("{}: the state folder cannot be made: {}", options.state_dir.string(), error.message()));
  SilentProgress silent;
  Progress& told = progress != nullptr ? *progress : silent;
  Lock lock = TRY(take_lock(lock_file(options), own_command(), false, options.lock_timeout, told, socket));
  driver::Driver driver = TRY(driver::Driver::open(catalog, options.driver));
  driver::Driver reader = TRY(driver::Driver::open(catalog, options.driver));
  if (!options.emulated) keep_private(ledger_file(options));
  Ledger ledger = TRY(Ledger::open(ledger_file(options), Database::Access::write, options.on_event));
  auto daemon = std::make_unique<Daemon>(std::move(driver), std::move(reader), std::move(lock), std::move(ledger),
                                         clock, std::move(options));
  TRY_VOID(daemon->start());
  return daemon;
}

}  // namespace partita::node
