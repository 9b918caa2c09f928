#include "plan/geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plan/test_boards.h"

namespace partita::plan {
namespace {

struct Layouts {
  int all = 0, maximal = 0, maximal_multisets = 0;
  bool operator==(const Layouts&) const = default;
};

// Every layout of these profiles, by adding instances in ascending start order.
class Enumerator {
 public:
  Enumerator(const Geometry& geometry, std::vector<int> profiles)
      : geometry_(geometry), profiles_(std::move(profiles)) {}

  Layouts run() {
    extend(0);
    counts_.maximal_multisets = static_cast<int>(multisets_.size());
    return counts_;
  }

 private:
  void extend(int from) {
    ++counts_.all;
    bool maximal = true;
    for (int start = 0; start < geometry_.units(); ++start) {
      for (const int profile : profiles_) {
        now_.push_back({profile, start});
        if (valid(geometry_, now_)) {
          maximal = false;
          if (start >= from) extend(start + 1);
        }
        now_.pop_back();
      }
    }
    if (!maximal) return;
    ++counts_.maximal;
    std::multiset<int> multiset;
    for (const auto& placed : now_) multiset.insert(placed.profile);
    multisets_.insert(multiset);
  }

  const Geometry& geometry_;
  std::vector<int> profiles_;
  std::vector<Placed> now_;
  Layouts counts_;
  std::set<std::multiset<int>> multisets_;
};

// Hardware facts, layout counts computed there from the tables by another program.
TEST(Geometry, LayoutCountsAreTheKnownOnes) {
  using namespace test;
  const Geometry seven(a100());
  EXPECT_EQ((Enumerator(seven, {k1g, k2g, k3g, k4g, k7g}).run()), (Layouts{298, 19, 14}));
  EXPECT_EQ((Enumerator(seven, {k1g, k1gd, k2g, k3g, k4g, k7g}).run()), (Layouts{723, 78, 38}));
  EXPECT_EQ((Enumerator(seven, {k1g, k1g_me, k1gd, k2g, k3g, k4g, k7g}).run()), (Layouts{2319, 239, 64}));
  EXPECT_EQ((Enumerator(Geometry(a30()), {kA30_1g, kA30_2g, kA30_4g}).run()), (Layouts{26, 5, 4}));
}

TEST(Geometry, CellsAreTheUnitsThatPlacementsTellApart) {
  EXPECT_EQ(Geometry(test::a100()).cells(), 8);
  EXPECT_EQ(Geometry(test::a30()).cells(), 4);
  const Geometry rtx(test::rtx_pro_6000());
  EXPECT_EQ(rtx.cells(), 4);
  EXPECT_EQ(rtx.shapes().size(), 3U);
  EXPECT_EQ(rtx.cells_of(test::kR2g, 6), 0b1100U);
}

TEST(Geometry, ValidRefusesEachBrokenRule) {
  using namespace test;
  const Geometry seven(a100());
  EXPECT_TRUE(valid(seven, std::vector<Placed>{{k4g, 0}, {k3g, 4}}));
  EXPECT_FALSE(valid(seven, std::vector<Placed>{{k4g, 0}, {k1g, 3}})) << "overlap";
  EXPECT_FALSE(valid(seven, std::vector<Placed>{{k2g, 6}})) << "start not in the list";
  EXPECT_FALSE(valid(seven, std::vector<Placed>{{k1g_me, 0}, {k1g_me, 1}})) << "two +me";
  EXPECT_FALSE(valid(seven, std::vector<Placed>{{99, 0}})) << "no such profile";
  const Geometry thirty(a30());
  EXPECT_FALSE(valid(thirty, std::vector<Placed>{{kA30_1g_me, 0}, {kA30_2g_me, 2}})) << "two +me of different size";
  const Geometry rtx(rtx_pro_6000());
  EXPECT_TRUE(valid(rtx, std::vector<Placed>{{kR1g_all, 0}, {kR1g_no, 3}, {kR2g_no, 6}}));
  EXPECT_FALSE(valid(rtx, std::vector<Placed>{{kR1g_all, 0}, {kR1g, 3}})) << "media engine beside +me.all";
  EXPECT_FALSE(valid(rtx, std::vector<Placed>{{kR1g_all, 0}, {kR2g_all, 6}})) << "two +me.all";
}

TEST(Geometry, OpenPlacementsCountsWhatCouldStillBeMade) {
  using namespace test;
  const Geometry seven(a100());
  EXPECT_EQ(open_placements(seven, {}), 7 + 7 + 4 + 3 + 2 + 1 + 1);
  EXPECT_EQ(open_placements(seven, std::vector<Placed>{{k7g, 0}}), 0);
  // 3g@4 leaves 0-3: 4 of 1g, 4 of 1g+me, 2 of 1gd, 2 of 2g, 3g@0, 4g@0.
  EXPECT_EQ(open_placements(seven, std::vector<Placed>{{k3g, 4}}), 4 + 4 + 2 + 2 + 1 + 1);
}

}  // namespace
}  // namespace partita::plan
