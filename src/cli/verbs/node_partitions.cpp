#include "cli/verbs/node_partitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "layout/checkpoint_file.h"

namespace partita::cli {
namespace {

study::Held held(std::string name, const std::string& uuid) {
  return {std::move(name), {{"CUDA_VISIBLE_DEVICES", uuid}}, uuid};
}

bool on_board(const layout::Gpu& gpu, const std::string& board) {
  return board.empty() || (gpu.board && gpu.board->id == board);
}

// A node without that board would be cut in vain.
Result<void> has_board(const layout::NodeState& state, const study::PartitionRequest& request) {
  std::vector<std::string> boards;
  for (const auto& gpu : state.gpus) {
    if (on_board(gpu, request.board)) return {};
    if (gpu.board && std::ranges::find(boards, gpu.board->id) == boards.end()) boards.push_back(gpu.board->id);
  }
  return fail(ErrorCode::no_space,
              fmt::format("no GPU of the node is of board {}: it has {}", request.board, fmt::join(boards, ", ")));
}

Result<study::Held> whole_gpu(const study::PartitionRequest& request, const layout::NodeState& state) {
  for (const auto& gpu : state.gpus)
    if (on_board(gpu, request.board) && !gpu.fault && !(gpu.mode && gpu.mode->current))
      return held(fmt::format("GPU {}", gpu.index), gpu.uuid);
  return fail(ErrorCode::no_space, fmt::format("no GPU of the node is of board {} with MIG off", request.board));
}

}  // namespace

std::string NodePartitions::label() const { return "emulated GPUs: not a measurement of a GPU"; }

bool NodePartitions::taken(const std::string& uuid) const {
  return std::ranges::any_of(taken_, [&](const Taken& each) { return each.uuid == uuid; });
}

Result<layout::NodeState> NodePartitions::make(const std::string& profile) {
  std::map<std::string, int> counts;
  for (const auto& each : taken_) ++counts[each.profile];
  ++counts[profile];
  api::DemandRequest demand;
  for (const auto& [name, count] : counts) demand.demand.emplace_back(name, count);
  SilentProgress progress;
  auto answer = TRY(session_.node->apply({session_.caller, demand, {}}, progress));
  for (const auto& change : answer.plan.changes) changed_.insert(change.before.uuid);
  return std::move(answer.after);
}

Result<study::Held> NodePartitions::acquire(const study::PartitionRequest& request) {
  const auto state = TRY(session_.node->state());
  if (changed_.empty()) before_ = state;
  TRY_VOID(has_board(state, request));
  if (request.profile.empty()) return whole_gpu(request, state);
  const auto after = TRY(make(request.profile));
  for (const auto& gpu : after.gpus) {
    if (!on_board(gpu, request.board) || !gpu.board) continue;
    for (const auto& instance : gpu.instances) {
      const auto profile = static_cast<std::size_t>(instance.profile);
      if (instance.compute.empty() || instance.pinned() || profile >= gpu.board->profiles.size()) continue;
      const auto& uuid = instance.compute.front().uuid;
      if (gpu.board->profiles[profile].name != request.profile || taken(uuid)) continue;
      taken_.push_back({uuid, request.profile});
      return held(fmt::format("{} on GPU {}", request.profile, gpu.index), uuid);
    }
  }
  if (taken_.empty()) TRY_VOID(restore());
  return fail(ErrorCode::no_space, fmt::format("no idle {} on a {} of the node", request.profile, request.board));
}

Result<void> NodePartitions::release(const study::Held& held) {
  std::erase_if(taken_, [&](const Taken& each) { return each.uuid == held.id; });
  return taken_.empty() ? restore() : Result<void>{};
}

// Only the GPUs that were changed: others may have been changed by others since.
Result<void> NodePartitions::restore() {
  if (changed_.empty()) return {};
  layout::NodeState wanted = before_;
  std::erase_if(wanted.gpus, [&](const layout::Gpu& gpu) { return !changed_.contains(gpu.uuid); });
  const api::CheckpointRequest request{layout::write_checkpoint(wanted), "the layout before the measured run"};
  SilentProgress progress;
  const auto answer = session_.node->apply({session_.caller, request, {}}, progress);
  if (!answer) return std::unexpected(in_context("the partitions are not given back", answer.error()));
  changed_.clear();
  return {};
}

std::vector<std::string> held_on_emulated(const std::string& program, const std::string& node,
                                          const std::vector<std::string>& command) {
  std::vector<std::string> out = {"/bin/sh", "-c", R"(program=$0 node=$1; shift
exec "$program" emulate hold --node "$node" "$CUDA_VISIBLE_DEVICES" -- "$@")",
                                  program, node};
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

}  // namespace partita::cli
