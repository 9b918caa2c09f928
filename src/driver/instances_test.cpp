// Creating, destroying and refusals, on emulated nodes.
#include "driver/test_support.h"

namespace partita::driver {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

using Instances = EmulatedDriver;

TEST_F(Instances, AreMadeExactlyWhereAsked) {
  auto& driver = open("dgx-a100");
  const auto gpu = with_mig(0);
  for (const int start : {3, 0, 6, 5}) {  // not in the order that the driver would choose
    const auto made = value(driver.create_gpu_instance(gpu, profile(gpu, "1g.5gb"), start));
    EXPECT_EQ(made.placement, (layout::Placement{start, 1}));
    EXPECT_EQ(made.id, 7 + start);
    EXPECT_EQ(made.profile, profile(gpu, "1g.5gb"));
  }
  std::vector<int> starts;
  for (const auto& instance : EmulatedDriver::gpu(0).instances) starts.push_back(instance.placement.start);
  EXPECT_THAT(starts, testing::ElementsAre(0, 3, 5, 6));
}

TEST_F(Instances, AreDestroyedAgain) {
  auto& driver = open("dgx-a100");
  const auto gpu = with_mig(0);
  const auto instance = create(gpu, "3g.20gb", 4);
  value(driver.destroy_compute_instance(gpu, instance.id, instance.compute[0].id));
  value(driver.destroy_gpu_instance(gpu, instance.id));
  EXPECT_THAT(EmulatedDriver::gpu(0).instances, IsEmpty());
}

TEST_F(Instances, ComputeInstancesAreMadeWhereAsked) {
  auto& driver = open("dgx-a100");
  const auto gpu = with_mig(0);
  const auto instance = create(gpu, "4g.20gb", 0, false);
  const auto& compute = gpu.board->profiles[static_cast<std::size_t>(instance.profile)].compute;
  const auto two = std::ranges::find(compute, "2c.4g.20gb", &catalog::ComputeProfile::name);
  ASSERT_NE(two, compute.end());
  const int index = static_cast<int>(two - compute.begin());
  const auto high = value(driver.create_compute_instance(gpu, instance, index, 2));
  EXPECT_EQ(high.placement, (layout::Placement{2, 2}));
  EXPECT_EQ(high.profile, index);
  const auto low = value(driver.create_compute_instance(gpu, instance, index, 0));
  EXPECT_EQ(low.placement, (layout::Placement{0, 2}));
  EXPECT_NE(low.uuid, high.uuid);

  const auto read = EmulatedDriver::gpu(0).instances.at(0).compute;
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].uuid, low.uuid);
  EXPECT_EQ(read[1].uuid, high.uuid);
  EXPECT_EQ(read[1].profile, index);
}

TEST_F(Instances, NoRoomIsNoSpace) {
  auto& driver = open("dgx-a100");
  const auto gpu = with_mig(2);
  create(gpu, "3g.20gb", 4);
  const auto made = driver.create_gpu_instance(gpu, profile(gpu, "2g.10gb"), 4);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::no_space);
  EXPECT_THAT(made.error().message, AllOf(HasSubstr("GPU 2 (" + gpu.pci_bus_id + ") 2g.10gb@4"),
                                          HasSubstr("nvmlDeviceCreateGpuInstanceWithPlacement answered "
                                                    "NVML_ERROR_INSUFFICIENT_RESOURCES (23)")));
}

TEST_F(Instances, InUseIsBusy) {
  auto& driver = open("dgx-a100");
  const auto gpu = with_mig(0);
  const auto instance = create(gpu, "1g.5gb", 0);
  // A GPU instance with a compute instance inside.
  EXPECT_EQ(driver.destroy_gpu_instance(gpu, instance.id).error().code, ErrorCode::busy);
  // A compute instance with a process.
  value(emulator::hold(node_.name, instance.compute[0].uuid, ::getpid(), mib(64)));
  const auto destroyed = driver.destroy_compute_instance(gpu, instance.id, instance.compute[0].id);
  ASSERT_FALSE(destroyed);
  EXPECT_EQ(destroyed.error().code, ErrorCode::busy);
  EXPECT_THAT(destroyed.error().message,
              AllOf(HasSubstr("nvmlComputeInstanceDestroy"), HasSubstr("NVML_ERROR_IN_USE (19)"),
                    HasSubstr("GPU 0 (" + gpu.pci_bus_id + ") GPU instance")));
}

TEST_F(Instances, NoPermissionIsDenied) {
  auto& driver = open("dgx-a100");
  const auto gpu = with_mig(0);
  fault("nvmlDeviceCreateGpuInstanceWithPlacement", 4);
  EXPECT_EQ(driver.create_gpu_instance(gpu, 0, gpu.board->profiles[0].placements[0]).error().code, ErrorCode::denied);
  fault("nvmlDeviceSetMigMode", 4);
  EXPECT_EQ(driver.set_mig_mode(gpu.uuid, false).error().code, ErrorCode::denied);
}

TEST_F(Instances, OtherAnswersNameFunctionAndGpu) {
  auto& driver = open("dgx-a100");
  const auto gpu = with_mig(1);
  const auto instance = create(gpu, "1g.5gb", 0);
  const auto check = [&](const Error& error, std::string_view function, std::string_view answer) {
    EXPECT_EQ(error.code, ErrorCode::driver);
    EXPECT_THAT(error.message, AllOf(HasSubstr(std::string(function)), HasSubstr(std::string(answer)),
                                     HasSubstr("GPU 1 (" + gpu.pci_bus_id + ")")));
  };
  fault("nvmlDeviceCreateGpuInstanceWithPlacement", 999, 1);
  check(driver.create_gpu_instance(gpu, profile(gpu, "1g.5gb"), 1).error(), "nvmlDeviceCreateGpuInstanceWithPlacement",
        "(999)");
  fault("nvmlGpuInstanceCreateComputeInstanceWithPlacement", 10, 1);
  const auto bare = create(gpu, "1g.5gb", 2, false);
  check(driver.create_compute_instance(gpu, bare, whole_of(gpu, bare), 0).error(),
        "nvmlGpuInstanceCreateComputeInstanceWithPlacement", "NVML_ERROR_TIMEOUT (10)");
  fault("nvmlComputeInstanceDestroy", 15, 1);
  check(driver.destroy_compute_instance(gpu, instance.id, instance.compute[0].id).error(), "nvmlComputeInstanceDestroy",
        "NVML_ERROR_GPU_IS_LOST (15)");
  fault("nvmlGpuInstanceDestroy", 16, 1);
  check(driver.destroy_gpu_instance(gpu, bare.id).error(), "nvmlGpuInstanceDestroy", "NVML_ERROR_RESET_REQUIRED (16)");
  check(driver.destroy_gpu_instance(gpu, 14).error(), "nvmlDeviceGetGpuInstanceById", "NVML_ERROR_NOT_FOUND (6)");
  fault("nvmlDeviceSetMigMode", 999, 1);
  check(driver.set_mig_mode(gpu.uuid, false).error(), "nvmlDeviceSetMigMode", "(999)");
}

TEST_F(Instances, AreTakenBackWhenTheyCannotBeRead) {
  auto& driver = open("dgx-a100");
  const auto gpu = with_mig(0);
  fault("nvmlGpuInstanceGetInfo", 999, 0);
  const auto made = driver.create_gpu_instance(gpu, profile(gpu, "1g.5gb"), 0);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("nvmlGpuInstanceGetInfo"));
  EXPECT_THAT(EmulatedDriver::gpu(0).instances, IsEmpty());

  const auto instance = create(gpu, "1g.5gb", 0, false);
  fault("nvmlComputeInstanceGetInfo_v2", 999, 0);
  EXPECT_FALSE(driver.create_compute_instance(gpu, instance, whole_of(gpu, instance), 0));
  EXPECT_THAT(EmulatedDriver::gpu(0).instances.at(0).compute, IsEmpty());
}

TEST_F(Instances, UnknownIndicesAreRefusedWithoutAskingTheDriver) {
  auto& driver = open("dgx-a100");
  const auto gpu = with_mig(0);
  EXPECT_EQ(driver.create_gpu_instance(gpu, 99, 0).error().code, ErrorCode::internal);
  const auto instance = create(gpu, "1g.5gb", 0, false);
  EXPECT_EQ(driver.create_compute_instance(gpu, instance, -1, 0).error().code, ErrorCode::internal);
}

TEST_F(Instances, NeedMigMode) {
  auto& driver = open("dgx-a100");
  const auto gpu = EmulatedDriver::gpu(0);
  const auto made = driver.create_gpu_instance(gpu, 0, gpu.board->profiles[0].placements[0]);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::driver);
}

TEST_F(Instances, ModeChangeOnAmpereWaitsForAReset) {
  auto& driver = open("dgx-a100");
  const auto uuid = gpu(0).uuid;
  EXPECT_EQ(value(driver.set_mig_mode(uuid, true)), ModeChange::reset_required);
  EXPECT_FALSE(gpu(0).mode->current);
  EXPECT_TRUE(gpu(0).mode->pending);
  value(emulator::reset(node_.name, {uuid}));
  value(driver.reopen());
  EXPECT_TRUE(gpu(0).mode->current);
  EXPECT_EQ(value(driver.set_mig_mode(uuid, true)), ModeChange::done);
}

TEST_F(Instances, ModeChangeOnHopperIsDoneAtOnce) {
  auto& driver = open("dgx-h100");
  const auto uuid = gpu(5).uuid;
  EXPECT_EQ(value(driver.set_mig_mode(uuid, true)), ModeChange::done);
  EXPECT_TRUE(gpu(5).mode->current);
  EXPECT_EQ(value(driver.set_mig_mode(uuid, false)), ModeChange::done);
}

TEST_F(Instances, ModeChangeOfABusyGpuIsInUse) {
  auto& driver = open("dgx-h100");
  const auto uuid = gpu(0).uuid;
  value(emulator::hold(node_.name, uuid, ::getpid(), mib(64)));
  EXPECT_EQ(value(driver.set_mig_mode(uuid, true)), ModeChange::in_use);
}

}  // namespace
}  // namespace partita::driver
