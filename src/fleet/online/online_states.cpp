#include "fleet/online/online_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace partita::fleet {

namespace {

std::vector<plan::Placed> with(std::vector<plan::Placed> placed, plan::Placed added) {
  placed.insert(std::ranges::upper_bound(placed, added.start, {}, &plan::Placed::start), added);
  return placed;
}

}  // namespace

Result<GpuStates> GpuStates::of(std::shared_ptr<const catalog::Board> board, std::vector<int> profiles) {
  GpuStates out;
  out.board_ = std::move(board);
  out.geometry_ = std::make_shared<plan::Geometry>(*out.board_);
  std::ranges::sort(profiles);
  profiles.erase(std::ranges::unique(profiles).begin(), profiles.end());
  for (const int p : profiles) {
    if (p < 0 || p >= static_cast<int>(out.board_->profiles.size()))
      return fail(ErrorCode::invalid, fmt::format("{} has no profile number {}", out.board_->id, p));
    if (out.geometry_->profiles()[static_cast<std::size_t>(p)].placements.empty())
      return fail(ErrorCode::invalid,
                  fmt::format("{} of {} has no place on a GPU", out.board_->profiles[static_cast<std::size_t>(p)].name,
                              out.board_->id));
  }
  out.profiles_ = std::move(profiles);
  TRY_VOID(out.enumerate());
  out.count();
  return out;
}

// From the empty GPU on, breadth first: a state's number is larger than those it is made of.
Result<void> GpuStates::enumerate() {
  std::map<std::vector<plan::Placed>, StateId> known{{{}, kEmptyGpu}};
  placed_.emplace_back();
  first_place_.push_back(0);
  for (StateId state = 0; state < placed_.size(); ++state) {
    for (const int p : profiles_) {
      for (const auto& place : geometry_->profiles()[static_cast<std::size_t>(p)].placements) {
        auto next = with(placed_[state], {p, place.start});
        if (!plan::valid(*geometry_, next)) continue;
        const auto [entry, fresh] = known.try_emplace(std::move(next), static_cast<StateId>(placed_.size()));
        if (fresh) placed_.push_back(entry->first);
        places_.push_back({place.start, entry->second});
      }
      first_place_.push_back(places_.size());
    }
    if (placed_.size() > kMostStates)
      return fail(ErrorCode::invalid,
                  fmt::format("a {} can be cut in more than {} ways with {} profiles: ask for fewer "
                              "different ones",
                              board_->id, kMostStates, profiles_.size()));
  }
  for (const auto& placed : placed_) {
    auto& list = without_.emplace_back();
    for (std::size_t i = 0; i < placed.size(); ++i) {
      auto rest = placed;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      list.push_back(known.at(rest));
    }
  }
  return {};
}

void GpuStates::count() {
  for (const auto& placed : placed_) {
    plan::SliceMask mask = 0;
    int compute = 0;
    int memory = 0;
    for (const auto& each : placed) {
      mask |= geometry_->cells_of(each.profile, each.start);
      compute += board_->profiles[static_cast<std::size_t>(each.profile)].compute_slices;
      memory += board_->profiles[static_cast<std::size_t>(each.profile)].memory_slices;
    }
    occupied_.push_back(mask);
    compute_.push_back(compute);
    memory_.push_back(memory);
  }
  // A state's places lead to larger numbers, whose rooms are known when counted from the end.
  room_.resize(size() * profiles_.size());
  for (auto state = static_cast<StateId>(size()); state-- > 0;)
    for (std::size_t p = 0; p < profiles_.size(); ++p)
      for (const auto& place : places(state, p))
        room_[(state * profiles_.size()) + p] =
            std::max(room_[(state * profiles_.size()) + p], 1 + room(place.then, p));
}

std::size_t GpuStates::position(int profile) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(profiles_, profile) - profiles_.begin());
}

StateId GpuStates::without(StateId state, int start) const {
  const auto& placed = placed_[state];
  for (std::size_t i = 0; i < placed.size(); ++i)
    if (placed[i].start == start) return without_[state][i];
  return state;
}

std::optional<StateId> GpuStates::find(std::vector<plan::Placed> placed) const {
  StateId state = kEmptyGpu;
  std::ranges::sort(placed, {}, &plan::Placed::start);
  for (const auto& each : placed) {
    const auto p = std::ranges::find(profiles_, each.profile);
    if (p == profiles_.end()) return std::nullopt;
    const auto open = places(state, static_cast<std::size_t>(p - profiles_.begin()));
    const auto place = std::ranges::find(open, each.start, &OpenPlace::start);
    if (place == open.end()) return std::nullopt;
    state = place->then;
  }
  return state;
}

int GpuStates::memory_of(std::size_t profile) const {
  return board_->profiles[static_cast<std::size_t>(profiles_[profile])].memory_slices;
}

const char* GpuStates::name_of(std::size_t profile) const {
  return board_->profiles[static_cast<std::size_t>(profiles_[profile])].name.c_str();
}

}  // namespace partita::fleet
