// Doing a plan on the driver, step by step, each step in the journal before and after.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "node/context.h"
#include "node/planner.h"

namespace partita::node {

// One thing to do, as journaled.
struct Action {
  StepRecord record;
  plan::Step step;   // instance steps, in the indices of the GPU's board
  std::string text;  // "GPU 3: create 3g.20gb@4"
};

// What has to happen, in order: the destroys that mode changes and resets need, modes, resets, all other destroys, all
// creates. Destroys go first because the driver may refuse them: then nothing was cut yet.
std::vector<Action> actions_of(const std::vector<GpuWork>& works, const PlanOptions& options, int first_ordinal);
std::vector<StepRecord> records_of(const std::vector<Action>& actions);

class Executor {
 public:
  // `exact`: the operation's layouts are what must come out, also when the driver's tables differ from the catalog's.
  Executor(Context& context, Operation& operation, PlanOptions options, bool exact)
      : context_(context), operation_(operation), options_(options), exact_(exact) {}

  // Does all actions, whose intent the journal holds already. An error leaves the device between the two layouts:
  // the caller rolls back or leaves the journal open.
  Result<void> run(std::vector<GpuWork> works, std::vector<Action> actions);

 private:
  Result<void> change_modes();
  Result<void> set_mode(const Action& action);
  Result<void> reset(std::size_t first, std::size_t count);
  Result<void> plan_again(std::size_t done);
  Result<void> run_instance_steps(std::size_t first, std::size_t end);
  Result<void> run_instance_step(const Action& action);
  Result<void> do_instance_step(const Action& action);
  Result<void> destroy_compute(const Action& action, layout::Gpu& gpu);
  Result<void> destroy_gpu_instance(const Action& action, layout::Gpu& gpu);
  Result<void> create_gpu_instance(const Action& action, layout::Gpu& gpu);
  Result<void> create_compute(const Action& action, layout::Gpu& gpu);
  Result<void> check_interrupted() const;
  void announce(const Action& action, std::size_t position);
  void driver_changed(const char* what);
  layout::Gpu& gpu(const std::string& uuid);

  Context& context_;
  Operation& operation_;
  PlanOptions options_;
  bool exact_;
  std::vector<GpuWork> works_;
  std::vector<Action> actions_;
  std::size_t done_before_ = 0;        // actions done before the plan was made again
  std::vector<std::string> to_reset_;  // UUIDs whose mode change the driver answered with "reset required"
};

// Says what --force is going to destroy, before anything is.
void tell_hits(Context& context, const TargetPlan& plan);

// `driver` when a GPU of the operation is not as its new (or old) layout says.
Result<void> verify(const Operation& operation, bool forward, const layout::NodeState& state,
                    const std::vector<std::string>& without = {});

}  // namespace partita::node
