// Every useful way to treat one GPU in pack(). Inside plan/ only.
#pragma once

#include <unordered_map>
#include <vector>

#include "plan/pack_problem.h"
#include "plan/refills.h"

namespace partita::plan {

class OptionMaker {
 public:
  OptionMaker(const Bin& bin, RefillTable& refills);

  // The options that destroy at most `budget` instances and create at most `most` of each kind, leaving the GPU alone
  // included. Left out are those that destroy an instance which could as well stay. With `maximal_only`, only those to
  // which nothing could be added, and of equal ones the first: enough to decide what is feasible.
  std::vector<OptionGroup> make(int budget, const Need& most, bool maximal_only);

 private:
  void choose(std::size_t i, int destroyed, Option& option);
  void finish(int destroyed, const Option& option);
  bool useful(const Refill& refill, const RefillList& list, const Option& option, const Tally& tally) const;
  bool allowed(const Refill& refill, Tally tally) const;
  bool could_take_more(const Refill& refill, const Tally& tally) const;
  Tally with(const Refill& refill, Tally tally) const;
  void add(const Need& created, int destroyed, const Option& option);

  struct Key {
    Need delta;
    int destroyed;
    bool touched;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return hash(key.delta) * 31 + static_cast<std::size_t>(key.destroyed);
    }
  };

  const Bin& bin_;
  RefillTable& refills_;
  std::size_t kinds_;
  bool free_of_rules_ = false;
  std::vector<SliceMask> idle_cells_;
  SliceMask pinned_cells_ = 0;
  int budget_ = 0;
  Need most_{};
  bool maximal_only_ = false;
  std::unordered_map<Key, std::size_t, KeyHash> group_of_;
  std::vector<OptionGroup> groups_;
};

// Leaves out groups that another one beats: at least the supply, no more destroyed, not touched if this one is not.
void drop_dominated(std::vector<OptionGroup>& groups, std::size_t kinds);

// Leaves out groups that some maximal one beats with strictly fewer destroyed.
void drop_wasteful(std::vector<OptionGroup>& groups, const std::vector<OptionGroup>& maximal, std::size_t kinds);

}  // namespace partita::plan
