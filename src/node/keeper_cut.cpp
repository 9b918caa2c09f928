// Cutting for leases: one journaled operation per GPU and group.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "node/executor.h"
#include "node/keeper.h"
#include "node/lock.h"

namespace partita::node {

using State = api::LeaseState;

constexpr auto kRest = std::chrono::seconds(10);  // of a GPU where a cut failed; twice as long each time
constexpr int kMostDoublings = 6;

GpuWork Keeper::work_of(const std::string& uuid, const Cut& cut) {
  GpuWork work;
  const layout::Gpu& after = *gpu(uuid);
  work.asked = {uuid, true, std::nullopt};
  work.change.before = cut.before;
  work.change.board = cut.before.board;
  work.change.plan.gpu = uuid;
  work.change.plan.steps = cut.steps;
  work.record = {uuid, record_of(cut.before), record_of(after)};
  return work;
}

// Returns whether something has to be planned again.
Result<bool> Keeper::cut(bool last) {
  std::vector<Operation> operations;
  std::vector<GpuWork> works;
  for (const auto& [uuid, cut] : cuts_) {
    works.push_back(work_of(uuid, cut));
    Operation& operation = operations.emplace_back();
    operation.epoch = context_.epoch;
    operation.pid = ::getpid();
    operation.command = own_command_;
    operation.gpus = {works.back().record};
    operation.steps = records_of(actions_of({works.back()}, PlanOptions{}, 1));
    // The journal does not follow each step of a cut: those that make something count as begun.
    for (StepRecord& step : operation.steps)
      if (step.kind == StepKind::create_gpu_instance) step.state = StepState::doing;
  }
  std::vector<Operation*> begun;
  for (Operation& operation : operations) begun.push_back(&operation);
  const std::map<std::string, Cut> cuts = cuts_;
  TRY_VOID(store("intent", begun));

  // From here on the node changes: what was done and what was undone is stored together.
  Ledger::Group group = TRY(parts_.ledger.group(false));
  context_.leased = book_.places(now_);
  bool again = false;
  for (std::size_t i = 0; i < works.size(); ++i)
    if (auto done = cut_gpu(operations[i], works[i]); !done) {
      TRY_VOID(settle_back(operations[i]));
      again |= take_cut_back(cuts.at(works[i].record.gpu), done.error(), last);
    } else {
      resting_.erase(works[i].record.gpu);
    }
  TRY_VOID(group.commit("cut"));
  TRY_VOID(look_again());
  return again;
}

Result<void> Keeper::cut_gpu(Operation& operation, const GpuWork& work) {
  Executor executor(context_, operation, PlanOptions{}, true);
  TRY_VOID(executor.run({work}, actions_of({work}, PlanOptions{}, 1)));
  const layout::Gpu live = TRY(parts_.driver.gpu(work.record.gpu));
  if (!is_as(live, work.record.new_layout, false))
    return fail(
        ErrorCode::driver,
        fmt::format("{}: all steps were done, but the driver shows another layout than was asked", label(live)));
  return parts_.ledger.end(operation.id, false, now_);
}

// Back to the old layout. What cannot be settled stays in the journal, and its GPU gets no leases until it is.
Result<void> Keeper::settle_back(const Operation& failed) {
  closed_.clear();  // what comes again comes with the driver's own permissions
  TRY_VOID(parts_.ledger.unmark(failed.id));
  for (Operation& operation : TRY(parts_.ledger.open_operations())) {
    if (operation.id != failed.id) continue;
    auto settled = node::settle(context_, std::move(operation), false);
    if (!settled) unfinished_.insert_or_assign(failed.gpus[0].gpu, settled.error());
    if (settled)
      for (const Unfinished& left : *settled) unfinished_.insert_or_assign(left.gpu, left.error);
  }
  return {};
}

// The leases that were to be on this GPU, and those asked together with them, have no place again. The driver's word is
// final: when it says that something is in use or there is no room, they are planned again from what it shows then.
bool Keeper::take_cut_back(const Cut& cut, const Error& error, bool last) {
  const bool again = !last && (error.code == ErrorCode::busy || error.code == ErrorCode::no_space);
  std::set<std::int64_t> bundles;
  for (const std::int64_t id : cut.leases)
    if (const LeaseRecord* const record = book_.find(id)) bundles.insert(record->bundle);
  for (const std::int64_t bundle : bundles) {
    for (LeaseRecord* record : book_.bundle(bundle)) {
      unpin(*record);
      wait_again(*record);
      changed(*record);
    }
    if (!again) refuse(bundle, in_context("cutting failed", error));
  }
  if (error.code == ErrorCode::driver) {
    Rest& rest = resting_[cut.before.uuid];
    rest.until = now_ + kRest * (1 << std::min(rest.failures++, kMostDoublings));
  }
  room_changed_ = true;
  return again;
}

// What the driver shows now, with the pins of what is granted next.
Result<void> Keeper::look_again() {
  context_.leased = book_.places(now_);
  state_ = TRY(read_node(context_));
  for (auto& [id, record] : book_.live())
    if (record.place && record.lease.state == State::cutting) pin(record);
  for (const LeaseRecord* kept : kept_rooms()) pin(*kept);
  return {};
}

}  // namespace partita::node
