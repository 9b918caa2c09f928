#include "predict/fit_calibration.h"

#include <cmath>

#include <gtest/gtest.h>

#include "predict/own_points.h"

namespace partita::predict {
namespace {

class FitCalibrationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Library::open();
    ASSERT_TRUE(opened) << opened.error().message;
    library_.emplace(std::move(*opened));
    constants_ = **shipped_constants();
  }

  Measurement row(const std::string& profile, int batch, double step_ms) {
    Measurement m;
    m.set = "lab";
    m.board = "a100-sxm4-80gb";
    m.profile = profile;
    m.workload = "resnet50";
    m.settings.batch = batch;
    m.step_ms = step_ms;
    m.throughput = batch * 1e3 / step_ms;
    return m;
  }

  std::vector<Case> cases(const std::vector<Measurement>& rows) {
    Resolved resolved = resolve(*library_, rows);
    EXPECT_TRUE(resolved.unusable.empty());
    return resolved.cases;
  }

  std::optional<Library> library_;
  Constants constants_;
};

const std::vector<std::string> kProfiles{"1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"};
const std::vector<int> kBatches{1, 2, 4, 8, 16, 32, 64, 128};

TEST_F(FitCalibrationTest, TheWeightOfTheMultiprocessorsIsFoundAgain) {
  std::vector<Measurement> rows;
  for (const std::string& profile : kProfiles) {
    auto device = device_of(constants_, *library_->partition("a100-sxm4-80gb", profile));
    ASSERT_TRUE(device) << device.error().message;
    auto whole = *device_of(constants_, *library_->partition("a100-sxm4-80gb", "7g.80gb"));
    double weight = 0.4 * whole.multiprocessors / device->multiprocessors + 0.6 * whole.bandwidth / device->bandwidth;
    for (int batch : kBatches) rows.push_back(row(profile, batch, 10 * batch * weight));
  }
  ASSERT_TRUE(fit_calibration(cases(rows), constants_));
  EXPECT_NEAR(constants_[Key::two_points_compute], 0.4, 0.002);
}

TEST_F(FitCalibrationTest, WhatTheModelTellsLeavesNoSpread) {
  auto predictor = Predictor::make(constants_, **library_->workload("resnet50", std::nullopt), Settings{},
                                   **library_->board("a100-sxm4-80gb"));
  ASSERT_TRUE(predictor);
  auto after = [&](double error) {
    std::vector<Measurement> rows;
    for (const std::string& profile : kProfiles) {
      for (int batch : kBatches) {
        double ms = predictor->time(*library_->partition("a100-sxm4-80gb", profile), batch)->total_s * 1e3;
        rows.push_back(row(profile, batch, profile == "3g.40gb" ? ms * (1 + error) : ms));
      }
    }
    Constants found = constants_;
    EXPECT_TRUE(fit_calibration(cases(rows), found));
    return found[Key::calibrated_spread];
  };
  EXPECT_DOUBLE_EQ(after(0), 0.01) << "the least that is stated";
  EXPECT_NEAR(after(0.3), std::log(1.3) / 1.645, 0.02) << "a fifth of the rows lies that far off";
}

TEST_F(FitCalibrationTest, TooFewRowsChangeNothing) {
  Constants before = constants_;
  ASSERT_TRUE(fit_calibration(cases({row("1g.10gb", 8, 40), row("3g.40gb", 8, 12), row("7g.80gb", 8, 6)}), constants_));
  EXPECT_EQ(constants_.value, before.value);
  EXPECT_EQ(constants_.standard_error, before.standard_error);
}

TEST_F(FitCalibrationTest, OwnPointsAreTheCornersOfWhatWasMeasured) {
  auto all = cases({row("1g.10gb", 1, 9), row("1g.10gb", 64, 200), row("3g.40gb", 8, 12), row("7g.80gb", 1, 5),
                    row("7g.80gb", 8, 6), row("7g.80gb", 128, 60)});
  std::vector<Device> devices;
  std::vector<std::size_t> rows;
  for (const Case& c : all) {
    rows.push_back(devices.size());
    devices.push_back(*device_of(constants_, c.partition));
  }
  EXPECT_EQ(own_points(all, devices, rows, 1), (std::vector<std::size_t>{5}));
  EXPECT_EQ(own_points(all, devices, rows, 3), (std::vector<std::size_t>{1, 3, 5}));
  EXPECT_EQ(sizes_of(devices, {0, 2, 4}).between, (std::vector<std::size_t>{2}));
}

}  // namespace
}  // namespace partita::predict
