// The simulator beside measurements: only times of one tenant alone go in, the rest must come out.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "base/csv.h"
#include "study/sharing_priors.h"
#include "study/simulator_cases.h"

namespace partita::study {
namespace {

using namespace cases;

CsvTable measured(const std::string& name) {
  const std::string path = std::string(PARTITA_SOURCE_DIR) + "/data/measured/" + name;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file.good()) << path;
  auto table = parse_csv(text.str(), name);
  EXPECT_TRUE(table.has_value()) << (table ? "" : table.error().message);
  return table ? *table : CsvTable{};
}

double mean_time(Scenario scenario, double alone_s) {
  scenario.duration_s = 400 * alone_s * static_cast<double>(scenario.tenants.size());
  scenario.warmup_s = scenario.duration_s / 10;
  const auto result = run(scenario);
  double sum = 0;
  for (const auto& t : result.tenants) sum += t.mean_latency_s;
  return sum / static_cast<double>(result.tenants.size());
}

// Pods that each saturate: YOLOS-small, batch 1, on an A100 PCIe 80 GB.
class Pods {
 public:
  Pods() {
    const auto table = measured("nos_sharing_comparison_a100.csv");
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      seconds_[{table.rows[i][0], std::stoi(table.rows[i][1])}] = table.number(i, 2).value().value();
  }
  const std::map<std::pair<std::string, int>, double>& all() const { return seconds_; }
  double alone(const std::string& mode) const { return seconds_.at({mode, 1}); }

  double simulated(const std::string& mode, int pods) const {
    Scenario s;
    if (mode == "mig-1g.10gb")
      for (int i = 0; i < 7; ++i) s.servers.push_back({.name = "1g.10gb", .neighbour_loss = kMigNeighbourLoss});
    else if (mode == "mps")
      s.servers.push_back(
          {.name = "gpu", .sharing = Sharing::mps, .contention = kMpsContention, .saturation = kMpsSaturation});
    else
      s.servers.push_back({.name = "gpu",
                           .sharing = Sharing::time_slice,
                           .quantum_s = kTimeSliceQuantumS,
                           .switch_s = kTimeSliceSwitchS});
    for (int i = 0; i < pods; ++i) {
      Tenant t = closed("pod" + std::to_string(i), 1, 0, alone(mode));
      // 1g has 14 of the 108 multiprocessors that the whole GPU has (data/boards/a100-pcie-80gb.yaml).
      t.service.demand = mps_demand(alone("mps"), alone("mig-1g.10gb"), 14, 108);
      t.server = mode == "mig-1g.10gb" ? i : 0;
      s.tenants.push_back(t);
    }
    return mean_time(s, alone(mode));
  }

 private:
  std::map<std::pair<std::string, int>, double> seconds_;
};

TEST(Measured, PodsUnderEachSharingMode) {
  const Pods pods;
  ASSERT_EQ(pods.all().size(), 12u);
  double worst = 0;
  for (const auto& [cell, seconds] : pods.all()) {
    const auto& [mode, n] = cell;
    const double simulated = pods.simulated(mode, n), error = simulated / seconds - 1;
    std::printf("[   FIGURE ] %-12s %d pods: measured %.4f s, simulated %.4f s, %+.1f %%%s\n", mode.c_str(), n, seconds,
                simulated, 100 * error, n == 1 ? " (input)" : "");
    EXPECT_LE(std::abs(error), n == 1 ? 1e-6 : 0.10) << mode << ' ' << n;
    worst = std::max(worst, std::abs(error));
  }
  std::printf("[   FIGURE ] worst cell %.1f %%\n", 100 * worst);
}

// The rule of thumb that the table gives, for any number of tenants.
TEST(Measured, ShapesOfTheModes) {
  const Pods pods;
  for (int n = 2; n <= 7; ++n) {
    EXPECT_NEAR(pods.simulated("time-slicing", n) / (1.11 * n * pods.alone("time-slicing")), 1, 0.01) << n;
    EXPECT_LT(pods.simulated("mps", n), n * pods.alone("mps")) << n;
    EXPECT_GT(pods.simulated("mps", n), pods.simulated("mps", n - 1)) << n;
    EXPECT_NEAR(pods.simulated("mig-1g.10gb", n) / pods.alone("mig-1g.10gb"), 1, 0.0125) << n;
  }
}

// Throughput of a slice beside busy neighbours: 0.976 to 1.0; 0.93 for a model heavy on host and PCIe.
TEST(Measured, NeighboursOfASlice) {
  const auto kept = [](double loss, int busy) {
    Scenario s;
    for (int i = 0; i < 7; ++i) s.servers.push_back({.name = "1g", .neighbour_loss = loss});
    for (int i = 0; i <= busy; ++i) {
      s.tenants.push_back(closed("t" + std::to_string(i), 1, 0, 0.01, i == 0 ? 0 : 0.3));
      s.tenants.back().server = i;
    }
    s.duration_s = 100;
    const double rate = run(s).tenants[0].throughput_per_s;
    std::printf("[   FIGURE ] neighbour loss %.4f, %d of 6 neighbours busy: keeps %.4f\n", loss, busy, rate / 100);
    return rate / 100;
  };
  EXPECT_NEAR(kept(kMigNeighbourLoss, 0), 1, 1e-3);
  EXPECT_NEAR(kept(kMigNeighbourLoss, 3), 1 / (1 + kMigNeighbourLoss / 2), 1e-3);
  EXPECT_THAT(kept(kMigNeighbourLoss, 6), testing::AllOf(testing::Ge(0.976), testing::Le(1)));
  EXPECT_NEAR(kept(kMigNeighbourLossHostHeavy, 6), 0.93, 1e-3);
}

// Equal processes under MPS inside MIG instances: the demand from one cell (most processes), the others follow. This
// tests the shape of the crowding rule, not the demand.
TEST(Measured, MpsProcessesInInstances) {
  const auto table = measured("parvagpu_a100_80gb_inference_profiles.csv");
  const auto column = [&](const char* name) { return table.require(name).value(); };
  std::map<std::tuple<std::string, std::string, std::string>, std::map<int, double>> groups;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto& row = table.rows[i];
    if (row[0] == "bert" || row[column("not_run")] == "1" || !row[column("suspect")].empty()) continue;
    groups[{row[0], row[1], row[2]}][std::stoi(row[column("procs")])] =
        table.number(i, column("throughput_per_proc")).value().value();
  }
  std::vector<double> errors;
  for (const auto& [cell, by_procs] : groups) {
    if (!by_procs.contains(1) || by_procs.size() < 4) continue;
    const auto [most, slowest] = *by_procs.rbegin();
    const double slowdown = by_procs.at(1) / slowest;
    const double demand = std::clamp(std::sqrt((slowdown * slowdown - 1) / (most * most - 1)), 0.01, 1.0);
    for (const auto& [procs, rate] : by_procs) {
      if (procs == 1 || procs == most) continue;
      Scenario s;
      s.servers.push_back({.name = "gi", .sharing = Sharing::mps, .saturation = kMpsSaturation});
      for (int i = 0; i < procs; ++i) {
        s.tenants.push_back(closed("p" + std::to_string(i), 1, 0, 1 / by_procs.at(1)));
        s.tenants.back().service.demand = slowdown > 1 ? demand : 0.01;
      }
      errors.push_back(std::abs(1 / mean_time(s, 1 / by_procs.at(1)) / rate - 1));
    }
  }
  ASSERT_GT(errors.size(), 100u);
  std::sort(errors.begin(), errors.end());
  double sum = 0;
  for (const double e : errors) sum += e;
  const double mean = sum / static_cast<double>(errors.size());
  std::printf("[   FIGURE ] MPS processes, %zu cells: mean %.1f %%, median %.1f %%, p90 %.1f %%\n", errors.size(),
              100 * mean, 100 * errors[errors.size() / 2], 100 * errors[errors.size() * 9 / 10]);
  EXPECT_LT(mean, 0.08);
}

}  // namespace
}  // namespace partita::study
