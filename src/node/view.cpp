#include "node/view.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "node/book.h"
#include "node/ledger.h"
#include "node/lock.h"
#include "node/paths.h"
#include "node/pins.h"
#include "node/planner.h"
#include "node/recover.h"
#include "node/target.h"

namespace partita::node {
namespace {

struct Marks {
  std::vector<OwnedInstance> owned;
  std::vector<LeasedPlace> leased;
  std::vector<OperationGpu> being_made;
};

// What an operation that is under way makes, or puts back, belongs to nobody else.
void unpin_being_made(layout::NodeState& state, const std::vector<OperationGpu>& being_made) {
  const auto in = [](const LayoutRecord& layout, int profile, int start) {
    return layout.instances && std::ranges::any_of(*layout.instances, [&](const InstanceRecord& one) {
             return one.profile == profile && one.start == start && !one.foreign;
           });
  };
  const auto makes = [&](const OperationGpu& work, const layout::Gpu& gpu, const layout::GpuInstance& instance) {
    const int profile = gpu.board->profiles[static_cast<std::size_t>(instance.profile)].nvml_profile;
    const int start = instance.placement.start;
    return work.gpu == gpu.uuid && (in(work.new_layout, profile, start) || in(work.old_layout, profile, start));
  };
  for (layout::Gpu& gpu : state.gpus)
    for (layout::GpuInstance& instance : gpu.instances)
      if (std::ranges::any_of(being_made, [&](const auto& work) { return makes(work, gpu, instance); }))
        unpin_foreign(instance);
}

Result<Marks> read_marks(const Options& options, Time now, std::vector<std::string>& notes) {
  Ledger ledger = TRY(Ledger::open(ledger_file(options), Database::Access::read));
  const auto operations = TRY(ledger.open_operations());
  if (const auto holder = lock_holder(lock_file(options)); holder && !operations.empty())
    notes.push_back(fmt::format("{} is changing this node now", to_string(*holder)));
  else
    for (const Operation& operation : operations)
      notes.push_back(fmt::format("unfinished: {}; the next apply finishes it or rolls it back", describe(operation)));
  Marks marks{TRY(ledger.owned(read_epoch(options.driver.device_root))), TRY(Book::load(ledger)).places(now), {}};
  for (const Operation& operation : operations) std::ranges::copy(operation.gpus, std::back_inserter(marks.being_made));
  return marks;
}

}  // namespace

Result<View> look(driver::Driver& driver, const Options& options, Time now, bool adopt) {
  View view{TRY(driver.state()), {}};
  Marks marks;
  if (std::error_code unused; std::filesystem::exists(ledger_file(options), unused)) {
    auto read = read_marks(options, now, view.notes);
    if (!read && read.error().code == ErrorCode::denied)
      view.notes.push_back(fmt::format("who made the instances is not known to this user: {}", read.error().message));
    else
      marks = TRY(std::move(read));
  }
  set_pins(view.state, marks.owned, {.adopt = adopt, .refused = {}, .leased = marks.leased});
  unpin_being_made(view.state, marks.being_made);
  return view;
}

api::StatusAnswer status_of(View view, const Options& options) {
  for (const layout::Gpu& gpu : view.state.gpus)
    if (gpu.mode && gpu.mode->current != gpu.mode->pending)
      view.notes.push_back(
          fmt::format("{}: MIG mode will be {} after a reset", label(gpu), gpu.mode->pending ? "on" : "off"));
  return api::StatusAnswer{std::move(view.state), options.name, options.emulated, std::move(view.notes)};
}

Result<api::NodePlanAnswer> plan_of(View view, const api::PlanRequest& request) {
  const api::ChangeOptions& options = request.options;
  layout::NodeTarget target = TRY(resolve(request.wanted, view.state, options.force));
  const TargetPlan planned =
      TRY(plan_targets(view.state, target.gpus,
                       {.mode_only = options.mode_only, .skip_reset = options.skip_reset, .force = options.force}));
  std::ranges::move(view.notes, std::back_inserter(target.warnings));
  for (const std::string& hit : planned.hits)
    target.warnings.push_back(fmt::format("--force: this would be destroyed: {}", hit));
  return answer_of(view.state, planned, std::move(target.warnings));
}

Result<lease::Policy> load_policy(const Options& options) {
  std::error_code unused;
  if (options.policy_file.empty() || !std::filesystem::exists(options.policy_file, unused)) return lease::Policy{};
  return lease::read_policy(TRY(read_file(options.policy_file, 1u << 20)), options.policy_file.string());
}

std::vector<std::string> unknown_names(const lease::Policy& policy) {
  std::vector<std::string> unknown;
  const auto look = [&](const auto& limits, std::string_view what, auto find) {
    for (const auto& [name, limit] : limits) {
      errno = 0;
      const bool known = find(name.c_str()) != nullptr;
      const bool cannot_tell = errno != 0 && errno != ENOENT && errno != ESRCH;
      if (known || cannot_tell) continue;
      unknown.push_back(fmt::format("{}:{}: this machine knows no {} {}", policy.file, limit.line, what, quote(name)));
    }
  };
  look(policy.users, "user", [](const char* name) { return ::getpwnam(name); });
  look(policy.groups, "group", [](const char* name) { return ::getgrnam(name); });
  return unknown;
}

api::PolicyAnswer policy_answer(const lease::Policy& policy, const api::Caller& caller, const lease::Usages& usages) {
  const lease::DurationLimits limits = lease::duration_limits(policy, caller);
  return {policy.file, lease::explain(policy, caller, usages), limits.standard, limits.longest};
}

bool asked_for(const api::LeaseQuery& query, const api::Lease& lease) {
  return (query.name.empty() || lease.name == query.name) && (query.user.empty() || lease.holder.user == query.user) &&
         lease.id > query.after;
}

}  // namespace partita::node
