#include "node/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "node/apply.h"
#include "node/check.h"
#include "node/doctor.h"
#include "node/ledger.h"
#include "node/lock.h"
#include "node/paths.h"
#include "node/pins.h"
#include "node/planner.h"
#include "node/recover.h"
#include "node/target.h"

namespace partita::node {
namespace {

// What one look at the node shows, without the lock.
struct View {
  layout::NodeState state;  // with pins
  std::vector<std::string> notes;
};

class LocalNode final : public api::Node {
 public:
  LocalNode(driver::Driver driver, const Clock& clock, Options options)
      : driver_(std::move(driver)), clock_(clock), options_(std::move(options)) {}

  Result<api::StatusAnswer> status() override {
    View view = TRY(look(false));
    for (const layout::Gpu& gpu : view.state.gpus)
      if (gpu.mode && gpu.mode->current != gpu.mode->pending)
        view.notes.push_back(
            fmt::format("{}: MIG mode will be {} after a reset", label(gpu), gpu.mode->pending ? "on" : "off"));
    return api::StatusAnswer{std::move(view.state), options_.name, options_.emulated, std::move(view.notes)};
  }

  Result<api::NodePlanAnswer> plan(const api::PlanRequest& request) override {
    const api::ChangeOptions& options = request.options;
    View view = TRY(look(options.adopt));
    layout::NodeTarget target = TRY(resolve(request.wanted, view.state, options.force));
    const TargetPlan planned =
        TRY(plan_targets(view.state, target.gpus,
                         {.mode_only = options.mode_only, .skip_reset = options.skip_reset, .force = options.force}));
    std::ranges::move(view.notes, std::back_inserter(target.warnings));
    for (const std::string& hit : planned.hits)
      target.warnings.push_back(fmt::format("--force: this would be destroyed: {}", hit));
    return answer_of(view.state, planned, std::move(target.warnings));
  }

  Result<api::ApplyAnswer> apply(const api::PlanRequest& request, Progress& progress) override {
    TRY_VOID(may_change(request.caller));
    TRY_VOID(make_state_folder());
    const Lock lock =
        TRY(take_lock(lock_file(options_), own_command(), request.options.no_wait, options_.lock_timeout, progress));
    Ledger ledger = TRY(Ledger::open(ledger_file(options_), Database::Access::write, options_.on_event));
    Context context{driver_,  ledger, clock_, options_, read_epoch(options_.driver.device_root),
                    progress, false,  false,  {}};
    return apply_locked(context, request);
  }

  Result<api::AssertAnswer> check(const api::PlanRequest& request) override {
    return check_node(TRY(look(request.options.adopt)).state, request);
  }

  Result<layout::NodeState> state() override { return TRY(look(false)).state; }

  Result<api::DoctorAnswer> doctor() override { return diagnose(options_, &driver_, nullptr); }

 private:
  static Result<void> may_change(const api::Caller& caller) {
    if (caller.administrator) return {};
    return fail(ErrorCode::denied,
                fmt::format("{} (uid {}) may not change this node: run as root or ask an administrator",
                            caller.name.empty() ? "this user" : caller.name, caller.uid));
  }

  Result<void> make_state_folder() const {
    std::error_code error;
    std::filesystem::create_directories(options_.state_dir, error);
    if (!error) return {};
    const bool denied = error == std::errc::permission_denied || error == std::errc::read_only_file_system;
    return fail(denied ? ErrorCode::denied : ErrorCode::unavailable,
                fmt::format("{}: the state folder cannot be made: {}", options_.state_dir.string(), error.message()));
  }

  Result<View> look(bool adopt) {
    View view{TRY(driver_.state()), {}};
    std::vector<OwnedInstance> owned;
    if (std::error_code unused; std::filesystem::exists(ledger_file(options_), unused)) {
      auto read = read_ledger(view);
      if (!read && read.error().code == ErrorCode::denied)
        view.notes.push_back(fmt::format("who made the instances is not known to this user: {}", read.error().message));
      else
        owned = TRY(std::move(read));
    }
    set_pins(view.state, owned, {.adopt = adopt, .refused = {}});
    return view;
  }

  Result<std::vector<OwnedInstance>> read_ledger(View& view) const {
    Ledger ledger = TRY(Ledger::open(ledger_file(options_), Database::Access::read));
    const auto operations = TRY(ledger.open_operations());
    if (const auto holder = lock_holder(lock_file(options_)); holder && !operations.empty())
      view.notes.push_back(fmt::format("{} is changing this node now", to_string(*holder)));
    else
      for (const Operation& operation : operations)
        view.notes.push_back(
            fmt::format("unfinished: {}; the next apply finishes it or rolls it back", describe(operation)));
    return ledger.owned(read_epoch(options_.driver.device_root));
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

api::DoctorAnswer examine(catalog::Catalog& catalog, const Options& options) {
  auto driver = driver::Driver::open(catalog, options.driver);
  if (driver) return diagnose(options, &*driver, nullptr);
  return diagnose(options, nullptr, &driver.error());
}

}  // namespace partita::node
