// A defragmentation of a node: for people and for programs.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/draw/terminal.h"
#include "fleet/defrag/defrag.h"
#include "layout/layout.h"

namespace partita::cli {

struct DefragAnswer {
  layout::NodeState before, after;  // all GPUs
  std::vector<std::size_t> gpus;    // of those in the plan: position in before.gpus
  std::string wanted;               // "3g.20gb"; "": all profiles
  std::optional<std::int64_t> enough;
  fleet::DefragPlan plan;
  std::vector<std::string> commands;  // that bring it about, in order
  std::optional<std::string> file;    // the layout afterwards
};

// The instance that a move takes.
const layout::GpuInstance& moved(const DefragAnswer& answer, const fleet::DefragMove& move);
const layout::Gpu& gpu_of(const DefragAnswer& answer, int gpu);
// Positions in before.gpus that moves come from or go to.
std::set<std::size_t> changed_gpus(const DefragAnswer& answer);
// "lease alice", or "" where nobody has it.
std::string holder_of(const layout::GpuInstance& instance);
// "nobody: it is idle".
std::string cost_of(const DefragAnswer& answer, const fleet::DefragMove& move);

std::string draw_defrag(const Look& look, const DefragAnswer& answer);
std::string to_json(const DefragAnswer& answer);

}  // namespace partita::cli
