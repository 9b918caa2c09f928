// Every useful way to treat one GPU in pack(). Inside plan/ only.
#pragma once

#include <map>
#include <vector>

#include "plan/pack_problem.h"

namespace partita::plan {

class OptionMaker {
 public:
  // `most`: how many of each kind may ever be worth creating.
  OptionMaker(const Bin& bin, int kinds, const Need& most) : bin_(bin), kinds_(kinds), most_(most) {}

  // All options that destroy at most `budget` instances, leaving the GPU alone included. With `maximal_only`, those
  // to which nothing could be added, and of equal ones the first: enough to decide what is feasible.
  std::vector<OptionGroup> make(int budget, bool maximal_only);

 private:
  void choose(std::size_t i, int destroyed, Option& option);
  void finish(int destroyed, const Option& option);
  void add(const Need& created, int destroyed, const Option& option);
  const std::vector<Need>& refills(SliceMask occupied);
  void refill(int kind, std::size_t from, SliceMask occupied, Need& created, std::vector<Need>& found) const;

  const Bin& bin_;
  int kinds_;
  const Need& most_;
  int budget_ = 0;
  bool maximal_only_ = false;
  std::map<SliceMask, std::vector<Need>> refills_;                         // all count vectors that fit, largest first
  std::map<std::pair<Need, std::pair<int, bool>>, std::size_t> group_of_;  // (delta, destroyed, touched)
  std::vector<OptionGroup> groups_;
};

// Leaves out groups that another one beats: at least the supply, no more destroyed, not touched if this one is not.
// With `fewer_destroyed_only`, only those beaten by one that destroys strictly fewer.
void drop_dominated(std::vector<OptionGroup>& groups, int kinds);
void drop_wasteful(std::vector<OptionGroup>& groups, const std::vector<OptionGroup>& maximal, int kinds);

}  // namespace partita::plan
