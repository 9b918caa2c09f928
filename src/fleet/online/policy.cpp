#include "fleet/online/policy.h"

#include <algorithm>
#include <array>
#include <utility>

namespace partita::fleet {

namespace {

constexpr std::array<std::pair<Rule, std::string_view>, 5> kNames{{{Rule::first_fit, "first-fit"},
                                                                   {Rule::best_fit, "best-fit"},
                                                                   {Rule::tight_fit, "tight-fit"},
                                                                   {Rule::least_fragmentation, "least-fragmentation"},
                                                                   {Rule::potential, "potential"}}};

// Scores that differ by less are equal: sums of the same weights in another order.
constexpr double kEqual = 1e-9;
// Of equal scores on a GPU the lowest start.
constexpr double kPerStart = 1e-5;

double size_of_open_places(const GpuStates& states, StateId state) {
  double sum = 0;
  for (std::size_t p = 0; p < states.profiles().size(); ++p)
    sum += static_cast<double>(states.places(state, p).size()) * states.memory_of(p);
  return sum;
}

// Larger is better. Whole numbers for all but the potential.
double score(const GpuStates& states, Rule rule, const std::vector<double>& value, StateId state,
             const OpenPlace& place) {
  constexpr double kCompute = 1e6;  // above any sum of sizes of places
  constexpr double kMemory = 1e3;
  switch (rule) {
    case Rule::first_fit:
      return 0;
    case Rule::best_fit:
      return states.compute_used(state);
    case Rule::tight_fit:
      return (kCompute * states.compute_used(state)) + (kMemory * states.memory_used(state)) +
             size_of_open_places(states, place.then);
    case Rule::least_fragmentation:
    case Rule::potential:
      return value[place.then] - value[state] - (kPerStart * place.start);
  }
  return 0;
}

}  // namespace

std::string_view name(Rule rule) {
  for (const auto& [each, text] : kNames)
    if (each == rule) return text;
  return "";
}

std::optional<Rule> rule_named(std::string_view name) {
  for (const auto& [rule, text] : kNames)
    if (text == name) return rule;
  return std::nullopt;
}

double fragmentation(const GpuStates& states, StateId state) {
  const int free = states.board().memory_slices - states.memory_used(state);
  double sum = 0;
  for (std::size_t p = 0; p < states.profiles().size(); ++p) {
    if (states.memory_of(p) > free) continue;
    const auto& geometry = states.geometry();
    const auto profile = states.profiles()[p];
    for (const auto& place : geometry.profiles()[static_cast<std::size_t>(profile)].placements)
      if ((geometry.cells_of(profile, place.start) & states.occupied(state)) != 0) sum += states.memory_of(p);
  }
  return sum;
}

Scores::Scores(const GpuStates& states, const Policy& policy) : states_(states.size()) {
  if (policy.rule == Rule::potential) {
    value_ = FeatureTable(states, Features(states.board_shared())).potentials(policy.weights);
  } else {
    for (StateId state = 0; state < states_; ++state) value_.push_back(-fragmentation(states, state));
  }
  rate(states, policy.rule);
}

Scores::Scores(const GpuStates& states, std::vector<double> potentials)
    : states_(states.size()), value_(std::move(potentials)) {
  rate(states, Rule::potential);
}

void Scores::rate(const GpuStates& states, Rule rule) {
  const auto profiles = states.profiles().size();
  best_.resize(profiles * states_);
  rank_.assign(profiles * states_, -1);
  ranked_.resize(profiles);
  tie_end_.resize(profiles);
  for (std::size_t p = 0; p < profiles; ++p) {
    for (StateId state = 0; state < states_; ++state) {
      auto& best = best_[(p * states_) + state];
      for (const auto& place : states.places(state, p)) {
        const double now = score(states, rule, value_, state, place);
        if (best.start < 0 || now > best.score + kEqual) best = {now, place.start, place.then};
      }
      if (best.start >= 0) ranked_[p].push_back(state);
    }
    sort(p);
  }
}

void Scores::sort(std::size_t p) {
  auto& list = ranked_[p];
  const auto score_at = [&](StateId state) { return best(p, state).score; };
  std::ranges::stable_sort(list, std::greater<>(), score_at);
  auto& ends = tie_end_[p];
  ends.resize(list.size());
  for (std::size_t i = list.size(); i-- > 0;) {
    rank_[(p * states_) + list[i]] = static_cast<int>(i);
    const bool last = i + 1 == list.size() || score_at(list[i]) - score_at(list[i + 1]) > kEqual;
    ends[i] = last ? i + 1 : ends[i + 1];
  }
}

}  // namespace partita::fleet
