// Every state that one GPU of a board can be in, as a table. Online policies, simulation and tuning work on states, so
// that their cost grows with kinds of state, not with GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "catalog/board.h"
#include "plan/geometry.h"

namespace partita::fleet {

using StateId = std::uint32_t;
inline constexpr StateId kEmptyGpu = 0;
inline constexpr std::size_t kMostStates = 100'000;

// Where an instance could be created, and the state afterwards.
struct OpenPlace {
  int start = 0;
  StateId then = 0;
};

class GpuStates {
 public:
  // `profiles`: indices in Board::profiles that requests ask for; these alone are ever placed. Elsewhere in the online
  // planner a profile is named by its position in this list, which is kept ascending and without repetition. `invalid`
  // when a profile cannot be placed at all, or there would be more than kMostStates states.
  static Result<GpuStates> of(std::shared_ptr<const catalog::Board> board, std::vector<int> profiles);

  const catalog::Board& board() const { return *board_; }
  const std::shared_ptr<const catalog::Board>& board_shared() const { return board_; }
  const plan::Geometry& geometry() const { return *geometry_; }
  const std::vector<int>& profiles() const { return profiles_; }
  // Of a profile of the board in profiles(), where it must be.
  std::size_t position(int profile) const;
  std::size_t size() const { return placed_.size(); }

  // By start; profiles are those of the board.
  const std::vector<plan::Placed>& placed(StateId state) const { return placed_[state]; }
  // Ascending starts.
  std::span<const OpenPlace> places(StateId state, std::size_t profile) const {
    const auto cell = (state * profiles_.size()) + profile;
    return {places_.data() + first_place_[cell], places_.data() + first_place_[cell + 1]};
  }
  // Without the instance at this start, which must be there.
  StateId without(StateId state, int start) const;
  // The state of a GPU that holds exactly these, or nullopt.
  std::optional<StateId> find(std::vector<plan::Placed> placed) const;

  plan::SliceMask occupied(StateId state) const { return occupied_[state]; }  // cells
  int compute_used(StateId state) const { return compute_[state]; }           // slices
  int memory_used(StateId state) const { return memory_[state]; }             // slices
  int memory_of(std::size_t profile) const;                                   // slices
  const char* name_of(std::size_t profile) const;
  // How many instances of one profile could still be created in this state.
  int room(StateId state, std::size_t profile) const { return room_[(state * profiles_.size()) + profile]; }

 private:
  GpuStates() = default;
  Result<void> enumerate();
  void count();

  std::shared_ptr<const catalog::Board> board_;
  std::shared_ptr<const plan::Geometry> geometry_;
  std::vector<int> profiles_;
  std::vector<std::vector<plan::Placed>> placed_;
  std::vector<std::vector<StateId>> without_;  // parallel to placed_
  std::vector<OpenPlace> places_;
  std::vector<std::size_t> first_place_;
  std::vector<plan::SliceMask> occupied_;
  std::vector<int> compute_, memory_, room_;
};

}  // namespace partita::fleet
