#include "study/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "study/event_queue.h"
#include "study/histogram.h"
#include "study/request_queue.h"

namespace partita::study {
namespace {

TEST(Random, LogAndExpAreThoseOfTheLibrary) {
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double x = std::ldexp(1 + random.uniform(), static_cast<int>(random.bits() % 2000) - 1000);
    EXPECT_NEAR(portable_log(x), std::log(x), 4e-16 * std::max(1.0, std::abs(std::log(x))));
    const double y = 1400 * random.uniform() - 700;
    EXPECT_NEAR(portable_exp(y) / std::exp(y), 1, 2e-15);
  }
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(-1000), 0);
}

TEST(Random, FirstNumbersAreFixed) {
  Random random(42);
  EXPECT_EQ(random.bits(), 4041048026548471592ULL);
  EXPECT_NE(Random(42, 1).bits(), Random(42, 0).bits());
  EXPECT_NE(Random(43).bits(), Random(42).bits());
}

TEST(Random, MomentsOfGamma) {
  for (const double variation : {0.1, 0.5, 1.0, 2.0, 4.0}) {
    Random random(7);
    constexpr int n = 400'000;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
      const double x = random.gamma(variation);
      ASSERT_GE(x, 0);
      sum += x, squares += x * x;
    }
    const double mean = sum / n, spread = std::sqrt(squares / n - mean * mean);
    EXPECT_NEAR(mean, 1, 5 * variation / std::sqrt(n)) << variation;
    EXPECT_NEAR(spread, variation, 0.03 * variation) << variation;
  }
}

TEST(Histogram, QuantilesAreWithinTheStatedError) {
  Random random(3);
  Histogram histogram;
  std::vector<double> values;
  for (int i = 0; i < 50'000; ++i) {
    values.push_back(portable_exp(6 * random.normal() - 5));
    histogram.add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.001, 0.1, 0.5, 0.9, 0.95, 0.99, 0.9999, 1.0}) {
    const double exact = values[static_cast<std::size_t>(std::ceil(q * 50'000)) - 1];
    EXPECT_NEAR(histogram.quantile(q) / exact, 1, Histogram::kRelativeError) << q;
  }
  EXPECT_EQ(histogram.max(), values.back());
  histogram.clear();
  EXPECT_EQ(histogram.quantile(0.5), 0);
  histogram.add(0);
  histogram.add(1e300);
  EXPECT_EQ(histogram.total(), 2u);
}

TEST(EventQueue, GivesTheFirstOfManyClocks) {
  Random random(5);
  for (const std::size_t slots : {1u, 2u, 5u, 64u, 100u}) {
    EventQueue queue(slots);
    std::vector<double> times(slots, std::numeric_limits<double>::infinity());
    for (int i = 0; i < 2000; ++i) {
      const auto slot = static_cast<std::size_t>(random.bits() % slots);
      const double time = random.bits() % 4 == 0 ? std::numeric_limits<double>::infinity()
                                                 : static_cast<double>(random.bits() % 50);  // with ties
      queue.set(slot, time);
      times[slot] = time;
      const auto first = std::min_element(times.begin(), times.end()) - times.begin();
      ASSERT_EQ(queue.time(queue.first()), times[static_cast<std::size_t>(first)]);
      if (std::isfinite(times[static_cast<std::size_t>(first)])) {
        ASSERT_EQ(queue.first(), static_cast<std::size_t>(first));
      }
    }
  }
}

TEST(RequestQueue, IsFirstInFirstOut) {
  RequestQueue queue;
  double in = 0, out = 0;
  Random random(9);
  for (int i = 0; i < 10'000; ++i) {
    if (random.bits() % 5 < 3) {
      queue.push(in++);
    } else if (!queue.empty()) {
      ASSERT_EQ(queue[queue.size() - 1], in - 1);
      ASSERT_EQ(queue.pop(), out++);
    }
  }
  EXPECT_EQ(static_cast<double>(queue.size()), in - out);
}

}  // namespace
}  // namespace partita::study
