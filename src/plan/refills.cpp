#include "plan/refills.h"

#include <algorithm>

#include "plan/target.h"

namespace partita::plan {

RefillTable::RefillTable(const Bin& bin, const Need& most) : bin_(bin), most_(most) {
  for (const auto& wanted : bin.kinds) {
    auto& places = places_.emplace_back();
    if (!wanted) continue;
    const auto& profile = bin.geometry->profiles()[static_cast<std::size_t>(wanted->profile)];
    const auto& all = bin.geometry->shapes()[static_cast<std::size_t>(profile.shape)].places;
    for (const auto& place : all)
      if (!wanted->start || *wanted->start == place.start) places.push_back(place.mask);
    if (profile.me || profile.me_all || profile.max_instances < static_cast<int>(all.size()))
      only_space_matters_ = false;
  }
  if (bin.geometry->cells() > kMaxGpuInstances) only_space_matters_ = false;
}

bool RefillTable::serves(const Bin& bin) const {
  return bin.geometry == bin_.geometry && std::ranges::equal(bin.kinds, bin_.kinds, [](const auto& a, const auto& b) {
           return a.has_value() == b.has_value() && (!a || alike(*a, *b));
         });
}

const RefillList& RefillTable::at(SliceMask occupied) {
  const auto [entry, fresh] = lists_.try_emplace(occupied);
  if (fresh) extend(0, Need{}, {occupied}, entry->second);
  return entry->second;
}

// Records what `created` leads to and adds kinds from `kind` on; `masks` are all states its placings can end in.
void RefillTable::extend(std::size_t kind, const Need& created, const std::vector<SliceMask>& masks,
                         RefillList& list) const {
  Refill refill;
  refill.created = created;
  refill.first_mask = static_cast<std::uint32_t>(list.masks.size());
  refill.mask_count = static_cast<std::uint32_t>(masks.size());
  list.masks.insert(list.masks.end(), masks.begin(), masks.end());
  std::vector<std::vector<SliceMask>> next(places_.size());
  for (std::size_t k = 0; k < places_.size(); ++k) {
    if (created[k] >= most_[k]) continue;
    if (!room_for_one_more(k, masks)) continue;
    refill.can_add |= 1U << k;
    if (k >= kind) next[k] = with_one_more(k, masks);
  }
  list.refills.push_back(refill);
  for (std::size_t k = kind; k < places_.size(); ++k) {
    if (next[k].empty()) continue;
    Need more = created;
    ++more[k];
    extend(k, more, next[k], list);
  }
}

bool RefillTable::room_for_one_more(std::size_t kind, const std::vector<SliceMask>& masks) const {
  return std::ranges::any_of(masks, [&](SliceMask mask) {
    return std::ranges::any_of(places_[kind], [&](SliceMask place) { return (mask & place) == 0; });
  });
}

std::vector<SliceMask> RefillTable::with_one_more(std::size_t kind, const std::vector<SliceMask>& masks) const {
  std::vector<SliceMask> next;
  for (const auto mask : masks)
    for (const auto place : places_[kind])
      if ((mask & place) == 0) next.push_back(mask | place);
  std::ranges::sort(next);
  next.erase(std::ranges::unique(next).begin(), next.end());
  return next;
}

}  // namespace partita::plan
