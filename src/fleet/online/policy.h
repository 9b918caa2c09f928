// Online placement policies: where an instance goes while nobody knows what will be asked next.
//
// Each policy scores "this profile at this start of a GPU in this state"; the highest score wins, of equal ones the GPU
// with the lowest number.
#pragma once

#include <string_view>
#include <vector>

#include "fleet/online/online_states.h"
#include "fleet/online/potential.h"

namespace partita::fleet {

enum class Rule {
  first_fit,            // lowest GPU, lowest start
  best_fit,             // fewest free compute slices, lowest start
  tight_fit,            // and then fewest free memory slices, then the start that leaves most places, weighed by size
  least_fragmentation,  // least rise of the memory slices of places that are blocked although their profile would fit
                        // by number of slices; lowest start
  potential,            // least fall of a weighed sum of features
};

struct Policy {
  Rule rule = Rule::first_fit;
  Potential weights = {};  // for Rule::potential
};

// "first-fit", "best-fit", "tight-fit", "least-fragmentation", "potential".
std::string_view name(Rule rule);
std::optional<Rule> rule_named(std::string_view name);

// The best place of a profile in a state.
struct Best {
  double score = 0;
  int start = -1;  // -1: no place
  StateId then = 0;
};

// A policy compiled for the states of a board.
class Scores {
 public:
  // Rule::potential needs as many weights as the board has features.
  Scores(const GpuStates& states, const Policy& policy);
  Scores(const GpuStates& states, std::vector<double> potentials);  // Rule::potential

  const Best& best(std::size_t profile, StateId state) const { return best_[(profile * states_) + state]; }
  // States in which a profile fits, by score; `group` numbers those of equal score alike, from 0.
  const std::vector<StateId>& ranked(std::size_t profile) const { return ranked_[profile]; }
  // Where a state stands in ranked(profile), or -1.
  int rank(std::size_t profile, StateId state) const { return rank_[(profile * states_) + state]; }
  // The end of the run of equal scores that begins or goes on at this rank.
  std::size_t tie_end(std::size_t profile, std::size_t rank) const { return tie_end_[profile][rank]; }
  // The potential of a state: under the rule potential its own, else minus its fragmentation (the rule
  // least-fragmentation's measure).
  double value(StateId state) const { return value_[state]; }

 private:
  void rate(const GpuStates& states, Rule rule);
  void sort(std::size_t profile);

  std::size_t states_;
  std::vector<Best> best_;
  std::vector<std::vector<StateId>> ranked_;
  std::vector<int> rank_;
  std::vector<std::vector<std::size_t>> tie_end_;
  std::vector<double> value_;
};

// Memory slices of places that are blocked although their profile would fit by number of free memory slices.
double fragmentation(const GpuStates& states, StateId state);

}  // namespace partita::fleet
