#include "plan/pack_options.h"

#include <algorithm>

namespace partita::plan {

namespace {

bool at_least(const Need& a, const Need& b, int kinds) {
  for (int k = 0; k < kinds; ++k)
    if (a[static_cast<std::size_t>(k)] < b[static_cast<std::size_t>(k)]) return false;
  return true;
}

bool beats(const OptionGroup& a, const OptionGroup& b, int kinds) {
  return a.destroyed <= b.destroyed && a.touched <= b.touched && at_least(a.delta, b.delta, kinds);
}

void keep_maximal(std::vector<Need>& vectors, int kinds) {
  std::vector<Need> kept;
  for (const auto& vector : vectors)  // larger sums first, so nothing later beats something earlier
    if (std::ranges::none_of(kept, [&](const Need& k) { return at_least(k, vector, kinds); })) kept.push_back(vector);
  vectors = std::move(kept);
}

}  // namespace

std::vector<OptionGroup> OptionMaker::make(int budget, bool maximal_only) {
  budget_ = budget;
  maximal_only_ = maximal_only;
  groups_.clear();
  group_of_.clear();
  Option option;
  option.fates.resize(bin_.idle.size());
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
  SliceMask occupied = 0;
  Tally tally(*bin_.geometry);
  for (const auto& at : standing(bin_, option).placed) {
    occupied |= bin_.geometry->cells_of(at.profile, at.start);
    tally.add(at.profile);
  }
  std::vector<Need> allowed;
  for (const auto& created : refills(occupied)) {
    Tally after = tally;
    int n = 0;
    for (int k = 0; k < kinds_; ++k) {
      const auto count = created[static_cast<std::size_t>(k)];
      n += count;
      if (count > 0) after.add(bin_.kinds[static_cast<std::size_t>(k)]->profile, count);
    }
    if (n == 0 || after.allowed()) allowed.push_back(created);
  }
  if (maximal_only_) {
    keep_maximal(allowed, kinds_);
    if (destroyed == 0 && allowed.front() != Need{}) allowed.push_back(Need{});  // it may leave the GPU untouched
  }
  for (const auto& created : allowed) add(created, destroyed, option);
}

void OptionMaker::add(const Need& created, int destroyed, const Option& option) {
  OptionGroup group;
  group.destroyed = destroyed;
  group.touched = destroyed > 0;
  group.delta = created;
  for (int k = 0; k < kinds_; ++k) group.touched |= created[static_cast<std::size_t>(k)] > 0;
  for (std::size_t i = 0; i < bin_.idle.size(); ++i) {
    const auto before = bin_.choices[i].front().kind;
    const auto after = option.fates[i].kind;
    if (before >= 0) --group.delta[static_cast<std::size_t>(before)];
    if (after >= 0) ++group.delta[static_cast<std::size_t>(after)];
    group.touched |= option.fates[i].recut;
  }
  const auto [entry, fresh] = group_of_.try_emplace({group.delta, {destroyed, group.touched}}, groups_.size());
  if (fresh) groups_.push_back(std::move(group));
  auto& options = groups_[entry->second].options;
  if (!fresh && maximal_only_) return;
  options.push_back(option);
  options.back().created = created;
}

// Every count vector of kinds that can be placed on the free cells, at most `most_` of each; larger sums first.
const std::vector<Need>& OptionMaker::refills(SliceMask occupied) {
  const auto [entry, fresh] = refills_.try_emplace(occupied);
  if (!fresh) return entry->second;
  Need created{};
  auto& found = entry->second;
  refill(0, 0, occupied, created, found);
  const auto sum = [](const Need& need) {
    int total = 0;
    for (const auto n : need) total += n;
    return total;
  };
  std::ranges::sort(found, [&](const Need& a, const Need& b) {
    const int sum_a = sum(a);
    const int sum_b = sum(b);
    return sum_a != sum_b ? sum_a > sum_b : a > b;
  });
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

// Adds instances of `kind` at places from `from` on, then of later kinds.
void OptionMaker::refill(int kind, std::size_t from, SliceMask occupied, Need& created,
                         std::vector<Need>& found) const {
  if (kind == kinds_) {
    found.push_back(created);
    return;
  }
  refill(kind + 1, 0, occupied, created, found);
  const auto& wanted = bin_.kinds[static_cast<std::size_t>(kind)];
  auto& count = created[static_cast<std::size_t>(kind)];
  if (!wanted || count >= most_[static_cast<std::size_t>(kind)]) return;
  const auto shape = bin_.geometry->profiles()[static_cast<std::size_t>(wanted->profile)].shape;
  const auto& places = bin_.geometry->shapes()[static_cast<std::size_t>(shape)].places;
  for (std::size_t i = from; i < places.size(); ++i) {
    if ((places[i].mask & occupied) != 0 || (wanted->start && *wanted->start != places[i].start)) continue;
    ++count;
    // Further ones of this kind go to later places only.
    refill(kind, i + 1, occupied | places[i].mask, created, found);
    --count;
  }
}

void drop_dominated(std::vector<OptionGroup>& groups, int kinds) {
  std::vector<OptionGroup> kept;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < groups.size() && !beaten; ++j)
      beaten = j != i && beats(groups[j], groups[i], kinds) && (j < i || !beats(groups[i], groups[j], kinds));
    if (!beaten) kept.push_back(groups[i]);
  }
  groups = std::move(kept);
}

void drop_wasteful(std::vector<OptionGroup>& groups, const std::vector<OptionGroup>& maximal, int kinds) {
  std::erase_if(groups, [&](const OptionGroup& group) {
    return std::ranges::any_of(maximal, [&](const OptionGroup& better) {
      return better.destroyed < group.destroyed && beats(better, group, kinds);
    });
  });
}

}  // namespace partita::plan
