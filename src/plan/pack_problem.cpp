#include "plan/pack_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "plan/compute_fit.h"
#include "plan/target.h"

namespace partita::plan {

namespace {

using layout::Gpu;
using layout::WantedInstance;

bool takes_part(const Gpu& gpu) {
  return gpu.board && gpu.board->has_mig() && gpu.mode && gpu.mode->current && !gpu.fault &&
         gpu.instances.size() <= kMaxGpuInstances;
}

bool same_everywhere(const DemandItem& a, const DemandItem& b) {
  return std::ranges::equal(a.on_gpu, b.on_gpu, [](const auto& x, const auto& y) {
    return x.has_value() == y.has_value() && (!x || alike(*x, *y));
  });
}

Result<void> check_item(std::span<const Gpu> gpus, const DemandItem& item) {
  if (item.count < 0 || item.count > 1'000'000)
    return fail(ErrorCode::invalid,
                fmt::format("{}: {} asked, a number from 0 to 1000000 was expected", item.name, item.count));
  if (item.on_gpu.size() != gpus.size())
    return fail(ErrorCode::internal, fmt::format("{}: the demand names {} GPUs, the node has {}", item.name,
                                                 item.on_gpu.size(), gpus.size()));
  return {};
}

Result<void> find_kinds(std::span<const Gpu> gpus, std::span<const DemandItem> demand, PackProblem& problem) {
  for (std::size_t i = 0; i < demand.size(); ++i) {
    TRY_VOID(check_item(gpus, demand[i]));
    const auto same = std::ranges::find_if(problem.kinds, [&](const DemandKind& kind) {
      return same_everywhere(demand[static_cast<std::size_t>(kind.example)], demand[i]);
    });
    problem.kind_of_item.push_back(static_cast<int>(same - problem.kinds.begin()));
    if (same != problem.kinds.end()) {
      same->count += demand[i].count;
    } else {
      problem.kinds.push_back({demand[i].count, static_cast<int>(i)});
    }
  }
  if (problem.kinds.size() > kMaxKinds)
    return fail(ErrorCode::invalid, fmt::format("{} different kinds of instances asked at once; at most {} are "
                                                "planned together: ask for some of them first",
                                                problem.kinds.size(), kMaxKinds));
  return {};
}

// What may become of one idle instance, "as it is" first.
void find_choices(Bin& bin, const layout::GpuInstance& live) {
  std::vector<Fate> as_is;
  std::vector<Fate> recut;
  std::vector<int> recut_cost;
  const auto& profile = bin.gpu->board->profiles[static_cast<std::size_t>(live.profile)];
  for (std::size_t k = 0; k < bin.kinds.size(); ++k) {
    const auto& wanted = bin.kinds[k];
    if (!wanted || wanted->profile != live.profile || (wanted->start && *wanted->start != live.placement.start))
      continue;
    const auto change = change_compute(profile, compute_placed(live.compute), *wanted);
    if (!change) continue;
    if (change->none()) {
      as_is.push_back({static_cast<std::int16_t>(k), false});
    } else {
      recut.push_back({static_cast<std::int16_t>(k), true});
      recut_cost.push_back(static_cast<int>(change->destroy.size()));
    }
  }
  if (as_is.empty()) as_is.push_back({kUnused, false});
  std::vector<int> cost(as_is.size(), 0);
  cost.insert(cost.end(), recut_cost.begin(), recut_cost.end());
  as_is.insert(as_is.end(), recut.begin(), recut.end());
  bin.choices.push_back(std::move(as_is));
  bin.recut_cost.push_back(std::move(cost));
}

bool same_instances(const std::vector<const layout::GpuInstance*>& a,
                    const std::vector<const layout::GpuInstance*>& b) {
  return std::ranges::equal(a, b, [](const auto* x, const auto* y) {
    return x->profile == y->profile && x->placement == y->placement &&
           compute_placed(x->compute) == compute_placed(y->compute);
  });
}

bool twins(const Bin& a, const Bin& b) {
  return a.geometry == b.geometry && same_instances(a.idle, b.idle) && same_instances(a.pinned, b.pinned) &&
         std::ranges::equal(a.kinds, b.kinds, [](const auto& x, const auto& y) {
           return x.has_value() == y.has_value() && (!x || alike(*x, *y));
         });
}

void put_twins_side_by_side(std::vector<Bin>& bins) {
  std::vector<Bin> ordered;
  std::vector<bool> done(bins.size());
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (done[i]) continue;
    const auto first = static_cast<int>(ordered.size());
    for (std::size_t j = i; j < bins.size(); ++j) {
      if (done[j] || (j != i && !twins(bins[i], bins[j]))) continue;
      done[j] = true;
      // bins[i] is compared with, so it is copied, not moved.
      ordered.push_back(bins[j]);
      if (j != i) ordered.back().twin_of = first;
    }
  }
  bins = std::move(ordered);
}

}  // namespace

Result<PackProblem> make_problem(std::span<const Gpu> gpus, std::span<const DemandItem> demand) {
  PackProblem problem;
  TRY_VOID(find_kinds(gpus, demand, problem));
  for (std::size_t k = 0; k < problem.kinds.size(); ++k)
    problem.need[k] = static_cast<std::int16_t>(std::min(problem.kinds[k].count, 30'000));
  std::vector<std::pair<const catalog::Board*, const Geometry*>> known;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    if (!takes_part(gpus[g])) continue;
    auto found =
        std::ranges::find_if(known, [&](const auto& entry) { return same_for_planning(*entry.first, *gpus[g].board); });
    if (found == known.end()) {
      problem.geometries.push_back(std::make_unique<Geometry>(*gpus[g].board));
      found = known.insert(known.end(), {gpus[g].board.get(), problem.geometries.back().get()});
    }
    const auto* geometry = found->second;
    Bin bin;
    bin.gpu = &gpus[g];
    bin.index = static_cast<int>(g);
    bin.geometry = geometry;
    for (const auto& kind : problem.kinds) {
      const auto& wanted = demand[static_cast<std::size_t>(kind.example)].on_gpu[g];
      if (wanted) TRY_VOID(check_target(gpus[g], *geometry, {&*wanted, 1}));
      bin.kinds.push_back(wanted);
    }
    for (const auto& live : gpus[g].instances) {
      if (live.pinned()) {
        bin.pinned.push_back(&live);
        continue;
      }
      bin.idle.push_back(&live);
      find_choices(bin, live);
      const auto kind = bin.choices.back().front().kind;
      if (kind != kUnused) --problem.need[static_cast<std::size_t>(kind)];
    }
    problem.bins.push_back(std::move(bin));
  }
  put_twins_side_by_side(problem.bins);
  return problem;
}

std::size_t hash(const Need& need) {
  std::array<std::uint64_t, sizeof(Need) / sizeof(std::uint64_t)> words{};
  std::memcpy(words.data(), need.data(), sizeof(Need));
  std::uint64_t mixed = 0;
  for (const auto word : words) {
    mixed = (mixed ^ word) * 0x9E3779B97F4A7C15ULL;
    mixed ^= mixed >> 29;
  }
  return mixed;
}

Standing standing(const Bin& bin, const Option& option) {
  Standing result;
  result.counts.resize(bin.geometry->profiles().size());
  for (const auto* live : bin.pinned) result.placed.push_back({live->profile, live->placement.start});
  for (std::size_t i = 0; i < bin.idle.size(); ++i)
    if (option.fates[i].kind != kDestroyed)
      result.placed.push_back({bin.idle[i]->profile, bin.idle[i]->placement.start});
  for (std::size_t k = 0; k < bin.kinds.size(); ++k) {
    if (option.created[k] == 0) continue;
    const auto& wanted = *bin.kinds[k];  // NOLINT(bugprone-unchecked-optional-access): created only where possible
    if (wanted.start) {
      result.placed.push_back({wanted.profile, *wanted.start});
    } else {
      result.counts[static_cast<std::size_t>(wanted.profile)] += option.created[k];
    }
  }
  return result;
}

}  // namespace partita::plan
