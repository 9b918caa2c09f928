#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "emulator/engine/engine.h"
#include "emulator/engine/processes.h"
#include "emulator/engine/test_folder.h"
#include "emulator/engine/test_nodes.h"
#include "emulator/engine/test_sleeper.h"

namespace partita::emulator {
namespace {

using test::Sleeper;
using test::TestFolder;

Engine start(const TestFolder& folder, const NodeSpec& spec) {
  EXPECT_TRUE(Engine::create(folder.path(), spec));
  return std::move(*Engine::open(folder.path()));
}

struct Made {
  GpuInstanceState gi;
  ComputeInstanceState ci;
};
Made make_device(Engine& engine, int gpu, int profile, int compute) {
  Made made;
  EXPECT_EQ(engine.create_gpu_instance(gpu, profile, std::nullopt, made.gi), kSuccess);
  EXPECT_EQ(engine.create_compute_instance(gpu, made.gi.id, made.gi.serial, compute, std::nullopt, made.ci), kSuccess);
  return made;
}

TEST(MigMode, ChangesAtOnceOnResetlessBoards) {
  const TestFolder folder;
  Engine engine = start(folder, test::node({test::a100(0)}));
  GpuInstanceState made;
  EXPECT_EQ(engine.create_gpu_instance(0, 19, std::nullopt, made), kNotSupported);
  NvmlReturn activation = kUnknown;
  ASSERT_EQ(engine.set_mig_mode(0, true, activation), kSuccess);
  EXPECT_EQ(activation, kSuccess);
  EXPECT_TRUE(engine.gpu(0).mig_current);
  EXPECT_TRUE(engine.gpu(0).mig_pending);
  EXPECT_EQ(engine.create_gpu_instance(0, 19, std::nullopt, made), kSuccess);
}

TEST(MigMode, WaitsForTheResetOnAmpere) {
  const TestFolder folder;
  Engine engine = start(folder, test::node({test::a100(0, false, false)}));
  NvmlReturn activation = kUnknown;
  ASSERT_EQ(engine.set_mig_mode(0, true, activation), kSuccess);
  EXPECT_EQ(activation, kSuccess);
  EXPECT_FALSE(engine.gpu(0).mig_current);
  EXPECT_TRUE(engine.gpu(0).mig_pending);
  ASSERT_EQ(engine.reset({0}), kSuccess);
  EXPECT_TRUE(engine.gpu(0).mig_current);
}

TEST(MigMode, NeedsAnIdleGpu) {
  const TestFolder folder;
  Engine engine = start(folder, test::with_mig_on(test::node({test::a100(0)})));
  const Made made = make_device(engine, 0, 19, 0);
  NvmlReturn activation = kUnknown;
  ASSERT_EQ(engine.set_mig_mode(0, false, activation), kSuccess);
  EXPECT_EQ(activation, kInUse);
  EXPECT_TRUE(engine.gpu(0).mig_current);
  EXPECT_FALSE(engine.gpu(0).mig_pending);
  ASSERT_EQ(engine.destroy_compute_instance(0, made.gi.id, 0, made.ci.id, 0), kSuccess);
  ASSERT_EQ(engine.destroy_gpu_instance(0, made.gi.id, 0), kSuccess);
  ASSERT_EQ(engine.set_mig_mode(0, false, activation), kSuccess);
  EXPECT_EQ(activation, kSuccess);
  EXPECT_FALSE(engine.gpu(0).mig_current);
}

TEST(MigMode, RefusedWithoutMigHardware) {
  const TestFolder folder;
  Engine engine = start(folder, test::node({test::gb10(0)}));
  NvmlReturn activation = kSuccess;
  EXPECT_EQ(engine.set_mig_mode(0, true, activation), kNotSupported);
  EXPECT_EQ(engine.set_mig_mode(7, true, activation), kInvalidArgument);
}

TEST(Holders, KeepTheirDeviceUntilTheyEnd) {
  const TestFolder folder;
  Engine engine = start(folder, test::with_mig_on(test::node({test::a100(0)})));
  const Made made = make_device(engine, 0, 9, 2);
  Sleeper holder;
  ASSERT_EQ(engine.hold(0, made.gi.id, made.ci.id, holder.pid(), 2ull << 30), kSuccess);
  ASSERT_EQ(engine.gpu(0).holders.size(), 1u);
  EXPECT_EQ(engine.gpu(0).holders[0].pid, holder.pid());
  EXPECT_EQ(engine.gpu(0).holders[0].memory_bytes, 2ull << 30);
  EXPECT_EQ(engine.destroy_compute_instance(0, made.gi.id, 0, made.ci.id, 0), kInUse);
  EXPECT_EQ(engine.destroy_gpu_instance(0, made.gi.id, 0), kInUse);
  EXPECT_EQ(engine.reset({0}), kInUse);
  holder.end();
  EXPECT_TRUE(engine.gpu(0).holders.empty());
  EXPECT_EQ(engine.summary(0).holder_count, 1) << "a dead holder is removed by the next write only";
  EXPECT_EQ(engine.destroy_gpu_instance(0, made.gi.id, 0), kInUse) << "the compute instance is still inside";
  EXPECT_EQ(engine.destroy_compute_instance(0, made.gi.id, 0, made.ci.id, 0), kSuccess);
  EXPECT_EQ(engine.summary(0).holder_count, 0);
  EXPECT_EQ(engine.destroy_gpu_instance(0, made.gi.id, 0), kSuccess);
}

TEST(Holders, OnTheWholeGpuStopTheFirstInstance) {
  const TestFolder folder;
  Engine engine = start(folder, test::with_mig_on(test::node({test::a100(0)})));
  Sleeper holder;
  ASSERT_EQ(engine.hold(0, {}, {}, holder.pid(), 0), kSuccess);
  GpuInstanceState made;
  EXPECT_EQ(engine.create_gpu_instance(0, 19, std::nullopt, made), kInUse);
  holder.end();
  EXPECT_EQ(engine.create_gpu_instance(0, 19, std::nullopt, made), kSuccess);
}

TEST(Holders, AreRefusedWithoutProcessDeviceOrMemory) {
  const TestFolder folder;
  Engine engine = start(folder, test::with_mig_on(test::node({test::a100(0)})));
  const Made made = make_device(engine, 0, 19, 0);
  EXPECT_EQ(engine.hold(0, made.gi.id, made.ci.id, 0, 0), kInvalidArgument);
  EXPECT_EQ(engine.hold(0, 3, 0, ::getpid(), 0), kNotFound);
  EXPECT_EQ(engine.hold(0, made.gi.id, 1, ::getpid(), 0), kNotFound);
  EXPECT_EQ(engine.hold(0, made.gi.id, 0, ::getpid(), 5ull << 30), kMemory);
  EXPECT_EQ(engine.hold(0, made.gi.id, 0, ::getpid(), 4ull << 30), kSuccess);
  EXPECT_EQ(engine.hold(0, made.gi.id, 0, ::getpid(), 3ull << 30), kSuccess) << "again: the new amount counts";
  EXPECT_EQ(engine.gpu(0).holders.size(), 1u);
}

// A pid that was given to another process is not the holder.
TEST(Processes, StartTimeTellsThemApart) {
  const auto mine = process_start_time(::getpid());
  ASSERT_TRUE(mine);
  EXPECT_TRUE(process_lives(::getpid(), *mine));
  EXPECT_FALSE(process_lives(::getpid(), *mine + 1));
  EXPECT_FALSE(process_start_time(-1));
  const pid_t zombie = ::fork();
  if (zombie == 0) ::_exit(0);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(process_start_time(zombie)) << "ended, not yet waited for";
  ::waitpid(zombie, nullptr, 0);
}

// The quick answer is behind by kSeenAlive at most, and takes no other process for the one that it saw.
TEST(Processes, QuickAnswerIsBoundedInTime) {
  for (int round = 0; round < 20; ++round) {
    test::Sleeper sleeper;
    const pid_t pid = sleeper.pid();
    const auto started = process_start_time(pid);
    ASSERT_TRUE(started);
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(process_lived_just_now(pid, *started));
    ASSERT_FALSE(process_lived_just_now(pid, *started + 1)) << "a later process with this pid";
    ASSERT_FALSE(process_lived_just_now(pid + 256, *started)) << "of the same place in the table";
    ASSERT_TRUE(process_lived_just_now(pid, *started));
    sleeper.end();
    const auto ended = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - ended <= kSeenAlive) process_lived_just_now(pid, *started);
    ASSERT_FALSE(process_lived_just_now(pid, *started)) << "asking does not prolong it";
  }
}

TEST(Stale, SerialsTellARemadeInstanceFromTheOldOne) {
  const TestFolder folder;
  Engine engine = start(folder, test::with_mig_on(test::node({test::a100(0)})));
  GpuInstanceState first, second;
  ASSERT_EQ(engine.create_gpu_instance(0, 9, 0, first), kSuccess);
  ASSERT_EQ(engine.destroy_gpu_instance(0, first.id, first.serial), kSuccess);
  ASSERT_EQ(engine.create_gpu_instance(0, 9, 0, second), kSuccess);
  EXPECT_EQ(first.id, second.id);
  EXPECT_NE(first.serial, second.serial);
  EXPECT_EQ(engine.destroy_gpu_instance(0, first.id, first.serial), kNotFound);
  EXPECT_EQ(engine.destroy_gpu_instance(0, second.id, second.serial), kSuccess);
}

TEST(Reset, GroupsStayTogether) {
  const TestFolder folder;
  NodeSpec spec = test::with_mig_on(test::node({test::a100(0), test::a100(1), test::a100(2)}));
  spec.gpus[0].reset_group = spec.gpus[1].reset_group = 1;
  Engine engine = start(folder, spec);
  make_device(engine, 0, 19, 0);
  make_device(engine, 1, 19, 0);
  make_device(engine, 2, 19, 0);
  EXPECT_EQ(engine.reset({0}), kInvalidArgument);
  EXPECT_EQ(engine.gpu(0).instances.size(), 1u);
  ASSERT_EQ(engine.reset({1, 0}), kSuccess);
  EXPECT_TRUE(engine.gpu(0).instances.empty());
  EXPECT_TRUE(engine.gpu(1).instances.empty());
  EXPECT_EQ(engine.gpu(2).instances.size(), 1u);
  ASSERT_EQ(engine.reset({2}), kSuccess);
  EXPECT_EQ(engine.reset({3}), kInvalidArgument);
}

TEST(Reboot, KeepsWhatTheBoardKeeps) {
  const TestFolder folder;
  Engine engine = start(folder, test::with_mig_on(test::node({test::a100(0, false, false), test::a100(1)})));
  make_device(engine, 0, 19, 0);
  Sleeper holder;
  ASSERT_EQ(engine.hold(1, {}, {}, holder.pid(), 0), kSuccess);
  engine.set_condition(1, Condition::lost);
  const std::uint64_t before = engine.boot_id();
  engine.reboot();
  EXPECT_NE(engine.boot_id(), before);
  EXPECT_TRUE(engine.gpu(0).instances.empty());
  EXPECT_TRUE(engine.gpu(0).mig_current) << "stored in the board (Ampere)";
  EXPECT_FALSE(engine.gpu(1).mig_current) << "lives with the driver (Hopper and newer)";
  EXPECT_FALSE(engine.gpu(1).condition == Condition::lost);
  EXPECT_TRUE(engine.gpu(1).holders.empty());
}

TEST(Lost, NothingWorksUntilTheReboot) {
  const TestFolder folder;
  Engine engine = start(folder, test::with_mig_on(test::node({test::a100(0)})));
  engine.set_condition(0, Condition::lost);
  GpuInstanceState made;
  NvmlReturn activation = kSuccess;
  EXPECT_EQ(engine.create_gpu_instance(0, 19, std::nullopt, made), kGpuIsLost);
  EXPECT_EQ(engine.set_mig_mode(0, false, activation), kGpuIsLost);
  EXPECT_EQ(engine.hold(0, {}, {}, ::getpid(), 0), kGpuIsLost);
  EXPECT_EQ(engine.reset({0}), kGpuIsLost);
  engine.reboot();
  EXPECT_FALSE(engine.gpu(0).condition == Condition::lost);
}

TEST(Faults, AreTakenByFunctionAndGpu) {
  const TestFolder folder;
  Engine engine = start(folder, test::node({test::a100(0), test::a100(1)}));
  EXPECT_EQ(engine.take_fault("nvmlInit_v2", -1), std::nullopt);
  ASSERT_EQ(engine.add_fault({.function = "nvmlGpuInstanceDestroy", .gpu = 1, .calls = 2, .answer = kInUse}), kSuccess);
  ASSERT_EQ(engine.add_fault({.function = "*", .gpu = {}, .calls = 1, .answer = kTimeout}), kSuccess);
  ASSERT_EQ(engine.faults().size(), 2u);
  EXPECT_EQ(engine.take_fault("nvmlGpuInstanceDestroy", 1), kInUse);
  EXPECT_EQ(engine.take_fault("nvmlGpuInstanceDestroy", 0), kTimeout);
  EXPECT_EQ(engine.take_fault("nvmlGpuInstanceDestroy", 0), std::nullopt);
  EXPECT_EQ(engine.take_fault("nvmlGpuInstanceDestroy", 1), kInUse);
  EXPECT_EQ(engine.take_fault("nvmlGpuInstanceDestroy", 1), std::nullopt);
  EXPECT_TRUE(engine.faults().empty());
  EXPECT_EQ(engine.add_fault({.function = "", .gpu = {}, .calls = 1, .answer = kInUse}), kInvalidArgument);
  EXPECT_EQ(engine.add_fault({.function = "nvmlInit", .gpu = {}, .calls = 0, .answer = kInUse}), kInvalidArgument);
  EXPECT_EQ(engine.add_fault({.function = "nvmlInit", .gpu = 2, .calls = 1, .answer = kInUse}), kInvalidArgument);
  ASSERT_EQ(engine.add_fault({.function = "nvmlInit", .gpu = {}, .calls = 5, .answer = kInUse}), kSuccess);
  engine.clear_faults();
  EXPECT_TRUE(engine.faults().empty());
}

// Run in a child that gave up root; its exit status is the answer.
int answer_as_nobody(const std::filesystem::path& folder, bool set_mode) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(200);
    auto engine = Engine::open(folder);
    if (!engine) ::_exit(201);
    NvmlReturn activation = kSuccess;
    GpuInstanceState made;
    ::_exit(set_mode ? engine->set_mig_mode(0, false, activation)
                     : engine->create_gpu_instance(0, 19, std::nullopt, made));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Permission, OthersNeedTheConfigCapability) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  const TestFolder folder;
  ::chmod(folder.path().c_str(), 0755);
  const Engine engine = start(folder, test::with_mig_on(test::node({test::a100(0)}, true)));
  EXPECT_EQ(answer_as_nobody(folder.path(), false), kNoPermission);
  EXPECT_EQ(answer_as_nobody(folder.path(), true), kNoPermission);
  ASSERT_EQ(::chmod((folder.path() / "root/dev/nvidia-caps/nvidia-cap1").c_str(), 0444), 0);
  EXPECT_EQ(answer_as_nobody(folder.path(), false), kSuccess);
  EXPECT_EQ(answer_as_nobody(folder.path(), true), kNoPermission) << "the mode is for administrators only";
}

TEST(Permission, OwnersMayDoAnything) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  const TestFolder folder;
  const Engine engine = start(folder, test::with_mig_on(test::node({test::a100(0)})));
  ASSERT_EQ(::chown(folder.path().c_str(), 65534, 65534), 0);
  EXPECT_EQ(answer_as_nobody(folder.path(), false), kSuccess);
}

}  // namespace
}  // namespace partita::emulator
