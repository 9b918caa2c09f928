// How much the GPUs from one on can still bring, at most: what cuts branches in pack()'s search. Inside plan/ only.
//
// A measure weighs the unmet needs: each kind alone, and for each size the kinds at least that large, weighed by size.
// An option lowers a measure by at most the weighed sum of its positive changes. The best total over the GPUs from g
// on, for at most d destroyed and t touched, follows by dynamic programming.
#pragma once

#include <vector>

#include "plan/pack_problem.h"

namespace partita::plan {

class PackBounds {
 public:
  PackBounds(const PackProblem& problem, const std::vector<std::vector<OptionGroup>>& groups,
             int max_destroyed);  // of twins only the first has groups

  // False: `need` cannot be met by the bins from `from` on within these budgets. True: perhaps.
  bool may_meet(const Need& need, int from, int destroyed, int touched) const;

 private:
  struct Measure {
    std::array<int, kMaxKinds> weight{};
  };
  int value(const Measure& measure, const Need& need) const;
  void find_measures(const PackProblem& problem);
  std::size_t cell(std::size_t measure, int bin, int destroyed, int touched) const;

  int kinds_;
  int bins_;
  int max_destroyed_;
  std::vector<Measure> measures_;
  std::vector<int> best_;
};

}  // namespace partita::plan
