// Placing requests one by one on a fleet of GPUs of one board, by a policy. Never moves what is placed (migrate.h
// does).
//
// A decision looks for the best state that some GPU is in: its cost does not grow with the number of GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fleet/online/online_states.h"
#include "fleet/online/policy.h"

namespace partita::fleet {

struct Spot {
  std::uint32_t gpu = 0;
  int start = 0;
  bool operator==(const Spot&) const = default;
};

class OnlineFleet {
 public:
  // Both must outlive it. All GPUs empty.
  OnlineFleet(const GpuStates& states, const Scores& scores, std::uint32_t gpus);

  // Where the policy puts this profile (a position in states.profiles()), or nullopt. Changes nothing.
  std::optional<Spot> choose(std::size_t profile) const;
  // choose() and put it there.
  std::optional<Spot> place(std::size_t profile);
  void put(std::size_t profile, const Spot& spot);  // the spot must be open
  void take(const Spot& spot);                      // an instance must start there

  StateId state(std::uint32_t gpu) const { return state_[gpu]; }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(state_.size()); }
  std::uint32_t count(StateId state) const { return count_[state]; }
  // The states that GPUs are in, in no order.
  const std::vector<StateId>& present() const { return present_; }
  // The lowest GPU in a state that some GPU is in.
  std::uint32_t lowest(StateId state) const;
  std::vector<std::uint32_t> gpus_in(StateId state) const;  // ascending

  const GpuStates& states() const { return states_; }
  const Scores& scores() const { return scores_; }

 private:
  void move(std::uint32_t gpu, StateId to);
  void appear(StateId state);
  void vanish(StateId state);

  const GpuStates& states_;
  const Scores& scores_;
  std::vector<StateId> state_;
  std::vector<std::uint32_t> count_;
  std::vector<StateId> present_;
  std::vector<std::uint32_t> where_;                         // in present_
  std::vector<std::vector<std::uint64_t>> by_rank_;          // per profile: which ranks are present, as bits
  mutable std::vector<std::vector<std::uint32_t>> members_;  // per state: a heap of GPUs that are or were in it
};

}  // namespace partita::fleet
