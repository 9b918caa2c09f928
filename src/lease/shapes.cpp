#include "lease/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "layout/profile_name.h"

namespace partita::lease {

namespace {

using catalog::Board;
using catalog::Profile;
using layout::Gpu;
using layout::NodeState;

bool has_mig(const Gpu& gpu) { return gpu.board && gpu.board->has_mig() && gpu.mode; }

bool is_called(const Gpu& gpu, std::string_view text) {
  if (text == gpu.uuid || text == std::to_string(gpu.index)) return true;
  return text.find(':') != text.npos && lower(gpu.pci_bus_id).ends_with(lower(text));
}

std::vector<std::string> names_of(const NodeState& state) {
  std::vector<std::string> names;
  for (const Gpu& gpu : state.gpus) names.push_back(fmt::format("GPU {}: {} ({})", gpu.index, gpu.uuid, gpu.product));
  return names;
}

// One that is lost does not tell what it is.
bool is_unknown(const Gpu& gpu) { return gpu.fault && !gpu.board; }

// Why none of these serves now, when some of them cannot be asked.
std::optional<Error> out_of_reach(const NodeState& state, const std::vector<bool>& eligible) {
  std::vector<std::string> faults;
  for (std::size_t g = 0; g < state.gpus.size(); ++g)
    if (eligible[g] && state.gpus[g].fault)
      faults.push_back(fmt::format("GPU {}: {}", state.gpus[g].index, state.gpus[g].fault.value_or("")));
  if (faults.empty()) return std::nullopt;
  return Error{
      ErrorCode::unavailable,
      fmt::format("no GPU that is asked for can be used now ({}): ask again when it is back", join(faults, ", ")),
      {}};
}

Result<std::vector<bool>> eligible_gpus(const NodeState& state, const api::Requirement& requirement,
                                        const std::optional<std::string>& same_gpu) {
  std::vector<bool> eligible(state.gpus.size(), true);
  // Leaves in those that `keep` wants; false when none is left.
  const auto filter = [&](auto keep) {
    bool any = false;
    for (std::size_t g = 0; g < state.gpus.size(); ++g) {
      eligible[g] = eligible[g] && keep(state.gpus[g]);
      any = any || eligible[g];
    }
    return any;
  };
  if (state.gpus.empty()) return fail(ErrorCode::not_found, "this node has no GPU");
  if (requirement.gpu && !filter([&](const Gpu& gpu) { return is_called(gpu, *requirement.gpu); })) {
    std::vector<bool> unknown;  // it may be one of those
    for (const Gpu& gpu : state.gpus) unknown.push_back(gpu.fault && gpu.uuid.empty());
    if (auto error = out_of_reach(state, unknown)) return std::unexpected(std::move(*error));
    return fail(
        ErrorCode::not_found,
        fmt::format("no GPU {} on this node; expected an index, a UUID or a PCI bus id", quote(*requirement.gpu)),
        names_of(state));
  }
  if (requirement.board) {
    const std::string wanted = lower(*requirement.board);
    std::vector<std::string> boards;
    for (const Gpu& gpu : state.gpus)
      if (gpu.board && std::ranges::count(boards, gpu.board->id) == 0) boards.push_back(gpu.board->id);
    if (!filter([&](const Gpu& gpu) {
          return is_unknown(gpu) || (gpu.board && (lower(gpu.board->id) == wanted || lower(gpu.product) == wanted));
        }))
      return fail(ErrorCode::not_found, fmt::format("no {} {}; the node has {}{}", quote(*requirement.board),
                                                    requirement.gpu ? "is that GPU" : "on this node",
                                                    join(boards, ", "), did_you_mean(wanted, boards)));
  }
  if (same_gpu && !filter([&](const Gpu& gpu) { return gpu.uuid == *same_gpu; }))
    return fail(ErrorCode::not_found,
                fmt::format("the GPU of lease {} is not one that the rest of the request allows",
                            quote(requirement.same_gpu_as.value_or(""))),
                names_of(state));
  return eligible;
}

// The compute instances asked for, within a profile.
Result<std::vector<int>> compute_of(const Board& board, int index, const api::Requirement& requirement) {
  const Profile& profile = board.profiles[static_cast<std::size_t>(index)];
  std::vector<int> compute;
  for (const auto& name : requirement.compute) {
    if (name.size() > 2) {
      const auto match = TRY(layout::find_profile(board, name));
      if (match.profile != index)
        return fail(ErrorCode::invalid, fmt::format("{} is not of a {}", quote(name), profile.name));
      compute.push_back(match.compute);
      continue;
    }
    const auto row = std::ranges::find(profile.compute, name[0] - '0', &catalog::ComputeProfile::compute_slices);
    std::vector<std::string> names;
    for (const auto& has : profile.compute) names.push_back(has.name);
    if (row == profile.compute.end())
      return fail(ErrorCode::not_found,
                  fmt::format("no {} in {} on {}; it has {}", name, profile.name, board.id, join(names, ", ")));
    compute.push_back(static_cast<int>(row - profile.compute.begin()));
  }
  std::ranges::sort(compute);
  if (compute.empty() && !requirement.bare) {
    const auto whole = std::ranges::find(profile.compute, true, &catalog::ComputeProfile::is_default);
    if (whole == profile.compute.end())
      return fail(ErrorCode::not_found, fmt::format("{} has no compute instances on {}", profile.name, board.id));
    compute.push_back(static_cast<int>(whole - profile.compute.begin()));
  }
  int slices = 0;
  for (const int c : compute) slices += profile.compute[static_cast<std::size_t>(c)].compute_slices;
  for (const int c : compute)
    if (slices > profile.compute_slices ||
        std::ranges::count(compute, c) > profile.compute[static_cast<std::size_t>(c)].max_instances)
      return fail(ErrorCode::impossible,
                  fmt::format("{} cannot be in one {} together", join(requirement.compute, ", "), profile.name));
  return compute;
}

Result<void> check_start(const Board& board, int index, const api::Requirement& requirement) {
  const Profile& profile = board.profiles[static_cast<std::size_t>(index)];
  if (!requirement.start || std::ranges::count(profile.placements, *requirement.start) != 0) return {};
  return fail(ErrorCode::invalid, fmt::format("no {} can be at {} on {}: expected one of {}", profile.name,
                                              *requirement.start, board.id, fmt::join(profile.placements, ", ")));
}

Result<Shape> named_shape(const Board& board, const api::Requirement& requirement) {
  const auto match = TRY(layout::find_profile(board, requirement.profile));
  TRY_VOID(check_start(board, match.profile, requirement));
  Shape shape{match.profile, {match.compute}, match.spelled_here};
  if (requirement.bare || !requirement.compute.empty())
    shape.compute = TRY(compute_of(board, match.profile, requirement));
  return shape;
}

// Per board, once; boards are shared by GPUs.
template <class T, class Make>
const T& once(std::map<const Board*, T>& made, const Gpu& gpu, Make make) {
  const auto found = made.find(gpu.board.get());
  if (found != made.end()) return found->second;
  return made.emplace(gpu.board.get(), make(*gpu.board)).first->second;
}

Bytes memory_of(const Board& board, const Profile& profile) {
  if (profile.memory) return *profile.memory;
  const auto total = board.total_memory.value_or(Bytes{}).value;
  return Bytes{board.memory_slices > 0 ? total / static_cast<std::uint64_t>(board.memory_slices) *
                                             static_cast<std::uint64_t>(profile.memory_slices)
                                       : 0};
}

// Where some board spells the profile as asked, near names of other boards are other sizes and do not serve.
void keep_own_spelling(Tier& tier) {
  const auto as_asked = [](const auto& shape) { return shape && !shape->spelled_here; };
  if (std::ranges::none_of(tier.on_gpu, as_asked)) return;
  for (auto& shape : tier.on_gpu)
    if (!as_asked(shape)) shape.reset();
}

Result<Tier> named_tier(const NodeState& state, const api::Requirement& requirement,
                        const std::vector<bool>& eligible) {
  std::map<const Board*, Result<Shape>> made;
  std::optional<Error> refusal;
  Tier tier;
  tier.on_gpu.resize(state.gpus.size());
  bool any = false;
  for (std::size_t g = 0; g < state.gpus.size(); ++g) {
    if (!eligible[g] || !has_mig(state.gpus[g])) continue;
    const auto& shape = once(made, state.gpus[g], [&](const Board& board) { return named_shape(board, requirement); });
    if (shape) {
      tier.on_gpu[g] = *shape;
      any = true;
    } else if (!refusal || refusal->code == ErrorCode::not_found) {
      refusal = shape.error();
    }
  }
  if (!any && refusal) return std::unexpected(std::move(*refusal));
  if (auto error = any ? std::nullopt : out_of_reach(state, eligible)) return std::unexpected(std::move(*error));
  if (!any) return fail(ErrorCode::impossible, "no GPU that is asked for has MIG", names_of(state));
  keep_own_spelling(tier);
  return tier;
}

bool is_plain(const catalog::Attributes& attributes) { return attributes == catalog::Attributes{}; }

// Every plain profile that has the memory and the SMs, as a tier of its own size.
void add_sizes(const NodeState& state, const api::Requirement& requirement, std::size_t g, std::vector<Tier>& tiers) {
  const Board& board = *state.gpus[g].board;
  for (std::size_t p = 0; p < board.profiles.size(); ++p) {
    const Profile& profile = board.profiles[p];
    if (!is_plain(profile.attributes)) continue;
    if (requirement.memory && profile.memory.value_or(Bytes{}) < *requirement.memory) continue;
    if (requirement.sms && profile.sm.value_or(profile.sm_estimate.value_or(0)) < *requirement.sms) continue;
    const int index = static_cast<int>(p);
    const auto compute = compute_of(board, index, requirement);
    if (!compute || !check_start(board, index, requirement)) continue;
    const Bytes memory = memory_of(board, profile);
    auto tier = std::ranges::find_if(
        tiers, [&](const Tier& t) { return t.compute_slices == profile.compute_slices && t.memory == memory; });
    if (tier == tiers.end() || tier->on_gpu[g]) {
      tiers.push_back({profile.compute_slices, memory, {}});
      tier = tiers.end() - 1;
      tier->on_gpu.resize(state.gpus.size());
    }
    tier->on_gpu[g] = Shape{index, *compute, std::nullopt};
  }
}

std::unexpected<Error> too_large(const NodeState& state, const api::Requirement& requirement,
                                 const std::vector<bool>& eligible) {
  std::vector<std::string> details;
  for (std::size_t g = 0; g < state.gpus.size(); ++g) {
    const Gpu& gpu = state.gpus[g];
    if (!eligible[g] || !has_mig(gpu)) continue;
    const auto largest = std::ranges::max_element(gpu.board->profiles, {}, [&](const Profile& profile) {
      return std::pair(is_plain(profile.attributes), profile.memory.value_or(Bytes{}));
    });
    std::string sms;
    if (const auto sm = largest->sm ? largest->sm : largest->sm_estimate) sms = fmt::format(", {} SMs", *sm);
    auto line = fmt::format("{}: the largest is {} with {}{}", gpu.board->id, largest->name,
                            to_string(memory_of(*gpu.board, *largest)), sms);
    if (std::ranges::count(details, line) == 0) details.push_back(std::move(line));
  }
  return fail(ErrorCode::impossible, fmt::format("no partition of the GPUs asked for has {}", to_string(requirement)),
              std::move(details));
}

}  // namespace

Result<Shapes> shapes_of(const NodeState& state, const api::Requirement& requirement,
                         const std::optional<std::string>& same_gpu) {
  TRY_VOID(check(requirement));
  Shapes shapes{TRY(eligible_gpus(state, requirement, same_gpu)), {}};
  if (requirement.whole_gpu) return shapes;
  if (!requirement.profile.empty()) {
    shapes.tiers.push_back(TRY(named_tier(state, requirement, shapes.eligible)));
    return shapes;
  }
  for (std::size_t g = 0; g < state.gpus.size(); ++g)
    if (shapes.eligible[g] && has_mig(state.gpus[g])) add_sizes(state, requirement, g, shapes.tiers);
  if (auto error = shapes.tiers.empty() ? out_of_reach(state, shapes.eligible) : std::nullopt)
    return std::unexpected(std::move(*error));
  if (shapes.tiers.empty()) return too_large(state, requirement, shapes.eligible);
  std::ranges::stable_sort(shapes.tiers, {}, [](const Tier& t) { return std::tuple(t.compute_slices, t.memory); });
  return shapes;
}

void keep_within(Shapes& shapes, const NodeState& state, const std::optional<Size>& most) {
  if (!most) return;
  const auto larger = [&](int slices, Bytes memory) { return slices > most->compute_slices || memory > most->memory; };
  for (std::size_t g = 0; g < state.gpus.size(); ++g) {
    const Gpu& gpu = state.gpus[g];
    if (!gpu.board) continue;
    if (shapes.tiers.empty() && larger(gpu.board->compute_slices, gpu.total_memory)) shapes.eligible[g] = false;
    for (Tier& tier : shapes.tiers)
      if (auto& shape = tier.on_gpu[g]) {
        const Profile& profile = gpu.board->profiles[static_cast<std::size_t>(shape->profile)];
        if (larger(profile.compute_slices, memory_of(*gpu.board, profile))) shape.reset();
      }
  }
}

Result<Size> size_of(const NodeState& state, const api::Requirement& requirement) {
  const Shapes shapes = TRY(shapes_of(state, requirement, std::nullopt));
  std::optional<Size> least;
  const auto consider = [&](const Size& size) {
    if (!least || std::tuple(size.compute_slices, size.memory) < std::tuple(least->compute_slices, least->memory))
      least = size;
  };
  for (std::size_t g = 0; g < state.gpus.size(); ++g) {
    const Gpu& gpu = state.gpus[g];
    if (!shapes.eligible[g] || is_unknown(gpu)) continue;
    if (requirement.whole_gpu) {
      consider({gpu.board ? gpu.board->compute_slices : 0, gpu.total_memory});
      continue;
    }
    if (const auto& shape = shapes.tiers.front().on_gpu[g]) {
      const Profile& profile = gpu.board->profiles[static_cast<std::size_t>(shape->profile)];
      consider({profile.compute_slices, memory_of(*gpu.board, profile)});
    }
  }
  if (auto error = least ? std::nullopt : out_of_reach(state, shapes.eligible)) return std::unexpected(*error);
  if (!least) return fail(ErrorCode::not_found, "no GPU of this node serves the request");
  return *least;
}

Size size_of(const NodeState& state, const Choice& choice) {
  const auto gpu = std::ranges::find(state.gpus, choice.gpu, &Gpu::uuid);
  if (gpu == state.gpus.end() || (!choice.whole_gpu && !gpu->board)) return {};
  if (choice.whole_gpu) return {gpu->board ? gpu->board->compute_slices : 0, gpu->total_memory};
  const Profile& profile = gpu->board->profiles[static_cast<std::size_t>(choice.profile)];
  return {profile.compute_slices, memory_of(*gpu->board, profile)};
}

}  // namespace partita::lease
