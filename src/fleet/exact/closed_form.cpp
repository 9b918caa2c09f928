#include "fleet/exact/closed_form.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace partita::fleet {

namespace {

// What is left for pairs when the large instances are in place.
struct Pairs {
  std::int64_t left = 0, right = 0;  // free halves
  bool fits = false;
  std::int64_t aligned() const { return (2 * left) + right; }
};

Pairs pairs_beside(const SevenSliceCounts& n, std::int64_t gpus) {
  const std::int64_t halves = gpus - n.seven;
  Pairs out{halves - n.four, halves - n.three, false};
  if (out.right < 0) {
    out.left += out.right;
    out.right = 0;
  }
  out.fits = halves >= 0 && out.left >= 0;
  return out;
}

}  // namespace

bool packable(const SevenSliceCounts& n, std::int64_t gpus) {
  const auto pairs = pairs_beside(n, gpus);
  if (!pairs.fits) return false;
  const auto doubles_at_tail = std::min(n.one_double, pairs.right);
  const auto ones_left = std::max<std::int64_t>(0, n.one - (pairs.right - doubles_at_tail));
  return n.two + (n.one_double - doubles_at_tail) + ((ones_left + 1) / 2) <= pairs.aligned();
}

std::int64_t least_gpus(const SevenSliceCounts& n) {
  std::int64_t high = n.one + n.one_double + n.two + n.three + n.four + n.seven;
  std::int64_t low = 0;  // packable at high
  while (low < high) {
    const auto middle = low + ((high - low) / 2);
    if (packable(n, middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

std::optional<SevenSliceProfiles> seven_slice_profiles(const catalog::Board& board) {
  if (board.placement_units != 8 || board.compute_slices != 7) return std::nullopt;
  SevenSliceProfiles out;
  struct Form {
    int compute, size, most;
    std::vector<int> starts;
    int* profile;
  };
  const std::array<Form, 6> forms{{{1, 1, 7, {0, 1, 2, 3, 4, 5, 6}, &out.one},
                                   {1, 2, 4, {0, 2, 4, 6}, &out.one_double},
                                   {2, 2, 3, {0, 2, 4}, &out.two},
                                   {3, 4, 2, {0, 4}, &out.three},
                                   {4, 4, 1, {0}, &out.four},
                                   {7, 8, 1, {0}, &out.seven}}};
  for (std::size_t p = 0; p < board.profiles.size(); ++p) {
    const auto& profile = board.profiles[p];
    if (profile.attributes != catalog::Attributes{}) continue;
    for (const auto& form : forms)
      if (*form.profile < 0 && profile.compute_slices == form.compute && profile.placement_size == form.size &&
          profile.max_instances == form.most && profile.placements == form.starts)
        *form.profile = static_cast<int>(p);
  }
  return out;
}

namespace {

using Content = std::vector<plan::Placed>;
struct Run {
  Content content;  // starts within the run's own stretch of units
  std::int64_t count = 0;
};

Content moved(const Content& content, int by) {
  Content out = content;
  for (auto& placed : out) placed.start += by;
  return out;
}

// Takes up to n from the front; what is taken is alike.
Run take(std::vector<Run>& runs, std::size_t& at, std::int64_t n) {
  while (at < runs.size() && runs[at].count == 0) ++at;
  if (at == runs.size()) return {{}, n};
  Run out{runs[at].content, std::min(n, runs[at].count)};
  runs[at].count -= out.count;
  return out;
}

// Neighbours two by two, the second `by` units further on.
std::vector<Run> halves_of(std::vector<Run>& pairs, std::size_t& at, std::int64_t halves, int by) {
  std::vector<Run> out;
  while (halves > 0) {
    auto first = take(pairs, at, 2 * halves);
    const bool single = first.count == 1;
    const auto second = single ? take(pairs, at, 1) : first;
    const auto n = single ? 1 : first.count / 2;
    if (!single && first.count % 2 != 0 && at < pairs.size()) ++pairs[at].count;  // an odd one is for the next half
    auto content = first.content;
    const auto behind = moved(second.content, by);
    content.insert(content.end(), behind.begin(), behind.end());
    out.push_back({std::move(content), n});
    halves -= n;
  }
  return out;
}

}  // namespace

std::vector<PackedGpus> pack_seven_slices(const SevenSliceProfiles& p, const SevenSliceCounts& n, std::int64_t gpus) {
  const auto pairs = pairs_beside(n, gpus);
  const std::int64_t halves = gpus - n.seven;
  const auto doubles_at_tail = std::min(n.one_double, pairs.right);
  const auto ones_at_tail = std::min(n.one, pairs.right - doubles_at_tail);
  const auto ones = n.one - ones_at_tail;

  std::vector<Run> aligned{{{{p.two, 0}}, n.two},
                           {{{p.one_double, 0}}, n.one_double - doubles_at_tail},
                           {{{p.one, 0}, {p.one, 1}}, ones / 2},
                           {{{p.one, 0}}, ones % 2}};
  std::vector<Run> tails{{{{p.one_double, 0}}, doubles_at_tail}, {{{p.one, 0}}, ones_at_tail}};

  const auto three_right = std::min(n.three, halves);
  std::vector<Run> left{{{{p.four, 0}}, n.four}, {{{p.three, 0}}, n.three - three_right}};
  std::vector<Run> right{{{{p.three, 0}}, three_right}};
  std::size_t aligned_at = 0;
  std::size_t tail_at = 0;
  for (auto& run : halves_of(aligned, aligned_at, pairs.left, 2)) left.push_back(std::move(run));
  for (std::int64_t todo = pairs.right; todo > 0;) {
    auto pair = take(aligned, aligned_at, todo);
    const auto tail = take(tails, tail_at, pair.count);
    if (tail.count < pair.count && aligned_at < aligned.size()) aligned[aligned_at].count += pair.count - tail.count;
    const auto behind = moved(tail.content, 2);
    pair.content.insert(pair.content.end(), behind.begin(), behind.end());
    right.push_back({std::move(pair.content), tail.count});
    todo -= tail.count;
  }

  std::vector<PackedGpus> out;
  if (n.seven > 0) out.push_back({n.seven, {{p.seven, 0}}});
  std::size_t left_at = 0;
  std::size_t right_at = 0;
  for (std::int64_t todo = halves; todo > 0;) {
    const auto first = take(left, left_at, todo);
    const auto second = take(right, right_at, first.count);
    if (second.count < first.count && left_at < left.size()) left[left_at].count += first.count - second.count;
    auto content = first.content;
    const auto behind = moved(second.content, 4);
    content.insert(content.end(), behind.begin(), behind.end());
    if (!content.empty()) out.push_back({second.count, std::move(content)});
    todo -= second.count;
  }
  return out;
}

std::optional<Plan> closed_form(const Fleet& fleet, const Demand& demand) {
  if (demand.goal != Goal::cost || fleet.kinds.size() != 1) return std::nullopt;
  const auto& kind = fleet.kinds.front();
  if (!kind.state.empty()) return std::nullopt;
  const auto profiles = seven_slice_profiles(*kind.board);
  if (!profiles) return std::nullopt;
  SevenSliceCounts counts;
  const std::array<std::pair<int, std::int64_t*>, 6> forms{{{profiles->one, &counts.one},
                                                            {profiles->one_double, &counts.one_double},
                                                            {profiles->two, &counts.two},
                                                            {profiles->three, &counts.three},
                                                            {profiles->four, &counts.four},
                                                            {profiles->seven, &counts.seven}}};
  std::vector<int> want_of(kind.board->profiles.size(), -1);
  std::int64_t slices = 0;
  for (std::size_t w = 0; w < demand.wants.size(); ++w) {
    const auto& want = demand.wants[w];
    if (want.servers.size() != 1) return std::nullopt;
    const auto& server = want.servers.front();
    const auto form = std::ranges::find(forms, server.profile, &std::pair<int, std::int64_t*>::first);
    auto& earlier = want_of[static_cast<std::size_t>(server.profile)];
    if (form == forms.end() || earlier >= 0) return std::nullopt;
    earlier = static_cast<int>(w);
    *form->second = static_cast<std::int64_t>(std::ceil((want.amount / server.weight) - 1e-9));
    slices += *form->second * kind.board->profiles[static_cast<std::size_t>(server.profile)].compute_slices;
  }
  const auto gpus = least_gpus(counts);
  if (gpus > kind.count.value_or(kMostGpus)) return std::nullopt;

  Plan plan;
  plan.method = "closed form";
  for (auto& packed : pack_seven_slices(*profiles, counts, gpus)) {
    Group group{0, packed.count, {}, {}};
    for (const auto& placed : packed.instances)
      group.instances.push_back({placed, Instance::Is::created, want_of[static_cast<std::size_t>(placed.profile)]});
    plan.groups.push_back(std::move(group));
  }
  if (kind.count && *kind.count > gpus) plan.groups.push_back({0, *kind.count - gpus, {}, {}});
  const double cost = kind.price * static_cast<double>(gpus);
  const auto whole = static_cast<double>(slices);
  plan.levels = {{"cost", cost, cost}, {"instances destroyed", 0, 0}, {"compute slices", whole, whole}};
  return plan;
}

}  // namespace partita::fleet
