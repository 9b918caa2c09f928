#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "emulator/engine/engine.h"
#include "emulator/engine/root_files.h"
#include "emulator/engine/rules.h"
#include "emulator/engine/spec_codec.h"
#include "emulator/engine/state_file.h"
#include "emulator/engine/test_folder.h"
#include "emulator/engine/test_nodes.h"

namespace partita::emulator {
namespace {

namespace fs = std::filesystem;
using test::TestFolder;

NodeSpec two_gpus(bool files = false) {
  return test::with_mig_on(test::node({test::a100(0), test::a100(1, true)}, files));
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::string open_error(const fs::path& folder, ErrorCode code) {
  const auto engine = Engine::open(folder);
  EXPECT_FALSE(engine);
  if (engine) return "";
  EXPECT_EQ(engine.error().code, code) << engine.error().message;
  return engine.error().message;
}

TEST(Spec, EncodesAndDecodes) {
  const NodeSpec spec = two_gpus();
  const std::string bytes = encode(spec);
  const auto back = decode(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(encode(*back), bytes);
  EXPECT_EQ(back->gpus[1].profiles[4].compute[1].name, "2c.3g.20gb");
  EXPECT_TRUE(back->gpus[1].mirrored);
  for (std::size_t length = 0; length < bytes.size(); length += 7) EXPECT_FALSE(decode(bytes.substr(0, length)));
  EXPECT_FALSE(decode(bytes + "x"));
}

TEST(Spec, BoundsAreChecked) {
  auto refused = [](auto change) {
    NodeSpec spec = two_gpus();
    change(spec);
    const auto result = check(spec);
    return result ? std::string() : result.error().message;
  };
  EXPECT_TRUE(check(two_gpus()));
  EXPECT_NE(refused([](NodeSpec& s) { s.gpus.resize(33); }), "");
  EXPECT_NE(refused([](NodeSpec& s) { s.gpus[1].minor = 0; }), "");
  EXPECT_NE(refused([](NodeSpec& s) { s.gpus[1].uuid = s.gpus[0].uuid; }), "");
  EXPECT_NE(refused([](NodeSpec& s) { s.gpus[0].profiles[0].starts.push_back(8); }), "");
  EXPECT_NE(refused([](NodeSpec& s) { s.gpus[0].profiles[0].size = 3; }), "");
  EXPECT_NE(refused([](NodeSpec& s) { s.gpus[0].profiles[1].id = 19; }), "");
  EXPECT_NE(refused([](NodeSpec& s) { s.gpus[0].profiles[4].compute[0].starts = {3}; }), "");
  EXPECT_NE(refused([](NodeSpec& s) { s.gpus[0].profiles[4].driver_order = {4}; }), "");
}

TEST(State, IsMadeOnceAndFound) {
  const TestFolder folder;
  EXPECT_NE(open_error(folder.path() / "nowhere", ErrorCode::not_found), "");
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus()));
  const auto again = Engine::create(folder.path(), two_gpus());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::invalid);
  const auto engine = Engine::open(folder.path());
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->spec().gpus.size(), 2u);
  EXPECT_NE(engine->boot_id(), 0u);
}

TEST(State, ForeignTruncatedNewerAndDamagedFilesAreRefused) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus()));
  const fs::path path = folder.path() / "state";
  const std::string good = read_text(path);
  write_text(path, "");
  EXPECT_NE(open_error(folder.path(), ErrorCode::invalid).find("too short"), std::string::npos);
  write_text(path, std::string(good.size(), 'x'));
  EXPECT_NE(open_error(folder.path(), ErrorCode::invalid).find("not the state"), std::string::npos);
  write_text(path, good.substr(0, good.size() - 1));
  EXPECT_NE(open_error(folder.path(), ErrorCode::invalid).find("truncated"), std::string::npos);
  std::string newer = good;
  newer[8] = 99;
  write_text(path, newer);
  EXPECT_NE(open_error(folder.path(), ErrorCode::invalid).find("format 99"), std::string::npos);
  std::string damaged = good;
  damaged[400] = static_cast<char>(damaged[400] ^ 1);
  write_text(path, damaged);
  EXPECT_NE(open_error(folder.path(), ErrorCode::invalid).find("checksum"), std::string::npos);
  write_text(path, good);
  EXPECT_TRUE(Engine::open(folder.path()));
}

// In a client that has closed its standard error, what it writes there must not go into the state.
TEST(State, StaysOutOfTheStandardDescriptors) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus()));
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int fd : {0, 1, 2}) ::close(fd);
    const auto engine = Engine::open(folder.path());
    ::_exit(!engine ? 1 : ::write(2, "oh no", 5) == 5 ? 2 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(Engine::open(folder.path()));
}

TEST(State, ARemovedNodeIsNotChangedAnyMore) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus()));
  Engine engine = std::move(*Engine::open(folder.path()));
  fs::remove(folder.path() / "state");
  GpuInstanceState made;
  EXPECT_EQ(engine.create_gpu_instance(0, 19, std::nullopt, made), kDriverNotLoaded);
  EXPECT_TRUE(engine.gpu(0).instances.empty()) << "readers go on";
}

// What must hold in every state that anyone can see. "" when it does.
std::string broken_rule(const Engine& engine) {
  std::set<std::uint32_t> serials;
  for (std::size_t g = 0; g < engine.spec().gpus.size(); ++g) {
    const GpuSpec& spec = engine.spec().gpus[g];
    const GpuState state = engine.gpu(static_cast<int>(g));
    std::vector<int> owner(static_cast<std::size_t>(spec.units), -1);
    int last = -1;
    for (const GpuInstanceState& gi : state.instances) {
      if (gi.id <= last) return "ids do not ascend";
      last = gi.id;
      if (gi.id != gpu_instance_id(spec, gi.start, gi.size)) return "an id does not follow from its place";
      if (!serials.insert(gi.serial).second) return "a serial is there twice";
      for (int unit = gi.start; unit < gi.start + gi.size; ++unit) {
        if (owner[static_cast<std::size_t>(unit)] >= 0) return "instances overlap";
        owner[static_cast<std::size_t>(unit)] = gi.id;
      }
      std::set<int> ids;
      for (const ComputeInstanceState& ci : gi.compute) {
        if (!ids.insert(ci.id).second) return "a compute instance id is there twice";
        if (!serials.insert(ci.serial).second) return "a serial is there twice";
      }
    }
  }
  return "";
}

// Makes and destroys instances on both GPUs at random, for ever.
[[noreturn]] void churn(const fs::path& folder, unsigned seed) {
  auto engine = Engine::open(folder);
  if (!engine) ::_exit(1);
  std::mt19937 random(seed);
  const int profiles[] = {19, 20, 15, 14, 9, 5, 0};
  for (;;) {
    const int gpu = static_cast<int>(random() % 2);
    GpuInstanceState made;
    ComputeInstanceState compute;
    if (random() % 2 == 0) {
      if (engine->create_gpu_instance(gpu, profiles[random() % 7], std::nullopt, made) == kSuccess) {
        engine->create_compute_instance(gpu, made.id, made.serial, 0, std::nullopt, compute);
      }
    } else if (const GpuState state = engine->gpu(gpu); !state.instances.empty()) {
      const auto& gi = state.instances[random() % state.instances.size()];
      for (const auto& ci : gi.compute) engine->destroy_compute_instance(gpu, gi.id, gi.serial, ci.id, ci.serial);
      engine->destroy_gpu_instance(gpu, gi.id, gi.serial);
    }
  }
}

pid_t start_churn(const fs::path& folder, unsigned seed) {
  const pid_t child = ::fork();
  if (child == 0) churn(folder, seed);
  return child;
}

void kill_and_wait(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

// Capability files and nodes name exactly the instances of the state.
std::string files_differ(const fs::path& folder, const Engine& engine) {
  std::set<std::string> wanted, found;
  std::set<int> minors{kConfigMinor, kMonitorMinor, kFabricMinor}, nodes;
  for (std::size_t g = 0; g < engine.spec().gpus.size(); ++g) {
    const int minor = engine.spec().gpus[g].minor;
    const std::string gpu = "gpu" + std::to_string(minor) + "/mig/gi";
    for (const auto& gi : engine.gpu(static_cast<int>(g)).instances) {
      wanted.insert(gpu + std::to_string(gi.id) + "/access");
      minors.insert(capability_minor(minor, gi.id));
      for (const auto& ci : gi.compute) {
        wanted.insert(gpu + std::to_string(gi.id) + "/ci" + std::to_string(ci.id) + "/access");
        minors.insert(capability_minor(minor, gi.id, ci.id));
      }
    }
  }
  const fs::path capabilities = folder / "root/proc/driver/nvidia/capabilities";
  for (const auto& entry : fs::recursive_directory_iterator(capabilities)) {
    const std::string path = fs::relative(entry.path(), capabilities).string();
    if (path.starts_with("gpu") && entry.is_regular_file()) found.insert(path);
  }
  for (const auto& entry : fs::directory_iterator(folder / "root/dev/nvidia-caps")) {
    nodes.insert(std::stoi(entry.path().filename().string().substr(10)));
  }
  if (wanted != found)
    return "access files: wanted " + std::to_string(wanted.size()) + ", found " + std::to_string(found.size());
  if (minors != nodes)
    return "device nodes: wanted " + std::to_string(minors.size()) + ", found " + std::to_string(nodes.size());
  return "";
}

TEST(State, AWriterKilledAnywhereLeavesAWholeState) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus()));
  std::minstd_rand random(4711);
  for (int round = 0; round < 150; ++round) {
    const pid_t child = start_churn(folder.path(), static_cast<unsigned>(random()));
    ::usleep(static_cast<unsigned>(500 + random() % 3000));
    kill_and_wait(child);
    Engine engine = std::move(*Engine::open(folder.path()));
    ASSERT_EQ(broken_rule(engine), "") << "round " << round;
    GpuInstanceState made;
    const NvmlReturn answer = engine.create_gpu_instance(0, 19, std::nullopt, made);
    ASSERT_TRUE(answer == kSuccess || answer == kInsufficientResources) << "the lock died with its holder";
  }
}

TEST(State, FilesFollowEvenWhenAWriterIsKilled) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus(true)));
  std::minstd_rand random(1147);
  for (int round = 0; round < 40; ++round) {
    const pid_t child = start_churn(folder.path(), static_cast<unsigned>(random()));
    ::usleep(static_cast<unsigned>(2000 + random() % 4000));
    kill_and_wait(child);
    const Engine engine = std::move(*Engine::open(folder.path()));
    ASSERT_EQ(broken_rule(engine), "") << "round " << round;
    ASSERT_EQ(files_differ(folder.path(), engine), "") << "round " << round;
  }
}

TEST(State, KeepsTheLastAccounts) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus()));
  auto file = std::move(*StateFile::open(folder.path()));
  constexpr int kAll = kAccountRing + 50;
  for (int round = 0; round < kAll / 3; ++round) {
    StateFile::Transaction turn(*file);
    ASSERT_TRUE(turn);
    for (int i = 0; i < 3; ++i) {
      AccountRecord account;
      account.pid = 3 * round + i;
      turn.add_account(account);
    }
    turn.commit();
  }
  const std::uint64_t end = file->read_node().next_account;
  ASSERT_EQ(end, static_cast<std::uint64_t>(kAll / 3 * 3));
  AccountRecord account;
  EXPECT_FALSE(file->read_account(end, account)) << "not there yet";
  EXPECT_FALSE(file->read_account(end - kAccountRing, account)) << "forgotten";
  for (std::uint64_t number = end - (kAccountRing - 1); number < end; ++number) {
    ASSERT_TRUE(file->read_account(number, account)) << number;
    ASSERT_EQ(account.pid, static_cast<int>(number));
  }
}

TEST(State, TwoProcessesAndAReaderAtOnce) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus()));
  const Engine engine = std::move(*Engine::open(folder.path()));
  const pid_t first = start_churn(folder.path(), 1), second = start_churn(folder.path(), 2);
  std::set<std::uint32_t> serials_seen;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);  // sanitized, on a busy machine
  for (int i = 0; serials_seen.size() < 2000 && std::chrono::steady_clock::now() < deadline; ++i) {
    GpuRecord record;
    engine.snapshot(i % 2, record);
    std::vector<bool> taken(8);
    for (std::size_t k = 0; k < record.instance_count; ++k) {
      const InstanceRecord& gi = record.instances[k];
      serials_seen.insert(gi.serial);
      ASSERT_EQ(gi.id, gpu_instance_id(engine.spec().gpus[static_cast<std::size_t>(i % 2)], gi.start, gi.size));
      for (int unit = gi.start; unit < gi.start + gi.size; ++unit) {
        ASSERT_FALSE(taken[static_cast<std::size_t>(unit)]) << "a torn read: instances overlap";
        taken[static_cast<std::size_t>(unit)] = true;
      }
    }
  }
  kill_and_wait(first);
  kill_and_wait(second);
  EXPECT_GE(serials_seen.size(), 2000u) << "the writers did nothing";
  EXPECT_EQ(broken_rule(engine), "");
}

// Threads of one process, each with its own open: the file lock alone would not keep them apart, the mutex does.
TEST(State, ThreadsExcludeEachOther) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus()));
  std::atomic<int> made_count{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        Engine engine = std::move(*Engine::open(folder.path()));
        for (int i = 0; i < 200; ++i) {
          GpuInstanceState made;
          if (engine.create_gpu_instance(0, 19, std::nullopt, made) != kSuccess) continue;
          ++made_count;
          EXPECT_EQ(engine.destroy_gpu_instance(0, made.id, made.serial), kSuccess);
        }
      });
    }
  }
  const Engine engine = std::move(*Engine::open(folder.path()));
  EXPECT_GT(made_count, 0);
  EXPECT_TRUE(engine.gpu(0).instances.empty());
}

// A child that inherited the mapping writes through a lock of its own, also after its parent has ended.
TEST(State, SurvivesFork) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus()));
  Engine engine = std::move(*Engine::open(folder.path()));
  std::vector<pid_t> children;
  for (int c = 0; c < 3; ++c) {
    const pid_t child = ::fork();
    if (child == 0) {
      int failures = 0;
      for (int i = 0; i < 300; ++i) {
        GpuInstanceState made;
        if (engine.create_gpu_instance(1, 19, std::nullopt, made) != kSuccess) {
          ++failures;
          continue;
        }
        failures += engine.destroy_gpu_instance(1, made.id, made.serial) != kSuccess;
      }
      ::_exit(failures == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (int i = 0; i < 300; ++i) {
    GpuInstanceState made;
    ASSERT_EQ(engine.create_gpu_instance(1, 19, std::nullopt, made), kSuccess);
    ASSERT_EQ(engine.destroy_gpu_instance(1, made.id, made.serial), kSuccess);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(broken_rule(engine), "");
}

TEST(Files, HaveTheDriversForm) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus(true)));
  Engine engine = std::move(*Engine::open(folder.path()));
  const fs::path root = folder.path() / "root", driver = root / "proc/driver/nvidia";
  EXPECT_EQ(read_text(driver / "capabilities/mig/config"),
            "DeviceFileMinor: 1\nDeviceFileMode: 256\nDeviceFileModify: 1\n");
  EXPECT_EQ(read_text(driver / "capabilities/mig/monitor"),
            "DeviceFileMinor: 2\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
  EXPECT_NE(read_text(driver / "version").find("550.90.07"), std::string::npos);
  EXPECT_NE(read_text(driver / "gpus/0000:01:00.0/information").find("Device Minor: \t 0"), std::string::npos);
  EXPECT_NE(read_text(root / "proc/devices").find("195 nvidia\n"), std::string::npos);
  const std::string minors = read_text(root / "proc/driver/nvidia-caps/mig-minors");
  EXPECT_TRUE(minors.starts_with("config 1\nmonitor 2\ngpu0/gi0/access 3\ngpu0/gi0/ci0/access 4\n"));
  EXPECT_TRUE(minors.ends_with("gpu31/gi14/ci7/access 4322\n"));
  EXPECT_TRUE(fs::exists(root / "dev/nvidia1"));

  GpuInstanceState gi;
  ComputeInstanceState ci;
  ASSERT_EQ(engine.create_gpu_instance(1, 9, 0, gi), kSuccess);
  ASSERT_EQ(engine.create_compute_instance(1, gi.id, gi.serial, 2, std::nullopt, ci), kSuccess);
  EXPECT_EQ(gi.id, 2);  // mirrored
  EXPECT_EQ(read_text(driver / "capabilities/gpu1/mig/gi2/ci0/access"),
            "DeviceFileMinor: 157\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
  EXPECT_TRUE(fs::exists(root / "dev/nvidia-caps/nvidia-cap156"));
  EXPECT_EQ(files_differ(folder.path(), engine), "");
  ASSERT_EQ(engine.reset({1}), kSuccess);
  EXPECT_FALSE(fs::exists(driver / "capabilities/gpu1/mig/gi2"));
  EXPECT_EQ(files_differ(folder.path(), engine), "");
}

// Folders are kept aside and used again; what somebody did to a device node must not come back with them.
TEST(Files, ARemadeInstanceStartsAfresh) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus(true)));
  Engine engine = std::move(*Engine::open(folder.path()));
  const fs::path node =
      folder.path() / "root/dev/nvidia-caps" / ("nvidia-cap" + std::to_string(capability_minor(0, 2)));
  const fs::path access = folder.path() / "root/proc/driver/nvidia/capabilities/gpu0/mig/gi2/access";
  for (int round = 0; round < 3; ++round) {
    GpuInstanceState gi;
    ASSERT_EQ(engine.create_gpu_instance(0, 9, 4, gi), kSuccess);
    EXPECT_EQ(fs::status(node).permissions(), fs::perms{0444});
    EXPECT_EQ(read_text(access), "DeviceFileMinor: 21\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
    fs::permissions(node, fs::perms{0600});
    ASSERT_EQ(engine.destroy_gpu_instance(0, gi.id, gi.serial), kSuccess);
    EXPECT_FALSE(fs::exists(access.parent_path()));
    EXPECT_EQ(files_differ(folder.path(), engine), "");
  }
}

TEST(Files, TheBootIdIsAFileToo) {
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), two_gpus(true)));
  Engine engine = std::move(*Engine::open(folder.path()));
  const fs::path path = folder.path() / "root/proc/sys/kernel/random/boot_id";
  const std::string before = read_text(path);
  EXPECT_EQ(before.size(), 37u);
  engine.reboot();
  EXPECT_NE(read_text(path), before);
}

}  // namespace
}  // namespace partita::emulator
