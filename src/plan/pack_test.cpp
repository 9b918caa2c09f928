#include "plan/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "plan/test_random.h"

namespace partita::plan {
namespace {

using layout::Gpu;
using layout::GpuInstance;
using layout::WantedInstance;
using ::testing::Contains;
using ::testing::HasSubstr;
using namespace test;

// destroyed, touched, whole GPUs used up, compute destroyed, placements closed.
using Cost = std::array<int, 5>;
Cost operator+(Cost a, const Cost& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
using Supply = std::vector<int>;
using Table = std::map<Supply, Cost>;  // the cheapest way to each supply

void offer(Table& table, const Supply& supply, const Cost& cost) {
  const auto [entry, fresh] = table.try_emplace(supply, cost);
  if (!fresh) entry->second = std::min(entry->second, cost);
}

std::vector<int> compute_of(const GpuInstance& live) {
  std::vector<int> compute;
  for (const auto& ci : live.compute) compute.push_back(ci.profile);
  std::ranges::sort(compute);
  return compute;
}

// Everything that can be done to one GPU, tried one by one.
class OneGpu {
 public:
  OneGpu(const Gpu& gpu, std::size_t g, const Geometry& geometry, std::span<const DemandItem> demand)
      : gpu_(gpu), g_(g), geometry_(geometry), demand_(demand), supply_(demand.size()) {}

  Table run() {
    open_before_ = open_placements(geometry_, places(gpu_));
    decide(0, {});
    return std::move(table_);
  }

 private:
  void decide(std::size_t i, Cost cost) {
    if (i == gpu_.instances.size()) return create(0, 0, cost);
    const auto& live = gpu_.instances[i];
    now_.push_back({live.profile, live.placement.start});
    decide(i + 1, cost);
    if (!live.pinned()) serve(live, i, cost);
    now_.pop_back();
    if (!live.pinned()) decide(i + 1, cost + Cost{1, 0, 0, static_cast<int>(live.compute.size()), 0});
  }

  void serve(const GpuInstance& live, std::size_t i, const Cost& cost) {
    for (std::size_t k = 0; k < demand_.size(); ++k) {
      const auto& wanted = demand_[k].on_gpu[g_];
      if (!wanted || wanted->profile != live.profile || (wanted->start && *wanted->start != live.placement.start))
        continue;
      int gone = 0;
      auto left = wanted->compute;
      for (const int ci : compute_of(live)) {
        const auto found = std::ranges::find(left, ci);
        if (found == left.end()) {
          ++gone;
        } else {
          left.erase(found);
        }
      }
      const bool changed = gone > 0 || !left.empty();
      changed_ += changed ? 1 : 0;
      ++supply_[k];
      decide(i + 1, cost + Cost{0, 0, 0, gone, 0});
      --supply_[k];
      changed_ -= changed ? 1 : 0;
    }
  }

  void create(std::size_t k, int from, const Cost& cost) {
    if (k == demand_.size()) return record(cost);
    create(k + 1, 0, cost);
    const auto& wanted = demand_[k].on_gpu[g_];
    if (!wanted) return;
    for (const auto& place : geometry_.profiles()[static_cast<std::size_t>(wanted->profile)].placements) {
      if (place.start < from || (wanted->start && *wanted->start != place.start)) continue;
      now_.push_back({wanted->profile, place.start});
      if (valid(geometry_, now_)) {
        ++supply_[k];
        ++created_;
        create(k, place.start + 1, cost);
        --created_;
        --supply_[k];
      }
      now_.pop_back();
    }
  }

  void record(Cost cost) {
    const bool touched = cost[0] > 0 || changed_ > 0 || created_ > 0;
    cost[1] = touched ? 1 : 0;
    cost[2] = touched && gpu_.instances.empty() ? 1 : 0;
    cost[4] = touched ? open_before_ - open_placements(geometry_, now_) : 0;
    offer(table_, supply_, cost);
  }

  const Gpu& gpu_;
  std::size_t g_;
  const Geometry& geometry_;
  std::span<const DemandItem> demand_;
  Supply supply_;
  std::vector<Placed> now_;
  int changed_ = 0;
  int created_ = 0;
  int open_before_ = 0;
  Table table_;
};

std::optional<Cost> brute_force(std::span<const Gpu> gpus, const std::vector<const Geometry*>& geometries,
                                std::span<const DemandItem> demand) {
  Table table{{Supply(demand.size()), Cost{}}};
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    Table next;
    const auto here = OneGpu(gpus[g], g, *geometries[g], demand).run();
    for (const auto& [supply, cost] : table) {
      for (const auto& [more, extra] : here) {
        auto sum = supply;
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = std::min(sum[k] + more[k], demand[k].count);
        offer(next, sum, cost + extra);
      }
    }
    table = std::move(next);
  }
  Supply all;
  for (const auto& item : demand) all.push_back(item.count);
  const auto found = table.find(all);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

// Do the idle instances serve the demand, each at most one item?
class Matching {
 public:
  Matching(std::span<const Gpu> after, std::span<const DemandItem> demand) {
    for (std::size_t k = 0; k < demand.size(); ++k)
      for (int n = 0; n < demand[k].count; ++n) wishes_.push_back(k);
    for (std::size_t g = 0; g < after.size(); ++g)
      for (const auto& live : after[g].instances) {
        if (live.pinned()) continue;
        std::vector<bool> can;
        for (const auto& item : demand) {
          const auto& wanted = item.on_gpu[g];
          can.push_back(wanted && wanted->profile == live.profile && wanted->compute == compute_of(live) &&
                        (!wanted->start || *wanted->start == live.placement.start));
        }
        servers_.push_back(can);
      }
    served_by_.assign(servers_.size(), -1);
  }
  bool complete() {
    for (std::size_t w = 0; w < wishes_.size(); ++w) {
      std::vector<bool> seen(servers_.size());
      if (!augment(w, seen)) return false;
    }
    return true;
  }

 private:
  bool augment(std::size_t w, std::vector<bool>& seen) {
    for (std::size_t s = 0; s < servers_.size(); ++s) {
      if (seen[s] || !servers_[s][wishes_[w]]) continue;
      seen[s] = true;
      if (served_by_[s] >= 0 && !augment(static_cast<std::size_t>(served_by_[s]), seen)) continue;
      served_by_[s] = static_cast<int>(w);
      return true;
    }
    return false;
  }
  std::vector<std::size_t> wishes_;
  std::vector<std::vector<bool>> servers_;
  std::vector<int> served_by_;
};

Cost cost_of(std::span<const Gpu> gpus, const std::vector<const Geometry*>& geometries, const NodePlan& plan) {
  Cost cost{};
  for (const auto& change : plan.gpus) {
    const auto g = static_cast<std::size_t>(std::ranges::find(gpus, change.gpu, &Gpu::uuid) - gpus.begin());
    cost =
        cost + Cost{change.gpu_instances_destroyed, 1, gpus[g].instances.empty() ? 1 : 0, change.compute_destroyed,
                    open_placements(*geometries[g], places(gpus[g])) - open_placements(*geometries[g], change.result)};
  }
  return cost;
}

std::vector<Gpu> apply(std::span<const Gpu> gpus, const std::vector<const Geometry*>& geometries,
                       const NodePlan& plan) {
  std::vector<Gpu> after(gpus.begin(), gpus.end());
  for (const auto& change : plan.gpus) {
    const auto g = static_cast<std::size_t>(std::ranges::find(gpus, change.gpu, &Gpu::uuid) - gpus.begin());
    const auto state = replay(gpus[g], *geometries[g], change.steps);
    RC_ASSERT(state.has_value());
    for (const auto& live : gpus[g].instances)
      if (live.pinned()) RC_ASSERT(std::ranges::count(change.kept, Placed{live.profile, live.placement.start}) == 1);
    after[g].instances = *state;
  }
  return after;
}

DemandItem random_item(std::span<const Gpu> gpus, int number, bool cuts) {
  DemandItem item{"item" + std::to_string(number), draw(0, 4), {}};
  std::map<std::string, int> profile_of;  // the same profile on every GPU of a board
  for (const auto& gpu : gpus) {
    const auto n = static_cast<int>(gpu.board->profiles.size());
    const int profile = profile_of.try_emplace(gpu.board->id, draw(0, n)).first->second;
    if (chance(15)) {
      item.on_gpu.emplace_back();
      continue;
    }
    auto wanted = want(*gpu.board, profile);
    const auto& facts = gpu.board->profiles[static_cast<std::size_t>(profile)];
    if (cuts && facts.compute_slices > 1 && number % 2 == 1) wanted.compute = {0};
    if (chance(8))
      wanted.start = facts.placements[static_cast<std::size_t>(draw(0, static_cast<int>(facts.placements.size())))];
    item.on_gpu.push_back(wanted);
  }
  return item;
}

void check_against_brute_force(const std::vector<catalog::Board>& boards, int items, int tries) {
  std::vector<Geometry> geometries;
  for (const auto& board : boards) geometries.emplace_back(board);
  EXPECT_TRUE(rc::check("pack is optimal in its order of aims", [&] {
    const bool cuts = chance(50);
    std::vector<Gpu> gpus;
    std::vector<const Geometry*> geometry;
    for (int g = 0; g < static_cast<int>(boards.size()); ++g) {
      gpus.push_back(random_gpu(boards[static_cast<std::size_t>(g)], geometries[static_cast<std::size_t>(g)],
                                draw(0, tries), 35, cuts, g));
      geometry.push_back(&geometries[static_cast<std::size_t>(g)]);
    }
    std::vector<DemandItem> demand;
    for (int k = draw(1, items + 1); k > 0; --k) demand.push_back(random_item(gpus, k, cuts));
    const auto best = brute_force(gpus, geometry, demand);
    const auto plan = pack(gpus, demand);
    RC_ASSERT(plan.has_value() == best.has_value());
    RC_CLASSIFY(plan.has_value(), "feasible");
    if (!plan) {
      RC_ASSERT(plan.error().code == ErrorCode::no_space || plan.error().code == ErrorCode::impossible);
      return;
    }
    RC_CLASSIFY((*best)[0] > 0, "destroys");
    RC_ASSERT(Matching(apply(gpus, geometry, *plan), demand).complete());
    RC_ASSERT(cost_of(gpus, geometry, *plan) == *best);
    RC_ASSERT(plan->gpu_instances_destroyed == (*best)[0]);
    RC_ASSERT(plan->gpus_touched == (*best)[1]);
  }));
}

TEST(Pack, IsOptimalOnTwoA30) { check_against_brute_force({a30(), a30()}, 3, 6); }
TEST(Pack, IsOptimalOnThreeA30) { check_against_brute_force({a30(), a30(), a30()}, 3, 5); }
TEST(Pack, IsOptimalOnTwoA100) { check_against_brute_force({a100(), a100()}, 3, 8); }
TEST(Pack, IsOptimalOnMixedBoards) { check_against_brute_force({a100(), a30(), rtx_pro_6000()}, 2, 6); }
TEST(Pack, IsOptimalOnRtxPro) { check_against_brute_force({rtx_pro_6000(), rtx_pro_6000()}, 3, 5); }

DemandItem item(std::span<const Gpu> gpus, int profile, int count) {
  DemandItem made{gpus[0].board->profiles[static_cast<std::size_t>(profile)].name, count, {}};
  for (const auto& gpu : gpus) made.on_gpu.emplace_back(want(*gpu.board, profile));
  return made;
}

std::vector<Gpu> node(const catalog::Board& board, int n) {
  std::vector<Gpu> gpus;
  for (int g = 0; g < n; ++g) gpus.push_back(TestGpu(board, g));
  return gpus;
}

TEST(Pack, IdleInstancesServeWithoutAnyChange) {
  const auto board = a100();
  std::vector<Gpu> gpus{TestGpu(board, 0).with(k3g, 4), TestGpu(board, 1).with(k2g, 0)};
  const std::vector<DemandItem> demand{item(gpus, k3g, 1), item(gpus, k2g, 1)};
  const auto plan = pack(gpus, demand);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->gpus.empty());
}

TEST(Pack, WholeGpusStayFree) {
  const auto board = a100();
  auto gpus = node(board, 8);
  gpus[5] = TestGpu(board, 5).with(k3g, 4, State::busy);
  const std::vector<DemandItem> demand{item(gpus, k2g, 2)};
  const auto plan = pack(gpus, demand);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->gpus.size(), 1U);
  EXPECT_EQ(plan->gpus[0].gpu, "GPU-5");
}

TEST(Pack, Case27OtherGpusAreNotTouched) {
  const auto board = a100("a100-sxm4-40gb");
  std::vector<Gpu> gpus;
  for (int g = 0; g < 8; ++g) gpus.push_back(TestGpu(board, g).with(k7g, 0, State::busy));
  gpus[3] = TestGpu(board, 3).with(k4g, 0, State::busy).with(k2g, 4);
  const std::vector<DemandItem> demand{item(gpus, k1g, 3)};
  const auto plan = pack(gpus, demand);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->gpus.size(), 1U);
  EXPECT_EQ(plan->gpus[0].gpu, "GPU-3");
  EXPECT_EQ(plan->gpu_instances_destroyed, 1);
}

TEST(Pack, GpusWithoutMigModeOrWithAFaultTakeNoPart) {
  const auto board = a100();
  auto gpus = node(board, 3);
  gpus[0].mode = layout::MigMode{false, false};
  gpus[1].fault = "lost";
  const std::vector<DemandItem> three{item(gpus, k7g, 3)};
  const auto plan = pack(gpus, three);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::impossible);
  EXPECT_THAT(plan.error().details, Contains("7g.80gb: 3 asked, 1 fit when nothing else is asked"));
  EXPECT_THAT(plan.error().details, Contains("GPU 0 takes no part: MIG mode is off"));
  EXPECT_THAT(plan.error().details, Contains("GPU 1 takes no part: lost"));
}

TEST(Pack, WhatFitsOnceMigModeIsOnIsPossible) {
  const auto board = a100();
  auto gpus = node(board, 5);
  for (const std::size_t off : {1U, 2U, 3U}) gpus[off].mode = layout::MigMode{false, false};
  gpus[1].processes.emplace_back();
  const std::vector<DemandItem> three{item(gpus, k7g, 3)};
  const auto plan = pack(gpus, three);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::no_space);
  EXPECT_THAT(plan.error().message, HasSubstr("turning on MIG mode of GPU 2 makes it fit"));
  EXPECT_THAT(plan.error().details, Contains("GPUs 1-3 take no part: MIG mode is off"));
  const std::vector<DemandItem> five{item(gpus, k7g, 5)};
  EXPECT_EQ(pack(gpus, five).error().code, ErrorCode::no_space);
}

TEST(Pack, NoSpaceNamesHoldersAndTheMoveThatHelps) {
  const auto board = a100();
  std::vector<Gpu> gpus{TestGpu(board, 0).with(k1g, 5, State::leased, "alice").with(k1g, 0, State::leased, "bob"),
                        TestGpu(board, 1).with(k4g, 0, State::busy, "pid 7 (train)")};
  const std::vector<DemandItem> demand{item(gpus, k3g, 2)};
  const auto plan = pack(gpus, demand);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::no_space);
  EXPECT_THAT(plan.error().message, HasSubstr("2 x 3g.40gb do not fit on this node now"));
  EXPECT_THAT(plan.error().message, HasSubstr("elsewhere makes it fit"));
  EXPECT_THAT(plan.error().details, Contains("3g.40gb: 2 asked, 1 fit when nothing else is asked"));
  EXPECT_THAT(plan.error().details, Contains("GPU 0: in the way 1g.10gb@0 (lease bob), 1g.10gb@5 (lease alice)"));
}

TEST(Pack, NoSpaceSaysWhatToReleaseWhenMovesDoNotHelp) {
  const auto board = a100();
  std::vector<Gpu> gpus{TestGpu(board, 0).with(k3g, 4, State::leased, "alice")};
  const std::vector<DemandItem> demand{item(gpus, k7g, 1)};
  const auto plan = pack(gpus, demand);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("releasing 3g.40gb@4 of GPU 0 (lease alice) makes it fit"));
  EXPECT_THAT(plan.error().details, Not(Contains(HasSubstr("makes it fit"))));
}

TEST(Pack, BadDemandIsRefused) {
  const auto board = a100();
  const auto gpus = node(board, 2);
  auto wrong = item(gpus, k1g, -1);
  EXPECT_EQ(pack(gpus, {&wrong, 1}).error().code, ErrorCode::invalid);
  auto missing = item(gpus, k1g, 1);
  missing.on_gpu.pop_back();
  EXPECT_EQ(pack(gpus, {&missing, 1}).error().code, ErrorCode::internal);
  auto start = item(gpus, k3g, 1);
  start.on_gpu[1] = want(board, k3g, 2);
  EXPECT_EQ(pack(gpus, {&start, 1}).error().code, ErrorCode::invalid);
  EXPECT_TRUE(pack(gpus, {}));
}

}  // namespace
}  // namespace partita::plan
