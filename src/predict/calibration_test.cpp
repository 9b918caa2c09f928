#include "predict/calibration.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "predict/cases.h"

namespace partita::predict {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CalibrationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Library::open();
    ASSERT_TRUE(opened) << opened.error().message;
    library_.emplace(std::move(*opened));
    auto made = Predictor::make(**shipped_constants(), **library_->workload("resnet50", std::nullopt), Settings{},
                                **library_->board("a100-sxm4-80gb"));
    ASSERT_TRUE(made) << made.error().message;
    predictor_.emplace(std::move(*made));
  }

  Partition on(const std::string& profile) { return *library_->partition("a100-sxm4-80gb", profile); }
  // A point as a machine with these factors would measure it.
  Point point(const std::string& profile, int batch, const Factors& truth) {
    return {on(profile), batch, predictor_->time(on(profile), batch, truth)->total_s * 1e3};
  }
  double predicted(const std::string& profile, int batch, const Calibration& c) {
    return predictor_->predict(on(profile), batch, c)->step_ms.median;
  }

  std::optional<Library> library_;
  std::optional<Predictor> predictor_;
};

TEST_F(CalibrationTest, PointsOfAFasterDeviceAndASlowerHostAreLearned) {
  Factors truth{0.8, 0.9, 1.5};
  auto c =
      calibrate(*predictor_, {point("7g.80gb", 1, truth), point("7g.80gb", 256, truth), point("1g.10gb", 256, truth)});
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_THAT(c->notes, IsEmpty());
  EXPECT_NEAR(c->host, 1.5, 0.05);
  for (const char* profile : {"1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb"}) {
    for (int batch : {1, 16, 128}) {
      double expected = point(profile, batch, truth).step_ms;
      EXPECT_NEAR(predicted(profile, batch, *c) / expected, 1, 0.05) << profile << " batch " << batch;
    }
  }
}

TEST_F(CalibrationTest, OwnPointsNarrowTheInterval) {
  auto c = calibrate(*predictor_, {point("7g.80gb", 256, {})});
  ASSERT_TRUE(c);
  Estimate before = predictor_->predict(on("3g.40gb"), 256)->step_ms;
  Estimate after = predictor_->predict(on("3g.40gb"), 256, *c)->step_ms;
  EXPECT_LT(after.high / after.low, before.high / before.low);
}

TEST_F(CalibrationTest, ContradictionsAreSaid) {
  Point a = point("3g.40gb", 64, {}), b = a;
  b.step_ms = 2 * a.step_ms;
  auto twice = calibrate(*predictor_, {a, b});
  ASSERT_TRUE(twice);
  EXPECT_THAT(twice->notes, Contains(HasSubstr("contradictory points: 3g.40gb at batch 64")));
  EXPECT_GT(twice->residual, 0.2) << "and nothing is certain any more";

  Point small = point("1g.10gb", 64, {}), large = point("7g.80gb", 64, {});
  large.step_ms = 2 * small.step_ms;
  auto turned = calibrate(*predictor_, {small, large});
  ASSERT_TRUE(turned);
  EXPECT_THAT(turned->notes, Contains(HasSubstr("is slower than 1g.10gb")));
}

TEST_F(CalibrationTest, WrongPointsAreErrors) {
  EXPECT_THAT(calibrate(*predictor_, {}).error().message, HasSubstr("at least one"));
  Point point{on("3g.40gb"), 64, -1};
  EXPECT_THAT(calibrate(*predictor_, {point}).error().message, HasSubstr("above 0 ms"));
  point.step_ms = std::nan("");
  EXPECT_THAT(calibrate(*predictor_, {point}).error().message, HasSubstr("above 0 ms"));
  Point other{*library_->partition("a100-sxm4-40gb", "3g.20gb"), 64, 10};
  point.step_ms = 10;
  EXPECT_THAT(calibrate(*predictor_, {point, other}).error().message, HasSubstr("different boards"));
}

TEST_F(CalibrationTest, TheNextPointIsOneThatTeachesSomething) {
  std::vector<Point> places;
  for (const char* profile : {"1g.10gb", "3g.40gb", "7g.80gb"}) {
    for (int batch : {1, 32, 256}) places.push_back({on(profile), batch, 0});
  }
  auto first = next_point(*predictor_, places, {});
  ASSERT_TRUE(first);
  EXPECT_LT(first->spread_after, first->spread_before);
  auto c = calibrate(*predictor_, {point("1g.10gb", 256, {})});
  ASSERT_TRUE(c);
  auto second = next_point(*predictor_, places, *c);
  ASSERT_TRUE(second);
  EXPECT_NE(places[second->place].batch, 256) << "the host is not known yet";
  EXPECT_LT(second->spread_before, first->spread_before);
  EXPECT_FALSE(next_point(*predictor_, {}, {}));
}

TEST_F(CalibrationTest, WhatTheNextPointPromisesIsWhatTheIntervalsSay) {
  std::vector<Point> places;
  for (const char* profile : {"1g.10gb", "3g.40gb", "7g.80gb"}) places.push_back({on(profile), 64, 0});
  auto stated = [&](const Calibration& c) {
    double sum = 0;
    for (const Point& place : places) {
      Estimate ms = predictor_->predict(place.partition, place.batch, c)->step_ms;
      sum += std::log(ms.high / ms.low) / (2 * 1.645);
    }
    return sum / static_cast<double>(places.size());
  };
  Point a = point("3g.40gb", 64, {}), b = a;
  auto good = calibrate(*predictor_, {a});
  b.step_ms = 3 * a.step_ms;
  auto torn = calibrate(*predictor_, {a, b});
  ASSERT_TRUE(good && torn);
  auto after_good = next_point(*predictor_, places, *good), after_torn = next_point(*predictor_, places, *torn);
  ASSERT_TRUE(after_good && after_torn);
  EXPECT_NEAR(after_good->spread_before, stated(*good), 0.005);
  EXPECT_NEAR(after_torn->spread_before, stated(*torn), 0.005);
  EXPECT_GT(after_torn->spread_before, 0.4) << "two times that differ by a factor of three";
  EXPECT_GT(after_torn->spread_after, 0.4) << "one more point does not settle which of them was right";
}

TEST_F(CalibrationTest, TwoPointsThatContradictEachOtherAreAnError) {
  TwoPoints points{{on("7g.80gb"), 64, 40}, {on("1g.10gb"), 64, 20}};
  auto found = from_two_points(**shipped_constants(), points, on("3g.40gb"));
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("contradictory points: 7g.80gb at batch 64 (40 ms) is slower"));
}

TEST_F(CalibrationTest, TwoPointsThatNoGpuCanGiveAreAnError) {
  TwoPoints points{{on("7g.80gb"), 32, 13.9}, {on("1g.10gb"), 32, 32000}};
  auto found = from_two_points(**shipped_constants(), points, on("3g.40gb"));
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("7g.80gb at batch 32 (13.9 ms) is 2302 times as fast, at 8 times"));
}

// Two points that the host bounds say nothing about a slice that it does not.
TEST_F(CalibrationTest, BeyondTheTwoPointsTheIntervalHoldsWhatTheyCannotTell) {
  const Constants& constants = **shipped_constants();
  TwoPoints points{{on("7g.80gb"), 8, 5.0}, {on("3g.40gb"), 8, 5.2}};
  auto one = from_two_points(constants, points, on("1g.10gb"));
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_LT(one->low, 5.2);
  EXPECT_GT(one->high, 5.2 * 2.5);
  points = {{on("2g.20gb"), 8, 10}, {on("1g.10gb"), 8, 20}};
  auto seven = from_two_points(constants, points, on("7g.80gb"));
  ASSERT_TRUE(seven) << seven.error().message;
  EXPECT_LT(seven->low, 3) << "as fast as it is large";
  EXPECT_GT(seven->high, 10) << "or no faster, where the host bounds it";
}

TEST_F(CalibrationTest, ManyPointsAreBoundedAndManyContradictionsCounted) {
  std::vector<Point> points;
  for (int i = 0; i < 40; ++i) points.push_back({on("7g.80gb"), 8, i % 2 == 0 ? 10.0 : 20.0});
  auto found = calibrate(*predictor_, points);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_LE(found->notes.size(), 4u);
  EXPECT_THAT(found->notes, Contains(HasSubstr("more pairs of points contradict")));
  points.resize(kMostPoints + 1, points.front());
  EXPECT_THAT(calibrate(*predictor_, points).error().message, HasSubstr("at most 1000"));
}

TEST_F(CalibrationTest, TwoPointsAloneGiveTheProfilesBetween) {
  const Constants& constants = **shipped_constants();
  TwoPoints points{{on("7g.80gb"), 64, 20}, {on("1g.10gb"), 64, 140}};
  auto three = from_two_points(constants, points, on("3g.40gb"));
  ASSERT_TRUE(three) << three.error().message;
  EXPECT_GT(three->median, 40);
  EXPECT_LT(three->median, 50);
  EXPECT_LT(three->low, three->median);
  auto largest = from_two_points(constants, points, on("7g.80gb"));
  EXPECT_NEAR(largest->median, 20, 1);
  points.smallest.batch = 32;
  EXPECT_THAT(from_two_points(constants, points, on("3g.40gb")).error().message, HasSubstr("the same batch"));
  points.smallest = points.largest;
  EXPECT_THAT(from_two_points(constants, points, on("3g.40gb")).error().message, HasSubstr("larger and a smaller"));
}

}  // namespace
}  // namespace partita::predict
