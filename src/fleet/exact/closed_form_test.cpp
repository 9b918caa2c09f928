#include "fleet/exact/closed_form.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "fleet/exact/solve.h"
#include "fleet/exact/test_instances.h"
#include "fleet/exact/validate.h"

namespace partita::fleet {
namespace {

using Vector = std::array<int, 6>;  // 1, 1 double, 2, 3, 4, 7

SevenSliceCounts counts_of(const Vector& v) { return {v[0], v[1], v[2], v[3], v[4], v[5]}; }

// All multisets that one GPU holds, found by placing alone.
std::set<Vector> one_gpu() {
  const auto on = test::board("a100-sxm4-80gb");
  const plan::Geometry geometry(*on);
  const auto profiles = test::plain_profiles(*on);
  std::set<Vector> out;
  const auto descend = [&](auto&& self, std::vector<plan::Placed>& placed, const Vector& now) -> void {
    out.insert(now);
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      for (const auto& place : geometry.profiles()[static_cast<std::size_t>(profiles[i])].placements) {
        if (!placed.empty() && place.start < placed.back().start) continue;
        placed.push_back({profiles[i], place.start});
        auto next = now;
        ++next[i];
        if (valid(geometry, placed)) self(self, placed, next);
        placed.pop_back();
      }
    }
  };
  std::vector<plan::Placed> none;
  descend(descend, none, {});
  return out;
}

Vector sum(Vector a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// More than a million count vectors, each looked up among all sums of what one GPU holds.
TEST(ClosedForm, AgreesWithEnumerationOnUpToThreeGpus) {
  const auto one = one_gpu();
  std::set<Vector> now{Vector{}};
  std::int64_t cases = 0;
  for (int gpus = 1; gpus <= 3; ++gpus) {
    std::set<Vector> next;
    for (const auto& a : now)
      for (const auto& b : one) next.insert(sum(a, b));
    now = std::move(next);
    const Vector most{(7 * gpus) + 2, (4 * gpus) + 2, (3 * gpus) + 2, (2 * gpus) + 2, gpus + 2, gpus + 2};
    Vector v{};
    while (true) {
      ++cases;
      ASSERT_EQ(packable(counts_of(v), gpus), now.contains(v))
          << gpus << " GPUs: " << v[0] << ' ' << v[1] << ' ' << v[2] << ' ' << v[3] << ' ' << v[4] << ' ' << v[5];
      std::size_t i = 0;
      while (i < v.size() && ++v[i] > most[i]) v[i++] = 0;
      if (i == v.size()) break;
    }
  }
  EXPECT_GE(cases, 1'000'000);
}

struct Case {
  Fleet fleet;
  Demand demand;
};

Case random_case(std::mt19937_64& random, int most) {
  const auto on = test::board("a100-sxm4-80gb");
  Case out;
  out.fleet.kinds.push_back({"a100", on, {}, std::nullopt});
  for (const int p : test::plain_profiles(*on)) {
    const auto n = static_cast<int>(random() % static_cast<unsigned>(most));
    if (n > 0)
      out.demand.wants.push_back({on->profiles[static_cast<std::size_t>(p)].name, static_cast<double>(n), {{0, p}}});
  }
  return out;
}

TEST(ClosedForm, AgreesWithTheIntegerProgram) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto one = random_case(random, i % 2 == 0 ? 12 : 4000);
    if (one.demand.wants.empty()) continue;
    const auto fast = solve(one.fleet, one.demand);
    const auto slow = solve(one.fleet, one.demand, {{}, false, 1});
    ASSERT_TRUE(fast && slow) << i;
    ASSERT_EQ(fast->method, "closed form");
    ASSERT_EQ(slow->method, "integer program");
    ASSERT_TRUE(slow->levels.front().proven()) << i;
    ASSERT_EQ(fast->levels.front().value, slow->levels.front().value) << i;
    for (const auto* plan : {&*fast, &*slow}) {
      const auto right = validate(one.fleet, one.demand, *plan);
      ASSERT_TRUE(right) << i << ": " << right.error().message;
    }
  }
}

TEST(ClosedForm, AppliesToBoardsOfThatGeometryOnly) {
  EXPECT_TRUE(seven_slice_profiles(*test::board("h100-sxm5-80gb")));
  EXPECT_FALSE(seven_slice_profiles(*test::board("a30-24gb")));
  EXPECT_FALSE(seven_slice_profiles(*test::board("rtx-pro-6000-server")));
}

TEST(ClosedForm, PlacesTheLargestFleetInAFewGroups) {
  const auto on = test::board("a100-sxm4-80gb");
  const auto profiles = seven_slice_profiles(*on);
  ASSERT_TRUE(profiles);
  const SevenSliceCounts counts{9'000'001, 3'000'001, 2'000'001, 1'500'001, 700'001, 11};
  const auto gpus = least_gpus(counts);
  EXPECT_FALSE(packable(counts, gpus - 1));
  EXPECT_LE(pack_seven_slices(*profiles, counts, gpus).size(), 40U);
}

}  // namespace
}  // namespace partita::fleet
