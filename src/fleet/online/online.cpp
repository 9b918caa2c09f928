#include "fleet/online/online.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

namespace partita::fleet {

namespace {

constexpr std::size_t kWord = 64;

std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << (i % kWord); }

}  // namespace

OnlineFleet::OnlineFleet(const GpuStates& states, const Scores& scores, std::uint32_t gpus)
    : states_(states),
      scores_(scores),
      state_(gpus, kEmptyGpu),
      count_(states.size()),
      where_(states.size()),
      members_(states.size()) {
  for (std::size_t p = 0; p < states.profiles().size(); ++p)
    by_rank_.emplace_back((scores.ranked(p).size() + kWord - 1) / kWord);
  members_[kEmptyGpu].resize(gpus);
  std::iota(members_[kEmptyGpu].begin(), members_[kEmptyGpu].end(), 0U);  // ascending: a heap
  count_[kEmptyGpu] = gpus;
  if (gpus > 0) appear(kEmptyGpu);
}

void OnlineFleet::appear(StateId state) {
  where_[state] = static_cast<std::uint32_t>(present_.size());
  present_.push_back(state);
  for (std::size_t p = 0; p < by_rank_.size(); ++p)
    if (const int rank = scores_.rank(p, state); rank >= 0) {
      const auto r = static_cast<std::size_t>(rank);
      by_rank_[p][r / kWord] |= bit(r);
    }
}

void OnlineFleet::vanish(StateId state) {
  present_[where_[state]] = present_.back();
  where_[present_.back()] = where_[state];
  present_.pop_back();
  members_[state].clear();
  for (std::size_t p = 0; p < by_rank_.size(); ++p)
    if (const int rank = scores_.rank(p, state); rank >= 0) {
      const auto r = static_cast<std::size_t>(rank);
      by_rank_[p][r / kWord] &= ~bit(r);
    }
}

// A GPU that left a state stays in its heap until it comes up, or until most of the heap is such.
void OnlineFleet::move(std::uint32_t gpu, StateId to) {
  const auto from = state_[gpu];
  state_[gpu] = to;
  if (--count_[from] == 0) vanish(from);
  auto& heap = members_[to];
  if (count_[to]++ == 0) appear(to);
  heap.push_back(gpu);
  std::ranges::push_heap(heap, std::greater<>());
  if (heap.size() > 2 * static_cast<std::size_t>(count_[to]) + kWord) heap = gpus_in(to);
}

std::uint32_t OnlineFleet::lowest(StateId state) const {
  auto& heap = members_[state];
  while (state_[heap.front()] != state) {
    std::ranges::pop_heap(heap, std::greater<>());
    heap.pop_back();
  }
  return heap.front();
}

std::vector<std::uint32_t> OnlineFleet::gpus_in(StateId state) const {
  auto out = members_[state];
  std::erase_if(out, [&](std::uint32_t gpu) { return state_[gpu] != state; });
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

std::optional<Spot> OnlineFleet::choose(std::size_t profile) const {
  const auto& words = by_rank_[profile];
  std::size_t word = 0;
  while (word < words.size() && words[word] == 0) ++word;
  if (word == words.size()) return std::nullopt;
  const auto& ranked = scores_.ranked(profile);
  const auto first = (word * kWord) + static_cast<std::size_t>(std::countr_zero(words[word]));
  const auto end = scores_.tie_end(profile, first);
  StateId best = ranked[first];
  if (first + 1 == end) return Spot{lowest(best), scores_.best(profile, best).start};
  std::uint32_t gpu = lowest(best);
  std::uint64_t rest = words[word] & ~bit(first);
  for (;;) {
    for (; rest != 0; rest &= rest - 1) {
      const auto r = (word * kWord) + static_cast<std::size_t>(std::countr_zero(rest));
      if (r >= end) return Spot{gpu, scores_.best(profile, best).start};
      if (const auto other = lowest(ranked[r]); other < gpu) {
        gpu = other;
        best = ranked[r];
      }
    }
    if (++word >= words.size() || word * kWord >= end) return Spot{gpu, scores_.best(profile, best).start};
    rest = words[word];
  }
}

std::optional<Spot> OnlineFleet::place(std::size_t profile) {
  const auto spot = choose(profile);
  if (spot) move(spot->gpu, scores_.best(profile, state_[spot->gpu]).then);
  return spot;
}

void OnlineFleet::put(std::size_t profile, const Spot& spot) {
  for (const auto& place : states_.places(state_[spot.gpu], profile))
    if (place.start == spot.start) return move(spot.gpu, place.then);
}

void OnlineFleet::take(const Spot& spot) { move(spot.gpu, states_.without(state_[spot.gpu], spot.start)); }

}  // namespace partita::fleet
