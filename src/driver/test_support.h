// For the tests of this folder: an emulated node in a temporary folder, and a driver open on it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/test_folder.h"
#include "catalog/catalog.h"
#include "driver/driver.h"
#include "emulator/control/control.h"

namespace partita::driver {

template <class T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

class EmulatedDriver : public testing::Test {
 protected:
  EmulatedDriver() : catalog_(value(catalog::Catalog::open())) { ::setenv("PARTITA_EMULATED_ROOT", root_.c_str(), 1); }
  ~EmulatedDriver() override {
    driver_.reset();
    ::unsetenv("PARTITA_EMULATED_NODE");
    ::unsetenv("PARTITA_EMULATED_ROOT");
  }

  // Starts the node and opens the driver on it.
  Driver& open(std::string_view node) {
    start(node);
    driver_.emplace(value(try_open()));
    return *driver_;
  }
  void start(std::string_view node) {
    node_ = value(emulator::start(catalog_, node));
    ::setenv("PARTITA_EMULATED_NODE", node_.folder.c_str(), 1);
  }
  Result<Driver> try_open() {
    return Driver::open(catalog_, {.library = PARTITA_EMULATED_LIBRARY, .device_root = node_.folder / "root"});
  }

  void fault(const std::string& function, int nvml_return, std::optional<int> gpu = std::nullopt, int calls = 1) {
    value(emulator::add_fault(node_.name, {.function = function, .gpu = gpu, .calls = calls, .answer = nvml_return}));
  }
  // MIG on, with the reset that Ampere needs; the GPU read again.
  layout::Gpu with_mig(int index) {
    const auto uuid = gpu(index).uuid;
    if (value(driver_->set_mig_mode(uuid, true)) == ModeChange::reset_required) {
      value(emulator::reset(node_.name, {}));
      value(driver_->reopen());
    }
    return value(driver_->gpu(uuid));
  }
  layout::Gpu gpu(int index) { return value(driver_->state()).gpus.at(static_cast<std::size_t>(index)); }

  // Creates by name, with the compute instance that takes it all when `whole`.
  layout::GpuInstance create(const layout::Gpu& gpu, std::string_view name, int start, bool whole = true) {
    auto instance = value(driver_->create_gpu_instance(gpu, profile(gpu, name), start));
    if (whole)
      instance.compute.push_back(value(driver_->create_compute_instance(gpu, instance, whole_of(gpu, instance), 0)));
    return instance;
  }
  static int profile(const layout::Gpu& gpu, std::string_view name) {
    const auto& profiles = gpu.board->profiles;
    const auto found = std::ranges::find(profiles, name, &catalog::Profile::name);
    if (found == profiles.end()) throw std::runtime_error("no profile " + std::string(name));
    return static_cast<int>(found - profiles.begin());
  }
  static int whole_of(const layout::Gpu& gpu, const layout::GpuInstance& instance) {
    const auto& compute = gpu.board->profiles.at(static_cast<std::size_t>(instance.profile)).compute;
    return static_cast<int>(std::ranges::find_if(compute, &catalog::ComputeProfile::is_default) - compute.begin());
  }

  catalog::Catalog catalog_;
  TestFolder folder_;
  std::filesystem::path root_ = folder_.path();
  emulator::EmulatedNode node_;
  std::optional<Driver> driver_;
};

}  // namespace partita::driver
