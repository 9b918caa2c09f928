#include "plan/pack_options.h"

#include <algorithm>
#include <bit>

namespace partita::plan {

namespace {

bool at_least(const Need& a, const Need& b, std::size_t kinds) {
  for (std::size_t k = 0; k < kinds; ++k)
    if (a[k] < b[k]) return false;
  return true;
}

bool beats(const OptionGroup& a, const OptionGroup& b, std::size_t kinds) {
  return a.destroyed <= b.destroyed && a.touched <= b.touched && at_least(a.delta, b.delta, kinds);
}

}  // namespace

OptionMaker::OptionMaker(const Bin& bin, RefillTable& refills)
    : bin_(bin), refills_(refills), kinds_(bin.kinds.size()), free_of_rules_(refills.only_space_matters()) {
  const auto all_media = [&](const layout::GpuInstance* live) {
    return bin.geometry->profiles()[static_cast<std::size_t>(live->profile)].me_all;
  };
  if (std::ranges::any_of(bin.idle, all_media) || std::ranges::any_of(bin.pinned, all_media)) free_of_rules_ = false;
  for (const auto* live : bin.idle) idle_cells_.push_back(bin.geometry->cells_of(live->profile, live->placement.start));
  for (const auto* live : bin.pinned) pinned_cells_ |= bin.geometry->cells_of(live->profile, live->placement.start);
}

std::vector<OptionGroup> OptionMaker::make(int budget, const Need& most, bool maximal_only) {
  budget_ = budget;
  most_ = most;
  maximal_only_ = maximal_only;
  groups_.clear();
  group_of_.clear();
  Option option;
  choose(0, 0, option);
  return std::move(groups_);
}

// Decides the fate of idle instance `i` and those after it.
void OptionMaker::choose(std::size_t i, int destroyed, Option& option) {
  if (i == bin_.idle.size()) return finish(destroyed, option);
  for (std::size_t c = 0; c < bin_.choices[i].size(); ++c) {
    option.fates[i] = bin_.choices[i][c];
    option.compute_destroyed += bin_.recut_cost[i][c];
    choose(i + 1, destroyed, option);
    option.compute_destroyed -= bin_.recut_cost[i][c];
  }
  if (destroyed == budget_) return;
  const auto computes = static_cast<int>(bin_.idle[i]->compute.size());
  option.fates[i] = {kDestroyed, false};
  option.compute_destroyed += computes;
  choose(i + 1, destroyed + 1, option);
  option.compute_destroyed -= computes;
}

// The fates are decided; what can be created beside what stays?
void OptionMaker::finish(int destroyed, const Option& option) {
  SliceMask occupied = pinned_cells_;
  Tally tally(*bin_.geometry);
  for (const auto* live : bin_.pinned) tally.add(live->profile);
  for (std::size_t i = 0; i < bin_.idle.size(); ++i) {
    if (option.fates[i].kind == kDestroyed) continue;
    occupied |= idle_cells_[i];
    tally.add(bin_.idle[i]->profile);
  }
  const auto& list = refills_.at(occupied);
  for (const auto& refill : list.refills) {
    const bool nothing = &refill == &list.refills.front();
    if (nothing && destroyed == 0) {
      add(refill.created, destroyed, option);  // it may leave the GPU untouched: no rule to obey
      continue;
    }
    if (!at_least(most_, refill.created, kinds_) || !useful(refill, list, option, tally)) continue;
    if (!free_of_rules_ && !allowed(refill, tally)) continue;
    if (maximal_only_ && could_take_more(refill, tally)) continue;
    add(refill.created, destroyed, option);
  }
}

// Is each destroyed instance really in the way of this refill?
bool OptionMaker::useful(const Refill& refill, const RefillList& list, const Option& option, const Tally& tally) const {
  for (std::size_t i = 0; i < bin_.idle.size(); ++i) {
    if (option.fates[i].kind != kDestroyed) continue;
    const bool has_room =
        std::ranges::any_of(list.masks_of(refill), [&](SliceMask mask) { return (mask & idle_cells_[i]) == 0; });
    if (has_room && (free_of_rules_ || with(refill, tally).allows_more(bin_.idle[i]->profile))) return false;
  }
  return true;
}

Tally OptionMaker::with(const Refill& refill, Tally tally) const {
  for (std::size_t k = 0; k < kinds_; ++k)
    if (const auto& wanted = bin_.kinds[k]; wanted) tally.add(wanted->profile, refill.created[k]);
  return tally;
}

bool OptionMaker::allowed(const Refill& refill, Tally tally) const { return with(refill, tally).allowed(); }

bool OptionMaker::could_take_more(const Refill& refill, const Tally& tally) const {
  for (auto bits = refill.can_add; bits != 0; bits &= bits - 1) {
    const auto k = static_cast<std::size_t>(std::countr_zero(bits));
    const auto& wanted = bin_.kinds[k];
    if (refill.created[k] >= most_[k] || !wanted) continue;
    if (free_of_rules_ || with(refill, tally).allows_more(wanted->profile)) return true;
  }
  return false;
}

void OptionMaker::add(const Need& created, int destroyed, const Option& option) {
  Key key{created, destroyed, destroyed > 0};
  for (std::size_t k = 0; k < kinds_; ++k) key.touched |= created[k] > 0;
  for (std::size_t i = 0; i < bin_.idle.size(); ++i) {
    const auto before = bin_.choices[i].front().kind;
    const auto after = option.fates[i].kind;
    if (before >= 0) --key.delta[static_cast<std::size_t>(before)];
    if (after >= 0) ++key.delta[static_cast<std::size_t>(after)];
    key.touched |= option.fates[i].recut;
  }
  const auto [entry, fresh] = group_of_.try_emplace(key, groups_.size());
  if (fresh) groups_.push_back({key.delta, destroyed, key.touched, {}});
  if (!fresh && maximal_only_) return;
  auto& options = groups_[entry->second].options;
  options.push_back(option);
  options.back().created = created;
}

void drop_dominated(std::vector<OptionGroup>& groups, std::size_t kinds) {
  std::vector<bool> beaten(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (std::size_t j = 0; j < groups.size() && !beaten[i]; ++j)
      beaten[i] = j != i && beats(groups[j], groups[i], kinds) && (j < i || !beats(groups[i], groups[j], kinds));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (!beaten[i] && kept++ != i) groups[kept - 1] = std::move(groups[i]);
  groups.resize(kept);
}

void drop_wasteful(std::vector<OptionGroup>& groups, const std::vector<OptionGroup>& maximal, std::size_t kinds) {
  std::erase_if(groups, [&](const OptionGroup& group) {
    return std::ranges::any_of(maximal, [&](const OptionGroup& better) {
      return better.destroyed < group.destroyed && beats(better, group, kinds);
    });
  });
}

}  // namespace partita::plan
