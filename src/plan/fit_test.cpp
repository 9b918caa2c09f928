#include "plan/fit.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "plan/test_random.h"

namespace partita::plan {
namespace {

// The best openness over all placings, by trying every one in profile order; -1 when there is none.
class BruteForce {
 public:
  BruteForce(const Geometry& geometry, std::vector<Placed> pinned, std::vector<int> counts)
      : geometry_(geometry), now_(std::move(pinned)), left_(std::move(counts)) {}
  int best() {
    descend(0);
    return best_;
  }

 private:
  void descend(std::size_t p) {
    while (p < left_.size() && left_[p] == 0) ++p;
    if (p == left_.size()) {
      best_ = std::max(best_, open_placements(geometry_, now_));
      return;
    }
    for (const auto& place : geometry_.profiles()[p].placements) {
      now_.push_back({static_cast<int>(p), place.start});
      if (valid(geometry_, now_)) {
        --left_[p];
        descend(p);
        ++left_[p];
      }
      now_.pop_back();
    }
  }
  const Geometry& geometry_;
  std::vector<Placed> now_;
  std::vector<int> left_;
  int best_ = -1;
};

void check_against_brute_force(const catalog::Board& board, int most) {
  const Geometry geometry(board);
  EXPECT_TRUE(rc::check("fit finds a placing exactly when one exists, and the most open one", [&] {
    const auto pinned = test::random_state(geometry, test::draw(0, 5));
    const auto counts = test::random_counts(geometry, most);
    const int best = BruteForce(geometry, pinned, counts).best();
    const auto placed = fit(geometry, pinned, counts);
    RC_ASSERT(placed.has_value() == (best >= 0));
    RC_ASSERT(fits(geometry, pinned, counts) == (best >= 0));
    RC_CLASSIFY(placed.has_value(), "fits");
    if (!placed) return;
    auto all = pinned;
    all.insert(all.end(), placed->begin(), placed->end());
    RC_ASSERT(valid(geometry, all));
    std::vector<int> found(counts.size());
    for (const auto& at : *placed) ++found[static_cast<std::size_t>(at.profile)];
    RC_ASSERT(found == counts);
    RC_ASSERT(std::ranges::is_sorted(*placed, {}, &Placed::start));
    RC_ASSERT(open_placements(geometry, all) == best);
  }));
}

TEST(Fit, AgreesWithBruteForceOnSevenSlices) { check_against_brute_force(test::a100(), 5); }
TEST(Fit, AgreesWithBruteForceOnA30) { check_against_brute_force(test::a30(), 4); }
TEST(Fit, AgreesWithBruteForceOnRtxPro) { check_against_brute_force(test::rtx_pro_6000(), 4); }

// The closed form for empty GPUs of the seven-slice geometry (planning facts, section 0), for one GPU.
bool packable(int n1, int n1gd, int n2, int n3, int n4, int n7) {
  const int g = 1 - n7;
  int l = g - n4;
  int r = g - n3;
  if (r < 0) {
    l += r;
    r = 0;
  }
  if (g < 0 || l < 0) return false;
  const int a = 2 * l + r;
  const int b = r;
  const int x = std::min(n1gd, b);
  const int single = std::max(0, n1 - (b - x));
  return n2 + (n1gd - x) + (single + 1) / 2 <= a;
}

TEST(Fit, AgreesWithTheClosedFormOnEmptyGpus) {
  using namespace test;
  const Geometry geometry(a100());
  int feasible = 0;
  for (int n1 = 0; n1 <= 7; ++n1)
    for (int n1gd = 0; n1gd <= 4; ++n1gd)
      for (int n2 = 0; n2 <= 3; ++n2)
        for (int n3 = 0; n3 <= 2; ++n3)
          for (int n4 = 0; n4 <= 1; ++n4)
            for (int n7 = 0; n7 <= 1; ++n7) {
              std::vector<int> counts(7);
              counts[k1g] = n1, counts[k1gd] = n1gd, counts[k2g] = n2;
              counts[k3g] = n3, counts[k4g] = n4, counts[k7g] = n7;
              const bool expected = packable(n1, n1gd, n2, n3, n4, n7);
              EXPECT_EQ(fits(geometry, {}, counts), expected) << n1 << n1gd << n2 << n3 << n4 << n7;
              feasible += expected ? 1 : 0;
            }
  EXPECT_GT(feasible, 38);
}

TEST(Fit, TiesGoToTheHighestStarts) {
  using namespace test;
  const Geometry geometry(a100());
  std::vector<int> counts(7);
  counts[k1g] = 1;
  EXPECT_EQ(fit(geometry, {}, counts), (std::vector<Placed>{{k1g, 6}}));
  counts[k1g] = 2;
  EXPECT_EQ(fit(geometry, {}, counts).value_or(std::vector<Placed>{}).size(), 2U);
}

TEST(Fit, NothingWantedFitsAlways) {
  const Geometry geometry(test::a100());
  const std::vector<int> nothing(7);
  EXPECT_EQ(fit(geometry, {}, nothing), std::vector<Placed>{});
  EXPECT_EQ(fit(geometry, std::vector<Placed>{{test::k7g, 0}}, nothing), std::vector<Placed>{});
}

TEST(Fit, HugeCountsDoNotFit) {
  const Geometry geometry(test::a100());
  std::vector<int> counts(7, 1'000'000);
  EXPECT_FALSE(fits(geometry, {}, counts));
  EXPECT_FALSE(fits(geometry, {}, std::vector<int>(9, 1))) << "more profiles than the board has";
}

// Case 1: the typed order or largest first at the lowest start would fail half-way.
TEST(Fit, Case1ThreeTwoAndTwoOnesOnAnEmptyA100) {
  using namespace test;
  const Geometry geometry(a100());
  std::vector<int> counts(7);
  counts[k3g] = 1, counts[k2g] = 1, counts[k1g] = 2;
  const auto placed = fit(geometry, {}, counts).value_or(std::vector<Placed>{});
  EXPECT_TRUE(valid(geometry, placed));
  EXPECT_EQ(placed.size(), 4U);
}

TEST(Fit, Case2FourBesideThree) {
  using namespace test;
  const Geometry geometry(a100());
  std::vector<int> counts(7);
  counts[k4g] = 1, counts[k3g] = 1;
  EXPECT_EQ(fit(geometry, {}, counts), (std::vector<Placed>{{k4g, 0}, {k3g, 4}}));
}

TEST(Fit, Case11TwoBesideTwoOnesOnA30) {
  using namespace test;
  const Geometry geometry(a30());
  std::vector<int> counts(5);
  counts[kA30_2g] = 1;
  const std::vector<Placed> ones{{kA30_1g, 0}, {kA30_1g, 1}};
  EXPECT_EQ(fit(geometry, ones, counts), (std::vector<Placed>{{kA30_2g, 2}}));
}

}  // namespace
}  // namespace partita::plan
