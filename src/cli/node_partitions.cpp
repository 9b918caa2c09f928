#include "cli/node_partitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

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
              fmt::format("no GPU of the node is a {}: it has {}", request.board, fmt::join(boards, ", ")));
}

Result<study::Held> whole_gpu(const study::PartitionRequest& request, const layout::NodeState& state) {
  for (const auto& gpu : state.gpus)
    if (on_board(gpu, request.board) && !gpu.fault && !(gpu.mode && gpu.mode->current))
      return held(fmt::format("GPU {}", gpu.index), gpu.uuid);
  return fail(ErrorCode::no_space, fmt::format("no GPU of the node is a {} with MIG off", request.board));
}

}  // namespace

std::string NodePartitions::label() const { return "emulated GPUs: not a measurement of a GPU"; }

bool NodePartitions::taken(const std::string& uuid) const {
  return std::ranges::any_of(taken_, [&](const Taken& each) { return each.uuid == uuid; });
}

Result<std::map<std::string, int>> NodePartitions::idle_ones() const {
  constexpr auto kPatience = std::chrono::seconds(5);
  constexpr auto kBetween = std::chrono::milliseconds(20);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    std::map<std::string, int> counts;
    const auto status = TRY(session_.node->status());
    for (const auto& gpu : status.state.gpus)
      for (const auto& instance : gpu.instances)
        for (const auto& each : taken_)
          if (!instance.pinned() && !instance.compute.empty() && instance.compute.front().uuid == each.uuid)
            ++counts[each.profile];
    if (counts.empty() || std::chrono::steady_clock::now() > end) return counts;
    std::this_thread::sleep_for(kBetween);
  }
}

Result<study::Held> NodePartitions::acquire(const study::PartitionRequest& request) {
  const auto state = TRY(session_.node->state());
  TRY_VOID(has_board(state, request));
  if (request.profile.empty()) return whole_gpu(request, state);
  auto counts = TRY(idle_ones());
  ++counts[request.profile];
  api::DemandRequest demand;
  for (const auto& [profile, count] : counts) demand.demand.emplace_back(profile, count);
  SilentProgress progress;
  const auto answer = session_.node->apply({session_.caller, demand, {}}, progress);
  if (!answer) return std::unexpected(answer.error());
  for (const auto& gpu : answer->after.gpus) {
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
  return fail(ErrorCode::no_space, fmt::format("no idle {} on a {} of the node", request.profile, request.board));
}

void NodePartitions::release(const study::Held& held) {
  std::erase_if(taken_, [&](const Taken& each) { return each.uuid == held.id; });
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
