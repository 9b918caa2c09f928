// Facts of data/boards compared with a real driver. Reads only: no mode and no instance is changed. Skips with a reason
// where there is no driver, or nothing of the kind to compare.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "catalog/catalog.h"
#include "driver/driver.h"

namespace partita {
namespace {

constexpr double kTotalMemoryTolerance = 0.02;      // drivers differ in what they reserve
constexpr double kProfileMemoryToleranceGib = 0.5;  // and by up to 0.25 GiB per slice

class RealDriver : public testing::Test {
 protected:
  void SetUp() override {
    auto catalog = catalog::Catalog::open();
    ASSERT_TRUE(catalog) << catalog.error().message;
    catalog_.emplace(*std::move(catalog));
    auto driver = driver::Driver::open(*catalog_, {});
    if (!driver) GTEST_SKIP() << "no usable NVIDIA driver: " << driver.error().message;
    driver_.emplace(*std::move(driver));
    auto state = driver_->state();
    ASSERT_TRUE(state) << state.error().message;
    state_ = *std::move(state);
    if (state_.gpus.empty()) GTEST_SKIP() << "the driver shows no GPU";
  }

  std::shared_ptr<const catalog::Board> catalog_board(const layout::Gpu& gpu) {
    auto board = catalog_->board_by_pci(static_cast<std::uint16_t>(gpu.pci_device_id >> 16));
    return board ? *board : nullptr;
  }
  static std::string text(const layout::Gpu& gpu) {
    return "GPU " + std::to_string(gpu.index) + " (" + gpu.product + ", " + gpu.pci_bus_id + ")";
  }

  std::optional<catalog::Catalog> catalog_;
  std::optional<driver::Driver> driver_;
  layout::NodeState state_;
};

TEST_F(RealDriver, EachGpuReadsWithoutAFault) {
  for (const auto& gpu : state_.gpus) {
    SCOPED_TRACE(text(gpu));
    EXPECT_FALSE(gpu.fault) << *gpu.fault;
    EXPECT_EQ(gpu.uuid.substr(0, 4), "GPU-");
    EXPECT_EQ(gpu.pci_bus_id.size(), 16u);
    EXPECT_EQ(gpu.pci_device_id & 0xFFFF, 0x10DEu);
  }
}

TEST_F(RealDriver, EachGpuWithMigIsInTheCatalog) {
  bool any = false;
  for (const auto& gpu : state_.gpus) {
    if (!gpu.mode) continue;
    SCOPED_TRACE(text(gpu));
    any = true;
    const auto board = catalog_board(gpu);
    EXPECT_NE(board, nullptr) << "no file in data/boards has PCI device id " << std::hex << (gpu.pci_device_id >> 16);
    EXPECT_TRUE(board == nullptr || board->has_mig());
  }
  if (!any) GTEST_SKIP() << "no GPU here has MIG";
}

TEST_F(RealDriver, TotalMemoryIsTheCatalogs) {
  bool any = false;
  for (const auto& gpu : state_.gpus) {
    const auto board = catalog_board(gpu);
    if (!board || !board->total_memory || !gpu.used_memory) continue;  // used_memory: the driver does report memory
    SCOPED_TRACE(text(gpu));
    any = true;
    EXPECT_NEAR(in_gib(gpu.total_memory), in_gib(*board->total_memory),
                kTotalMemoryTolerance * in_gib(*board->total_memory));
  }
  if (!any) GTEST_SKIP() << "no GPU whose memory the driver and the catalog both tell";
}

void compare(const catalog::Profile& ours, const catalog::Profile& drivers) {
  SCOPED_TRACE("profile " + ours.name + " (the driver's " + drivers.name + ")");
  EXPECT_EQ(ours.compute_slices, drivers.compute_slices);
  EXPECT_EQ(ours.memory_slices, drivers.memory_slices);
  EXPECT_EQ(ours.max_instances, drivers.max_instances);
  EXPECT_EQ(ours.placement_size, drivers.placement_size);
  EXPECT_EQ(ours.placements, drivers.placements);
  EXPECT_EQ(ours.attributes, drivers.attributes);
  EXPECT_TRUE(!ours.id || ours.id == drivers.id) << ours.id.value_or(0) << " is " << drivers.id.value_or(0);
  if (ours.sm && drivers.sm) {
    EXPECT_EQ(*ours.sm, *drivers.sm);
  }
  if (ours.memory && drivers.memory) {
    EXPECT_NEAR(in_gib(*ours.memory), in_gib(*drivers.memory), kProfileMemoryToleranceGib);
  }
}

TEST_F(RealDriver, ProfileTablesAreTheCatalogs) {
  bool any = false;
  for (const auto& gpu : state_.gpus) {
    if (!gpu.mode || !gpu.mode->current || gpu.fault) continue;
    SCOPED_TRACE(text(gpu));
    any = true;
    const auto ours = catalog_board(gpu);
    ASSERT_NE(ours, nullptr);
    ASSERT_NE(gpu.board, nullptr);
    EXPECT_EQ(ours->placement_units, gpu.board->placement_units);
    for (const auto& drivers : gpu.board->profiles) {
      const auto same = [&](const catalog::Profile& p) { return p.nvml_profile == drivers.nvml_profile; };
      const auto found = std::ranges::find_if(ours->profiles, same);
      EXPECT_NE(found, ours->profiles.end()) << "the catalog lacks " << drivers.name;
      if (found != ours->profiles.end()) compare(*found, drivers);
    }
    for (const auto& known : ours->profiles) {  // older drivers lack newer profiles: told, not an error
      const auto same = [&](const catalog::Profile& p) { return p.nvml_profile == known.nvml_profile; };
      if (std::ranges::none_of(gpu.board->profiles, same)) {
        std::printf("%s: driver %s does not list %s\n", text(gpu).c_str(), state_.driver_version.c_str(),
                    known.name.c_str());
      }
    }
  }
  if (!any) GTEST_SKIP() << "MIG is on nowhere, and the driver tells its profiles only then";
}

TEST_F(RealDriver, CapabilityMinorsFollowTheFormula) {
  bool any = false;
  for (const auto& gpu : state_.gpus) {
    for (const auto& instance : gpu.instances) {
      SCOPED_TRACE(text(gpu) + " GPU instance " + std::to_string(instance.id));
      any = true;
      ASSERT_TRUE(gpu.minor);
      const int base = 3 + 135 * *gpu.minor + 9 * instance.id;
      EXPECT_EQ(driver_->capability_minor(gpu, instance.id, std::nullopt), base);
      for (const auto& compute : instance.compute) {
        EXPECT_EQ(driver_->capability_minor(gpu, instance.id, compute.id), base + 1 + compute.id);
      }
    }
  }
  if (!any) GTEST_SKIP() << "no GPU instance exists here";
}

TEST_F(RealDriver, EachMigDeviceIsFoundByBothNames) {
  bool any = false;
  for (const auto& gpu : state_.gpus) {
    for (const auto& instance : gpu.instances) {
      for (const auto& compute : instance.compute) {
        any = true;
        const auto old_form = "MIG-" + gpu.uuid + "/" + std::to_string(instance.id) + "/" + std::to_string(compute.id);
        for (const auto& name : {compute.uuid, old_form}) {
          const auto found = driver_->find_device(name);
          ASSERT_TRUE(found) << found.error().message;
          EXPECT_EQ(found->gpu_uuid, gpu.uuid);
          EXPECT_EQ(found->gpu_instance, instance.id);
          EXPECT_EQ(found->compute_instance, compute.id);
        }
      }
    }
  }
  if (!any) GTEST_SKIP() << "no MIG device exists here";
}

}  // namespace
}  // namespace partita
