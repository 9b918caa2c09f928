// Reading emulated nodes.
#include <chrono>
#include <set>

#include "driver/test_support.h"

namespace partita::driver {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

using State = EmulatedDriver;

TEST_F(State, OfADgxA100WithMigOff) {
  const auto state = value(open("dgx-a100").state());
  EXPECT_THAT(state.driver_version, Not(IsEmpty()));
  EXPECT_THAT(state.nvml_version, Not(IsEmpty()));
  ASSERT_EQ(state.gpus.size(), 8u);
  std::set<std::string> uuids, bus_ids;
  for (std::size_t i = 0; i < state.gpus.size(); ++i) {
    const auto& gpu = state.gpus[i];
    EXPECT_EQ(gpu.index, static_cast<int>(i));
    EXPECT_FALSE(gpu.fault) << *gpu.fault;
    EXPECT_THAT(gpu.uuid, MatchesRegex("GPU-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+"));
    EXPECT_THAT(gpu.pci_bus_id, MatchesRegex("[0-9A-F]+:[0-9A-F][0-9A-F]:[0-9A-F][0-9A-F]\\.0"));
    EXPECT_EQ(gpu.pci_bus_id.size(), 16u);
    EXPECT_EQ(gpu.pci_device_id, 0x20B010DEu);
    EXPECT_TRUE(gpu.minor);
    ASSERT_TRUE(gpu.board);
    EXPECT_EQ(gpu.board->id, "a100-sxm4-40gb");
    EXPECT_EQ(gpu.total_memory, gib(40));
    ASSERT_TRUE(gpu.mode);
    EXPECT_FALSE(gpu.mode->current);
    EXPECT_FALSE(gpu.mode->pending);
    EXPECT_THAT(gpu.instances, IsEmpty());
    EXPECT_THAT(gpu.processes, IsEmpty());
    EXPECT_THAT(gpu.nvlink_peers, IsEmpty());  // linked through a switch
    uuids.insert(gpu.uuid);
    bus_ids.insert(gpu.pci_bus_id);
  }
  EXPECT_EQ(uuids.size(), 8u);
  EXPECT_EQ(bus_ids.size(), 8u);
}

TEST_F(State, OfTwoA30WithInstances) {
  open("a30x2");
  auto gpu = with_mig(0);
  ASSERT_TRUE(gpu.mode);
  EXPECT_TRUE(gpu.mode->current);
  EXPECT_EQ(gpu.board->profiles.size(), 5u);
  create(gpu, "2g.12gb", 2);
  create(gpu, "1g.6gb", 1);
  create(gpu, "1g.6gb", 0, false);

  gpu = EmulatedDriver::gpu(0);
  ASSERT_FALSE(gpu.fault) << *gpu.fault;
  ASSERT_EQ(gpu.instances.size(), 3u);
  EXPECT_EQ(gpu.instances[0].placement, (layout::Placement{0, 1}));
  EXPECT_EQ(gpu.instances[1].placement, (layout::Placement{1, 1}));
  EXPECT_EQ(gpu.instances[2].placement, (layout::Placement{2, 2}));
  EXPECT_EQ(gpu.instances[2].profile, profile(gpu, "2g.12gb"));
  EXPECT_THAT(gpu.instances[0].compute, IsEmpty());
  ASSERT_EQ(gpu.instances[1].compute.size(), 1u);
  EXPECT_THAT(gpu.instances[1].compute[0].uuid, StartsWith("MIG-"));
  EXPECT_NE(gpu.instances[1].compute[0].uuid, gpu.instances[2].compute[0].uuid);
  EXPECT_TRUE(gpu.instances[1].compute[0].mig_index);
  EXPECT_NE(gpu.instances[1].compute[0].mig_index, gpu.instances[2].compute[0].mig_index);
  EXPECT_FALSE(EmulatedDriver::gpu(1).mode->current);
}

TEST_F(State, OfAGpuWithoutMig) {
  const auto state = value(open("dgx-spark").state());
  ASSERT_EQ(state.gpus.size(), 1u);
  const auto& gpu = state.gpus[0];
  EXPECT_FALSE(gpu.fault) << *gpu.fault;
  EXPECT_THAT(gpu.product, HasSubstr("GB10"));
  EXPECT_FALSE(gpu.mode);
  EXPECT_FALSE(gpu.used_memory);  // shared with the host: not reported
  EXPECT_THAT(gpu.instances, IsEmpty());
}

TEST_F(State, FollowsTheDriversSpellingAndMemory) {
  open("gb200x4");
  const auto before = gpu(0);
  EXPECT_EQ(before.board->id, "gb200-186gb");
  EXPECT_NO_THROW(profile(before, "1g.23gb"));  // MIG off: the catalog's names
  const auto after = with_mig(0);
  EXPECT_EQ(after.board->id, "gb200-186gb");
  const auto& small = after.board->profiles.at(static_cast<std::size_t>(profile(after, "1g.24gb")));
  EXPECT_EQ(small.memory, gib(20));
  EXPECT_NO_THROW(profile(after, "7g.189gb"));
  // Same profiles at the same indices, so a plan made before still speaks of the same ones.
  ASSERT_EQ(after.board->profiles.size(), before.board->profiles.size());
  for (std::size_t i = 0; i < after.board->profiles.size(); ++i) {
    EXPECT_EQ(after.board->profiles[i].nvml_profile, before.board->profiles[i].nvml_profile);
    EXPECT_EQ(after.board->profiles[i].placements, before.board->profiles[i].placements);
  }
}

TEST_F(State, NamesDirectNvlinkPeers) {
  const auto state = value(open("hgx-a100-4").state());
  ASSERT_EQ(state.gpus.size(), 4u);
  for (const auto& gpu : state.gpus) {
    std::vector<std::string> others;
    for (const auto& other : state.gpus) {
      if (other.uuid != gpu.uuid) others.push_back(other.pci_bus_id);
    }
    std::ranges::sort(others);
    EXPECT_EQ(gpu.nvlink_peers, others) << "GPU " << gpu.index;
  }
}

TEST_F(State, ShowsProcessesWhereTheyRun) {
  open("a30x2");
  const auto gpu = with_mig(0);
  const auto instance = create(gpu, "1g.6gb", 1);
  value(emulator::hold(node_.name, instance.compute[0].uuid, ::getpid(), mib(512)));
  value(emulator::hold(node_.name, EmulatedDriver::gpu(1).uuid, ::getpid(), mib(256)));

  const auto state = value(driver_->state());
  ASSERT_EQ(state.gpus[0].processes.size(), 1u);
  const auto& process = state.gpus[0].processes[0];
  EXPECT_EQ(process.pid, ::getpid());
  EXPECT_EQ(process.name, "driver_test");
  EXPECT_EQ(process.memory, mib(512));
  EXPECT_EQ(process.gpu_instance, instance.id);
  EXPECT_EQ(process.compute_instance, instance.compute[0].id);
  ASSERT_EQ(state.gpus[1].processes.size(), 1u);
  EXPECT_FALSE(state.gpus[1].processes[0].gpu_instance);
}

TEST_F(State, ReportsALostGpuAndReadsTheOthers) {
  open("dgx-a100");
  fault("*", 15, 3, 1000);
  const auto state = value(driver_->state());
  ASSERT_EQ(state.gpus.size(), 8u);
  for (const auto& gpu : state.gpus) {
    if (gpu.index == 3) {
      EXPECT_EQ(gpu.fault, "lost");
    } else {
      EXPECT_FALSE(gpu.fault) << gpu.index << *gpu.fault;
      EXPECT_TRUE(gpu.board);
    }
  }
}

TEST_F(State, ReportsAGpuThatWaitsForAReset) {
  open("a30x2");
  fault("nvmlDeviceGetMigMode", 16, 1);
  const auto state = value(driver_->state());
  EXPECT_FALSE(state.gpus[0].fault);
  EXPECT_EQ(state.gpus[1].fault, "reset required");
}

TEST_F(State, DoesNotTakeAnUnreadableProcessListForAnEmptyOne) {
  open("a30x2");
  fault("nvmlDeviceGetComputeRunningProcesses_v3", 999, 0);
  const auto state = value(driver_->state());
  ASSERT_TRUE(state.gpus[0].fault);
  EXPECT_THAT(*state.gpus[0].fault,
              AllOf(HasSubstr("nvmlDeviceGetComputeRunningProcesses_v3"), HasSubstr("NVML_ERROR_UNKNOWN (999)")));
}

TEST_F(State, GpuByUuid) {
  auto& driver = open("a30x2");
  const auto second = gpu(1);
  EXPECT_EQ(value(driver.gpu(second.uuid)).index, 1);
  const auto missing = driver.gpu("GPU-00000000-0000-0000-0000-000000000000");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

TEST_F(State, OfAFullNodeSharesOneBoardAndIsQuick) {
  auto& driver = open("dgx-h100");
  for (int index = 0; index < 8; ++index) {
    const auto gpu = with_mig(index);
    for (int start = 0; start < 7; ++start) create(gpu, "1g.10gb", start);
  }
  auto state = value(driver.state());
  std::size_t instances = 0;
  for (const auto& gpu : state.gpus) {
    EXPECT_EQ(gpu.board, state.gpus[0].board);
    instances += gpu.instances.size();
  }
  EXPECT_EQ(instances, 56u);

  auto best = std::chrono::steady_clock::duration::max();
  for (int n = 0; n < 5; ++n) {
    const auto begin = std::chrono::steady_clock::now();
    state = value(driver.state());
    best = std::min(best, std::chrono::steady_clock::now() - begin);
  }
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(best).count();
  RecordProperty("state_us", static_cast<int>(us));
  std::printf("state of 8 GPUs with 56 instances: %.2f ms\n", static_cast<double>(us) / 1000);
  EXPECT_LT(us, 200'000);  // generous: sanitizers and busy machines
}

}  // namespace
}  // namespace partita::driver
