// What happens to a running node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <vector>

#include "emulator/control/bus_id.h"
#include "emulator/control/control.h"
#include "emulator/control/device_name.h"
#include "emulator/control/test_support.h"
#include "emulator/engine/engine.h"

namespace partita::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Operate : public ::testing::Test {
 protected:
  Engine started(std::string_view type) {
    const Result<EmulatedNode> node = start(catalog_, std::string("lab=") + std::string(type));
    EXPECT_TRUE(node) << node.error().message;
    return std::move(*Engine::open(node->folder));
  }

  // MIG on, and one instance of each of these profile ids with its default compute instance.
  static std::vector<GpuInstanceState> cut(Engine& engine, int gpu, const std::vector<int>& profile_ids) {
    NvmlReturn activation = kSuccess;
    EXPECT_EQ(engine.set_mig_mode(gpu, true, activation), kSuccess);
    EXPECT_EQ(engine.reset({gpu}), kSuccess);
    EXPECT_TRUE(engine.gpu(gpu).mig_current);
    for (const int id : profile_ids) {
      GpuInstanceState made;
      EXPECT_EQ(engine.create_gpu_instance(gpu, id, std::nullopt, made), kSuccess);
      const int slices = id == 9 ? 2 : id == 14 ? 1 : 0;  // A100: 3g, 2g, 1g
      ComputeInstanceState compute;
      EXPECT_EQ(engine.create_compute_instance(gpu, made.id, made.serial, slices, std::nullopt, compute), kSuccess);
    }
    return engine.gpu(gpu).instances;
  }

  TemporaryRoot root_;
  catalog::Catalog catalog_ = open_catalog();
};

TEST_F(Operate, AHeldDeviceCannotBeDestroyedUntilItsProcessEnds) {
  Engine engine = started("dgx-a100");
  const GpuInstanceState instance = cut(engine, 3, {9})[0];
  Child child;
  const Result<void> held = hold("lab", instance.compute[0].uuid, child.pid(), gib(2));
  ASSERT_TRUE(held) << held.error().message;

  const ComputeInstanceState& compute = instance.compute[0];
  EXPECT_EQ(engine.destroy_compute_instance(3, instance.id, instance.serial, compute.id, compute.serial), kInUse);
  EXPECT_EQ(engine.destroy_gpu_instance(3, instance.id, instance.serial), kInUse);
  const Result<void> stopped = stop("lab"), again = reset("lab", {"3"});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::busy);
  ASSERT_EQ(stopped.error().details.size(), 1U);
  EXPECT_THAT(stopped.error().details[0], HasSubstr("GPU 3, MIG device of 3g.20gb@4"));
  EXPECT_THAT(stopped.error().details[0], HasSubstr("pid " + std::to_string(child.pid()) + " ("));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::busy);
  EXPECT_TRUE(reset("lab", {"2"}));

  child.end();
  EXPECT_EQ(engine.destroy_compute_instance(3, instance.id, instance.serial, compute.id, compute.serial), kSuccess);
  EXPECT_EQ(engine.destroy_gpu_instance(3, instance.id, instance.serial), kSuccess);
  EXPECT_TRUE(stop("lab"));
}

TEST_F(Operate, ADeviceHasManyNames) {
  const Engine engine = [&] {
    Engine made = started("dgx-a100");
    cut(made, 1, {9, 14});
    return made;
  }();
  const GpuSpec& gpu = engine.spec().gpus[1];
  const std::vector<GpuInstanceState> instances = engine.gpu(1).instances;
  const auto three = std::ranges::find(instances, 9, &GpuInstanceState::profile_id);
  ASSERT_NE(three, instances.end());
  const std::string old_name = "MIG-" + gpu.uuid + "/" + std::to_string(three->id) + "/0";
  for (const std::string& name :
       {three->compute[0].uuid, old_name, std::string("1:0"), gpu.uuid + ":0", gpu.pci_bus_id + ":0"}) {
    const Result<DeviceAt> device = find_device(engine, name);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(device->gpu, 1) << name;
    EXPECT_EQ(device->gpu_instance, three->id) << name;
    EXPECT_EQ(device->compute_instance, 0) << name;
  }
  for (const char* name : {"1", "0f:00.0", "0000:0F:00.0", "00000000:0f:00.0"}) {
    const Result<DeviceAt> device = find_device(engine, name);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(device->gpu, 1) << name;
    EXPECT_EQ(device->gpu_instance, std::nullopt);
  }
  for (const char* name : {"", "8", "-1", "1:2", "1:", ":1", "1:-1", "MIG-", "MIG-1234", "MIG-GPU-1/2", "GPU-",
                           "99:00.0", "../1", "1:0:0", "4294967297"})
    EXPECT_FALSE(find_device(engine, name)) << name;
  EXPECT_THAT(find_device(engine, "1:2").error().message, HasSubstr("GPU 1 has 2 MIG devices now"));
}

TEST_F(Operate, HoldKnowsTheDevicesMemory) {
  Engine engine = started("a100-pcie");
  cut(engine, 0, {9});
  Child child;
  const Result<void> much = hold("lab", "0:0", child.pid(), gib(30));
  ASSERT_FALSE(much);
  EXPECT_EQ(much.error().code, ErrorCode::no_space);
  EXPECT_THAT(much.error().message, HasSubstr("3g.20gb@4"));
  EXPECT_THAT(much.error().message, HasSubstr("30.00 GiB"));
  ASSERT_TRUE(hold("lab", "0:0", child.pid(), gib(15)));
  Child second;
  EXPECT_EQ(hold("lab", "0:0", second.pid(), gib(15)).error().code, ErrorCode::no_space);
  EXPECT_TRUE(hold("lab", "0:0", second.pid(), gib(4)));
  EXPECT_EQ(hold("lab", "0", second.pid(), gib(1)).error().code, ErrorCode::invalid);
  child.end();
  EXPECT_TRUE(hold("lab", "0:0", second.pid(), gib(10)));
}

TEST_F(Operate, HoldNeedsALivingProcess) {
  started("a30x2");
  Child child;
  const pid_t pid = child.pid();
  ASSERT_TRUE(hold("lab", "1", pid, gib(1)));
  child.end();
  for (const pid_t gone : {pid, pid_t{0}, pid_t{-1}}) {
    const Result<void> held = hold("lab", "1", gone, gib(1));
    ASSERT_FALSE(held) << gone;
    EXPECT_EQ(held.error().code, ErrorCode::not_found);
  }
  EXPECT_EQ(hold("nowhere", "0", ::getpid(), gib(1)).error().code, ErrorCode::not_found);
}

TEST_F(Operate, RefusalsCountTheProcessesInTheWay) {
  started("a30x2");
  const Child one, two;
  ASSERT_TRUE(hold("lab", "0", one.pid(), mib(10)));
  EXPECT_THAT(reset("lab", {"0"}).error().message, HasSubstr("in use by 1 process;"));
  ASSERT_TRUE(hold("lab", "0", two.pid(), mib(10)));
  EXPECT_THAT(reset("lab", {"0"}).error().message, HasSubstr("in use by 2 processes;"));
  EXPECT_THAT(stop("lab").error().message, HasSubstr("in use by 2 processes;"));
}

TEST_F(Operate, ResetTakesGroupsWhole) {
  const Engine engine = started("hgx-a100-4");
  const Result<void> split = reset("lab", {"0", "41:00.0"});
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().code, ErrorCode::invalid);
  EXPECT_THAT(split.error().message, HasSubstr("GPU 2 (00000000:81:00.0), GPU 3 (00000000:C1:00.0)"));
  EXPECT_TRUE(reset("lab", {"0", "1", "2", engine.spec().gpus[3].uuid}));
  EXPECT_TRUE(reset("lab", {}));
  EXPECT_EQ(reset("lab", {"4"}).error().code, ErrorCode::not_found);
}

TEST_F(Operate, RebootKeepsTheModeWhereTheBoardDoes) {
  Engine engine = started("mixed");
  NvmlReturn activation = kSuccess;
  for (const int gpu : {0, 4}) ASSERT_EQ(engine.set_mig_mode(gpu, true, activation), kSuccess);
  ASSERT_TRUE(reset("lab", {"0"}));
  ASSERT_TRUE(engine.gpu(0).mig_current && engine.gpu(4).mig_current);
  ASSERT_TRUE(reboot("lab"));
  EXPECT_TRUE(engine.gpu(0).mig_current);   // A100: InfoROM
  EXPECT_FALSE(engine.gpu(4).mig_current);  // H100: lives with the driver
}

TEST_F(Operate, AGpuIsLostAndComesBack) {
  const Engine engine = started("a30x2");
  ASSERT_TRUE(set_condition("lab", "1", Condition::lost));
  EXPECT_TRUE(engine.gpu(1).condition == Condition::lost);
  EXPECT_FALSE(engine.gpu(0).condition == Condition::lost);
  ASSERT_TRUE(set_condition("lab", "ca:00.0", Condition::good));
  EXPECT_FALSE(engine.gpu(1).condition == Condition::lost);
  EXPECT_EQ(set_condition("lab", "2", Condition::lost).error().code, ErrorCode::not_found);
}

TEST_F(Operate, FaultsAreAddedAndCleared) {
  Engine engine = started("a30x2");
  ASSERT_TRUE(add_fault("lab", {.function = "nvmlDeviceGetName", .gpu = 1, .calls = 1, .answer = 999}));
  EXPECT_FALSE(engine.take_fault("nvmlDeviceGetName", 0));
  EXPECT_EQ(engine.take_fault("nvmlDeviceGetName", 1), 999);
  EXPECT_FALSE(engine.take_fault("nvmlDeviceGetName", 1));
  ASSERT_TRUE(add_fault("lab", {.function = "*", .gpu = {}, .calls = 5, .answer = 10}));
  ASSERT_TRUE(clear_faults("lab"));
  EXPECT_FALSE(engine.take_fault("nvmlInit_v2", -1));
  EXPECT_EQ(add_fault("lab", {.function = "init", .gpu = {}, .calls = 1, .answer = 10}).error().code,
            ErrorCode::invalid);
  EXPECT_EQ(add_fault("lab", {.function = "*", .gpu = {}, .calls = 0, .answer = 10}).error().code, ErrorCode::invalid);
  EXPECT_EQ(add_fault("lab", {.function = "*", .gpu = 2, .calls = 1, .answer = 10}).error().code, ErrorCode::not_found);
}

// How many of what only the owner may do are denied to a user who is somebody else.
int denied_to_nobody(const std::string& node) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(99);
    const Result<void> answers[] = {reboot(node), reset(node, {}), set_condition(node, "0", Condition::lost),
                                    add_fault(node, {.function = "nvmlInit_v2", .calls = 1, .answer = 19}),
                                    clear_faults(node)};
    int denied = 0;
    for (const auto& answer : answers) denied += !answer && answer.error().code == ErrorCode::denied;
    ::_exit(denied);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(Operate, OnlyTheOwnerOfANodeBreaksIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  const EmulatedNode node = *start(catalog_, "a30x2");
  ASSERT_EQ(::chmod(root_.path().c_str(), 0755), 0);
  EXPECT_EQ(denied_to_nobody("a30x2"), 5);
  // His own, but on a medium that cannot be written: that is no success either.
  ASSERT_EQ(::chown(node.folder.c_str(), 65534, 65534), 0);
  ASSERT_EQ(::chmod((node.folder / "state").c_str(), 0444), 0);
  EXPECT_EQ(denied_to_nobody("a30x2"), 5);
}

TEST(BusId, IsReadInAllSpellings) {
  for (const char* text : {"0f:00.0", "0000:0f:00.0", "00000000:0F:00.0", "0:f:0.0"})
    EXPECT_EQ(normal_bus_id(text), "00000000:0F:00.0") << text;
  EXPECT_EQ(normal_bus_id("0000000F:01:1f.7"), "0000000F:01:1F.7");
  for (const char* text : {"", "7", "07:00", "07:00.8", "07:20.0", "100:00.0", "000000000:07:00.0", "07:00.0 ",
                           "x7:00.0", "1:07:00.0.0", "-1:00.0", "0x7:00.0"})
    EXPECT_FALSE(normal_bus_id(text)) << text;
}

}  // namespace
}  // namespace partita::emulator
