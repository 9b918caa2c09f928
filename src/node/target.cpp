#include "node/target.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "layout/profile_name.h"
#include "node/pins.h"
#include "node/records.h"
#include "plan/pack.h"

namespace partita::node {
namespace {

constexpr const char* kTurnsOn = "a layout with mig-enabled: true turns it on";

bool could_take_part(const layout::Gpu& gpu) { return !gpu.fault && gpu.mode && gpu.board && gpu.board->has_mig(); }
bool takes_part(const layout::Gpu& gpu) { return could_take_part(gpu) && gpu.mode && gpu.mode->current; }

// Silence about GPUs that are left out would look as if the node were full.
void warn_of_mode_off(const layout::NodeState& state, std::vector<std::string>& warnings) {
  std::vector<int> off;
  for (const layout::Gpu& gpu : state.gpus)
    if (could_take_part(gpu) && !takes_part(gpu)) off.push_back(gpu.index);
  if (off.empty()) return;
  const bool one = off.size() == 1;
  warnings.push_back(fmt::format("{} {} MIG mode off and {} no part; {}", layout::gpu_names(off), one ? "has" : "have",
                                 one ? "takes" : "take", kTurnsOn));
}

using Spellings = std::vector<std::optional<std::string>>;  // per GPU; nullopt: as asked

// Where some board spells the profile as asked, near names of other boards are other sizes and do not serve: a demand
// for 1g.6gb is the A30's, not an A100's 1g.5gb.
void keep_own_spelling(plan::DemandItem& item, const Spellings& spelled_here) {
  const auto as_asked = [&](std::size_t gpu) { return item.on_gpu[gpu] && !spelled_here[gpu]; };
  bool any = false;
  for (std::size_t g = 0; g < item.on_gpu.size(); ++g) any = any || as_asked(g);
  if (!any) return;
  for (std::size_t g = 0; g < item.on_gpu.size(); ++g)
    if (!as_asked(g)) item.on_gpu[g].reset();
}

Result<plan::DemandItem> item_of(const std::string& name, int count, const layout::NodeState& state,
                                 std::vector<std::string>& warnings) {
  if (count < 1)
    return fail(ErrorCode::invalid, fmt::format("{}: expected a count of at least 1, found {}", name, count));
  plan::DemandItem item{name, count, {}};
  Spellings spelled_here;
  std::optional<Error> first_error;
  bool found = false;
  for (const layout::Gpu& gpu : state.gpus) {
    item.on_gpu.emplace_back();
    spelled_here.emplace_back();
    if (!could_take_part(gpu)) continue;  // with MIG mode off too: the reason of a refusal may name it
    auto match = layout::find_profile(*gpu.board, name);
    if (!match) {
      if (!first_error) first_error = std::move(match).error();
      continue;
    }
    found = true;
    item.on_gpu.back() = layout::WantedInstance{match->profile, std::nullopt, {match->compute}, std::nullopt};
    spelled_here.back() = match->spelled_here;
  }
  if (!found && first_error) return std::unexpected(std::move(*first_error));
  keep_own_spelling(item, spelled_here);
  for (std::size_t g = 0; g < item.on_gpu.size(); ++g) {
    const std::optional<std::string>& here = spelled_here[g];
    if (!item.on_gpu[g] || !here || !takes_part(state.gpus[g])) continue;
    std::string warning = fmt::format("{} is called {} on this {}", name, *here, state.gpus[g].board->product);
    if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(std::move(warning));
  }
  return item;
}

}  // namespace

Result<layout::NodeTarget> resolve_demand(const api::DemandRequest& request, const layout::NodeState& state,
                                          bool force) {
  if (request.demand.empty()) return fail(ErrorCode::invalid, "nothing is asked for");
  layout::NodeTarget target;
  std::vector<plan::DemandItem> items;
  for (const auto& [name, count] : request.demand) items.push_back(TRY(item_of(name, count, state, target.warnings)));
  if (std::ranges::none_of(state.gpus, takes_part)) {
    std::vector<std::string> details;
    for (const layout::Gpu& gpu : state.gpus)
      details.push_back(fmt::format("{} ({}): {}", label(gpu), gpu.product,
                                    gpu.fault  ? *gpu.fault
                                    : gpu.mode ? "MIG mode is off"
                                               : "no MIG on this board"));
    return fail(ErrorCode::no_space,
                std::string("no GPU of this node has MIG mode on") +
                    (std::ranges::any_of(state.gpus, could_take_part) ? std::string("; ") + kTurnsOn : ""),
                std::move(details));
  }
  warn_of_mode_off(state, target.warnings);

  std::vector<layout::Gpu> gpus = state.gpus;
  if (force)
    for (layout::Gpu& gpu : gpus)
      for (layout::GpuInstance& instance : gpu.instances) instance.pins.clear();
  for (const plan::GpuPlan& gpu_plan : TRY(plan::pack(gpus, items)).gpus) {
    const auto gpu = std::ranges::find(state.gpus, gpu_plan.gpu, &layout::Gpu::uuid);
    layout::Gpu after = *gpu;
    after.instances = TRY(plan::replay(*gpu, plan::Geometry(*gpu->board), gpu_plan.steps));
    target.gpus.push_back(TRY(target_of(record_of(after), after)));
  }
  return target;
}

Result<layout::NodeTarget> resolve_wanted(const api::Wanted& wanted, const layout::NodeState& state) {
  if (const auto* request = std::get_if<api::LayoutRequest>(&wanted))
    return layout::resolve(request->label, state, request->file);
  if (const auto* request = std::get_if<api::CheckpointRequest>(&wanted))
    return layout::read_checkpoint(request->text, request->file, state);
  return fail(ErrorCode::internal, "a demand has no fixed target");
}

Result<layout::NodeTarget> resolve(const api::Wanted& wanted, const layout::NodeState& state, bool force) {
  if (const auto* request = std::get_if<api::DemandRequest>(&wanted)) return resolve_demand(*request, state, force);
  return resolve_wanted(wanted, state);
}

}  // namespace partita::node
