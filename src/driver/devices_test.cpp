// MIG devices by name, and capability minors.
#include <fstream>

#include "driver/test_support.h"

namespace partita::driver {
namespace {

using testing::HasSubstr;

using Devices = EmulatedDriver;

TEST_F(Devices, AreFoundByBothFormsOfTheirName) {
  auto& driver = open("dgx-a100");
  const auto gpu = with_mig(2);
  create(gpu, "2g.10gb", 0);
  const auto instance = create(gpu, "3g.20gb", 4);
  const auto& compute = instance.compute[0];

  const auto old_form = "MIG-" + gpu.uuid + "/" + std::to_string(instance.id) + "/" + std::to_string(compute.id);
  for (const auto& name : {compute.uuid, old_form}) {
    const auto found = value(driver.find_device(name));
    EXPECT_EQ(found.gpu_uuid, gpu.uuid) << name;
    EXPECT_EQ(found.gpu_instance, instance.id) << name;
    EXPECT_EQ(found.compute_instance, compute.id) << name;
  }
}

TEST_F(Devices, ThatAreNotThereAreNotFound) {
  auto& driver = open("dgx-a100");
  const auto none = driver.find_device("MIG-00000000-0000-5000-8000-000000000000");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_THAT(none.error().message, HasSubstr("it has none"));

  const auto gpu = with_mig(0);
  const auto instance = create(gpu, "3g.20gb", 4);
  auto near = instance.compute[0].uuid;
  near.back() = near.back() == '0' ? '1' : '0';
  const auto wrong = driver.find_device(near);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::not_found);
  EXPECT_THAT(wrong.error().message, HasSubstr(instance.compute[0].uuid));  // did you mean
  EXPECT_EQ(driver.find_device("MIG-" + gpu.uuid + "/1/7").error().code, ErrorCode::not_found);
}

TEST_F(Devices, CapabilityMinorsComeFromTheFiles) {
  auto& driver = open("dgx-a100");
  const auto gpu = with_mig(2);
  const auto instance = create(gpu, "2g.10gb", 0);
  const int of_instance = value(driver.capability_minor(gpu, instance.id, std::nullopt));
  EXPECT_EQ(of_instance, 3 + 135 * *gpu.minor + 9 * instance.id);
  EXPECT_EQ(value(driver.capability_minor(gpu, instance.id, 0)), of_instance + 1);
  EXPECT_TRUE(
      std::filesystem::exists(node_.folder / "root/dev/nvidia-caps" / ("nvidia-cap" + std::to_string(of_instance))));
}

TEST_F(Devices, ACapabilityFileGoesBeforeTheFormula) {
  start("a30x2");
  const auto folder = root_ / "other/proc/driver/nvidia/capabilities/gpu1/mig/gi5";
  std::filesystem::create_directories(folder / "ci0");
  std::ofstream(folder / "access") << "DeviceFileMinor: 4242\nDeviceFileMode: 292\nDeviceFileModify: 1\n";
  std::ofstream(folder / "ci0/access") << "DeviceFileMinor: many\n";
  auto driver = value(Driver::open(catalog_, {.library = PARTITA_EMULATED_LIBRARY, .device_root = root_ / "other"}));
  layout::Gpu gpu;
  gpu.minor = 1;
  EXPECT_EQ(value(driver.capability_minor(gpu, 5, std::nullopt)), 4242);
  EXPECT_EQ(value(driver.capability_minor(gpu, 5, 0)), 3 + 135 + 9 * 5 + 1);  // not readable: the formula
}

TEST_F(Devices, CapabilityMinorsFollowTheFormulaWithoutFiles) {
  auto& driver = open("dgx-a100");
  auto gpu = EmulatedDriver::gpu(0);
  gpu.minor = 7;
  EXPECT_EQ(value(driver.capability_minor(gpu, 13, 0)), 1066);
  gpu.minor = 31;
  EXPECT_EQ(value(driver.capability_minor(gpu, 14, 7)), 4322);
  EXPECT_EQ(driver.capability_minor(gpu, 15, 0).error().code, ErrorCode::internal);
  EXPECT_EQ(driver.capability_minor(gpu, 0, 8).error().code, ErrorCode::internal);
  gpu.minor.reset();
  EXPECT_EQ(driver.capability_minor(gpu, 0, 0).error().code, ErrorCode::driver);
}

}  // namespace
}  // namespace partita::driver
