// What can be created on the free cells of a GPU, by kind. Inside plan/ only.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "plan/pack_problem.h"

namespace partita::plan {

// One multiset of kinds that can be placed.
struct Refill {
  Need created{};
  std::uint32_t can_add = 0;  // bit k: one more of kind k could be placed as well
  std::uint32_t first_mask = 0, mask_count = 0;
};

struct RefillList {
  std::vector<Refill> refills;   // each multiset once, the empty one first
  std::vector<SliceMask> masks;  // cells occupied by some placing of a refill: refills[i].first_mask and on
  std::span<const SliceMask> masks_of(const Refill& refill) const {
    return std::span(masks).subspan(refill.first_mask, refill.mask_count);
  }
};

// For GPUs of one geometry on which the kinds look alike. Lists are made when first asked for.
class RefillTable {
 public:
  // `most`: how many of each kind may ever be worth creating.
  RefillTable(const Bin& bin, const Need& most);
  const RefillList& at(SliceMask occupied);
  bool serves(const Bin& bin) const;  // geometry and kinds are those of the bin

  // No rule of counts can forbid a refill that has space, beside instances without +me.all.
  bool only_space_matters() const { return only_space_matters_; }

 private:
  void extend(std::size_t kind, const Need& created, const std::vector<SliceMask>& masks, RefillList& list) const;
  bool room_for_one_more(std::size_t kind, const std::vector<SliceMask>& masks) const;
  std::vector<SliceMask> with_one_more(std::size_t kind, const std::vector<SliceMask>& masks) const;

  const Bin& bin_;
  Need most_;
  bool only_space_matters_ = true;
  std::vector<std::vector<SliceMask>> places_;  // per kind
  std::map<SliceMask, RefillList> lists_;
};

}  // namespace partita::plan
