#include "fleet/services/services.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <deque>
#include <random>

#include "base/csv.h"
#include "base/file.h"
#include "fleet/exact/solve.h"
#include "fleet/exact/test_instances.h"
#include "fleet/exact/validate.h"
#include "fleet/files/demand_file.h"
#include "fleet/services/queueing.h"

namespace partita::fleet {
namespace {

using testing::HasSubstr;

std::string measured(const std::string& name) {
  return read_file(std::string(PARTITA_SOURCE_DIR) + "/data/measured/" + name).value();
}

const std::vector<ServicePoint>& points(bool clean) {
  static const std::array<std::vector<ServicePoint>, 2> all{
      read_points(measured("parvagpu_a100_80gb_inference_profiles.csv"), "points", false).value(),
      read_points(measured("parvagpu_a100_80gb_inference_profiles.csv"), "points", true).value()};
  return all[clean ? 1 : 0];
}

Fleet open_a100() { return {{{"a100", test::board("a100-sxm4-80gb"), {}, std::nullopt}}}; }

Demand scenario(int number, double scale, const Fleet& fleet, const std::vector<ServicePoint>& from) {
  const auto table = parse_csv(measured("parvagpu_slo_scenarios.csv"), "scenarios").value();
  Demand out;
  for (const auto& row : table.rows) {
    if (row[0] != std::to_string(number)) continue;
    const Service service{row[1], row[1], std::stod(row[3]) * scale, std::stod(row[2])};
    const auto list = choices(from, service, {.kind = ServiceRule::Kind::saturated});
    out.wants.push_back(want_of(service, list.value(), fleet).value());
  }
  return out;
}

// GPUs and compute slices that two solvers proved on these scenarios.
TEST(Services, TakesTheFewestGpusAndSlicesInEachScenario) {
  constexpr std::array<std::array<std::pair<int, int>, 6>, 2> least{
      {{{{2, 10}, {3, 20}, {5, 30}, {7, 44}, {12, 82}, {15, 105}}},
       {{{2, 10}, {3, 20}, {5, 30}, {7, 44}, {12, 82}, {17, 110}}}}};
  const auto fleet = open_a100();
  for (const bool clean : {false, true}) {
    for (int s = 1; s <= 6; ++s) {
      const auto demand = scenario(s, 1, fleet, points(clean));
      const auto plan = solve(fleet, demand);
      ASSERT_TRUE(plan) << s;
      const auto right = validate(fleet, demand, *plan);
      ASSERT_TRUE(right) << s << right.error().message;
      EXPECT_TRUE(plan->optimal()) << s;
      const auto [gpus, slices] = least[clean ? 1 : 0][static_cast<std::size_t>(s - 1)];
      EXPECT_EQ(plan->levels[0].value, gpus) << "S" << s << (clean ? " clean" : "");
      EXPECT_EQ(plan->levels[2].value, slices) << "S" << s << (clean ? " clean" : "");
    }
  }
}

TEST(Services, ComesNearTheBoundAtAThousandTimesTheRate) {
  const auto fleet = open_a100();
  for (const int s : {1, 6}) {
    const auto demand = scenario(s, 1000, fleet, points(false));
    const auto plan = solve(fleet, demand, {{500, {}}, true, 1});
    ASSERT_TRUE(plan) << s;
    ASSERT_TRUE(validate(fleet, demand, *plan)) << s;
    EXPECT_LE(plan->levels[0].value, std::max(plan->levels[0].bound + 2, plan->levels[0].bound * 1.001)) << s;
  }
}

TEST(Services, SaysWhichLimitCannotBeMet) {
  const auto tight = choices(points(false), {"search", "bert", 10, 5}, {});
  ASSERT_FALSE(tight);
  EXPECT_EQ(tight.error().code, ErrorCode::impossible);
  EXPECT_THAT(tight.error().message, HasSubstr("search"));
  EXPECT_THAT(tight.error().message, HasSubstr("5 ms"));
  ASSERT_EQ(tight.error().details.size(), 1U);
  EXPECT_THAT(tight.error().details[0], HasSubstr("could be met"));
  // That limit is met, whatever the rule.
  for (const double variability : {1.0, 3.0, 50.0, 1000.0})
    for (const double quantile : {0.5, 0.99, 0.9999}) {
      const ServiceRule rule{.quantile = quantile, .variability = variability, .time_margin = 1.1};
      const auto refused = choices(points(false), {"search", "bert", 10, 5}, rule);
      ASSERT_FALSE(refused);
      const double limit = std::stod(refused.error().details[0].substr(std::string("a limit of ").size()));
      EXPECT_TRUE(choices(points(false), {"search", "bert", 10, limit}, rule)) << variability << ' ' << quantile;
    }
  const auto unknown = choices(points(false), {"x", "resnet5", 10, 500}, {});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("resnet50"));
}

// The share that is late when requests are played through a server one by one.
double played(const BatchServer& server, double rate_per_s, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const double group = std::max(1.0, (server.variability + 1) / 2);
  std::exponential_distribution<double> gap(rate_per_s / group / 1000);
  std::geometric_distribution<int> more(std::min(0.999, 1 / group));
  std::deque<double> waiting;
  double next = gap(random);
  double free = 0;
  std::int64_t late = 0;
  std::int64_t all = 0;
  const double length = 300'000 * std::max(std::min(server.batch, 10) * 1.0, group / 20);
  while (static_cast<double>(all) < length) {
    const double begin = waiting.empty() ? std::max(free, next) : free;
    const bool idle = waiting.empty() && next > free;  // the first of a group finds it so, and is served alone
    while (next <= begin) {
      for (int n = 1 + (group > 1 ? more(random) : 0); n > 0; --n) waiting.push_back(next);
      next += gap(random);
    }
    for (int i = idle ? server.batch - 1 : 0; i < server.batch && !waiting.empty(); ++i) {
      late += begin + server.service_ms - waiting.front() > server.limit_ms + 1e-9 ? 1 : 0;
      ++all;
      waiting.pop_front();
    }
    free = begin + server.service_ms;
  }
  return static_cast<double>(late) / static_cast<double>(all);
}

TEST(Queueing, PromisesWhatPlayedRequestsConfirm) {
  std::uint64_t seed = 1;
  for (const int batch : {1, 4, 16, 128}) {
    for (const double limit : {2.2, 3.0, 6.0}) {
      for (const double variability : {1.0, 4.0, 20.0}) {
        const BatchServer server{20, batch, limit * 20, 0.99, variability};
        const double rate = highest_rate(server);
        if (rate == 0) continue;
        EXPECT_LE(played(server, rate, ++seed), 0.0115) << batch << ' ' << limit << ' ' << variability;
        // And not much is given away.
        if (rate < 0.9 * 1000.0 * batch / 20) {
          EXPECT_GE(played(server, rate * 1.25, ++seed), 0.0098) << batch << ' ' << limit << ' ' << variability;
        }
      }
    }
  }
}

// A batch that takes all of a limit leaves nothing for rounding, nor for waiting.
TEST(Choices, KeepAwayFromTheLimit) {
  const ServiceRule rule;
  const std::vector<ServicePoint> points{{"m", "", 1, 1, 1, 60, 15}};
  EXPECT_FALSE(choices(points, {"web", "m", 1, 15}, rule));
  const auto just = choices(points, {"web", "m", 1, 15.1}, rule);
  ASSERT_TRUE(just);
  // Fewer than may be are late, also when a twentieth more come.
  const double rate = just->at(0).rate_per_s;
  EXPECT_LE(late_share({15, 1, 15.1, rule.quantile, rule.variability}, rate * 1.05), 0.0085);
  EXPECT_GE(late_share({15, 1, 15.1, rule.quantile, rule.variability}, rate * 1.05), 0.008);
}

// Bursts far larger than a batch, up to the largest that may be asked for, are judged at once, and as well.
TEST(Queueing, ServesLargeBursts) {
  std::uint64_t seed = 100;
  for (const int batch : {1, 6, 64})
    for (const double variability : {50.0, 1000.0})
      for (const double groups : {1.5, 8.0}) {  // of requests, whose services fit into the limit
        const double services = std::ceil(groups * 5 * (variability + 1) / 2 / batch) + 2;
        const BatchServer server{20, batch, services * 20, 0.99, variability};
        const double rate = highest_rate(server);
        const auto what = std::to_string(batch) + ' ' + std::to_string(variability) + ' ' + std::to_string(groups);
        EXPECT_GT(rate, 0) << what;
        if (rate > 0) {
          EXPECT_LE(played(server, rate, ++seed), 0.0125) << what;
        }
      }
  // What is too far behind in its own burst is late at any rate.
  EXPECT_EQ(highest_rate({20, 1, 100, 0.99, 1000}), 0);
  EXPECT_GT(late_of_groups({20, 1, 100, 0.99, 1000}), 0.98);
}

TEST(Queueing, TakesNothingWhereTheServiceAloneIsTooLong) {
  EXPECT_EQ(highest_rate({20, 4, 19, 0.99, 1}), 0);
  EXPECT_EQ(late_share({20, 4, 100, 0.99, 1}, 200.1), 1);
}

}  // namespace
}  // namespace partita::fleet
