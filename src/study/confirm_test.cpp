#include "study/confirm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace partita::study {
namespace {

ConfirmService service(double rate, double limit_s, double spread = 0, double variability = 1) {
  return {"s", limit_s, 0.99, variability, spread, {{2, rate, 0.01, 1}}};
}

// A queue with constant service at load rho: 1 % of requests take longer than some limit, all of them take longer than
// the service itself.
TEST(Confirm, TellsKeptPromisesFromBrokenOnes) {
  const auto easy = confirm({service(20, 0.1)}, {.runs = 20}).value().front();
  EXPECT_EQ(easy.met, 20);
  EXPECT_LT(easy.late_share, 0.001);
  const auto broken = confirm({service(95, 0.02)}, {.runs = 5}).value().front();
  EXPECT_EQ(broken.met, 0);
  EXPECT_GT(broken.late_share, 0.3);
  const auto overloaded = confirm({service(150, 10)}, {.runs = 2}).value().front();
  EXPECT_EQ(overloaded.met, 0);
}

// M/D/1 at rho = 0.5, limit two services: P(wait > D) = 1 - (1 - rho) e^rho.
TEST(Confirm, AgreesWithQueueingTheory) {
  const auto result = confirm({service(50, 0.02)}, {.runs = 20, .requests = 50'000}).value().front();
  EXPECT_NEAR(result.late_share, 1 - (0.5 * std::exp(0.5)), 0.003);
}

// M/D/1 at rho = 0.6: 0.24 % wait six services or longer, so that no run of certain times is near the 1 %.
TEST(Confirm, UncertainTimesAndBurstsBreakSomeRuns) {
  const auto certain = confirm({service(60, 0.07)}, {.runs = 40}).value().front();
  const auto uncertain = confirm({service(60, 0.07, 0.3)}, {.runs = 40}).value().front();
  EXPECT_EQ(certain.met, 40);
  EXPECT_LT(uncertain.met, 40);
  EXPECT_GT(uncertain.met, 5);
  EXPECT_LT(confirm({service(60, 0.07, 0, 9)}, {.runs = 10}).value().front().met, 10);
  EXPECT_EQ(uncertain.met, confirm({service(60, 0.07, 0.3)}, {.runs = 40}).value().front().met);  // repeats
}

TEST(Confirm, RefusesServicesWithoutProcesses) {
  EXPECT_EQ(confirm({{"s", 1, 0.99, 1, 0, {}}}).error().code, ErrorCode::invalid);
  EXPECT_EQ(confirm({service(0, 1)}).error().code, ErrorCode::invalid);
}

}  // namespace
}  // namespace partita::study
