// The library as a client sees it: opened by path, called through C function types declared here.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "emulator/engine/engine.h"
#include "emulator/engine/test_folder.h"
#include "emulator/engine/test_nodes.h"

namespace partita::emulator {
namespace {

using Handle = void*;
struct Placement {
  unsigned start, size;
};
struct ProfileInfo {
  unsigned id, p2p, slices, instances, sms, copy, dec, enc, jpeg, ofa;
  unsigned long long memory;
};
struct ProfileInfoV2 {
  unsigned version, id, p2p, slices, instances, sms, copy, dec, enc, jpeg, ofa;
  unsigned long long memory;
  char name[96];
};
struct InstanceInfo {
  Handle device;
  unsigned id, profile;
  Placement placement;
};
struct ComputeInfo {
  Handle device, instance;
  unsigned id, profile;
  Placement placement;
};
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gi, ci;
};
struct Pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct Attributes {
  unsigned sms, copy, dec, enc, jpeg, ofa, gi_slices, ci_slices;
  unsigned long long memory;
};
struct Field {
  unsigned id, scope;
  long long timestamp, latency;
  int type, answer;
  unsigned long long value;
};

void* library() {
  static void* handle = ::dlopen(PARTITA_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return handle;
}

// nvml<name>(arguments...) by dlsym.
template <class... Arguments>
int nvml(const char* name, Arguments... arguments) {
  const std::string symbol = std::string("nvml") + name;
  auto* function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library(), symbol.c_str()));
  if (function == nullptr) {
    ADD_FAILURE() << symbol << " is not exported";
    return -1;
  }
  return function(arguments...);
}

class Nvml : public testing::Test {
 protected:
  void begin(const NodeSpec& spec) {
    ASSERT_NE(library(), nullptr) << ::dlerror();
    ASSERT_TRUE(Engine::create(folder_.path(), spec));
    ::setenv("PARTITA_EMULATED_NODE", folder_.path().c_str(), 1);
    ASSERT_EQ(nvml("Init_v2"), kSuccess);
    running_ = true;
  }
  void TearDown() override {
    if (running_) {
      EXPECT_EQ(nvml("Shutdown"), kSuccess);
    }
  }
  static Handle gpu(unsigned index) {
    Handle handle = nullptr;
    EXPECT_EQ(nvml("DeviceGetHandleByIndex_v2", index, &handle), kSuccess);
    return handle;
  }
  struct Device {
    Handle gi, ci, mig;
  };
  // A MIG device that fills a GPU instance of the profile.
  static Device make(Handle gpu, unsigned profile, unsigned compute, unsigned mig_index) {
    Device made{};
    EXPECT_EQ(nvml("DeviceCreateGpuInstance", gpu, profile, &made.gi), kSuccess);
    EXPECT_EQ(nvml("GpuInstanceCreateComputeInstance", made.gi, compute, &made.ci), kSuccess);
    EXPECT_EQ(nvml("DeviceGetMigDeviceHandleByIndex", gpu, mig_index, &made.mig), kSuccess);
    return made;
  }
  static std::string text(const char* function, Handle handle) {
    char buffer[96];
    EXPECT_EQ(nvml(function, handle, static_cast<char*>(buffer), 96u), kSuccess);
    return buffer;
  }

  test::TestFolder folder_;
  bool running_ = false;
};

NodeSpec mixed() {
  NodeSpec spec = test::with_mig_on(test::node({test::a100(0), test::a100(1, true), test::a30(2), test::gb10(3)}));
  spec.gpus[1].mig_enabled = false;
  return spec;
}

TEST_F(Nvml, OldDriversNameMigDevicesByTheirIds) {
  NodeSpec spec = test::with_mig_on(test::node({test::a100(0)}));
  spec.driver_version = "460.73.01";
  begin(spec);
  const Device made = make(gpu(0), 9, 2, 0);
  char uuid[96];
  ASSERT_EQ(nvml("DeviceGetUUID", made.mig, uuid, 96u), kSuccess);
  EXPECT_EQ(std::string(uuid), "MIG-" + spec.gpus[0].uuid + "/2/0");
  Handle found = nullptr;
  ASSERT_EQ(nvml("DeviceGetHandleByUUID", static_cast<const char*>(uuid), &found), kSuccess);
  EXPECT_EQ(found, made.mig);
}

TEST_F(Nvml, NothingWorksBeforeInitAndAfterShutdown) {
  unsigned count = 0;
  EXPECT_EQ(nvml("DeviceGetCount_v2", &count), kUninitialized);
  EXPECT_EQ(nvml("Shutdown"), kUninitialized);
  ::unsetenv("PARTITA_EMULATED_NODE");
  EXPECT_EQ(nvml("Init_v2"), kDriverNotLoaded);
  ::setenv("PARTITA_EMULATED_NODE", "/nonexistent/node", 1);
  EXPECT_EQ(nvml("Init"), kDriverNotLoaded);
  auto* error = reinterpret_cast<int (*)(char*, unsigned)>(::dlsym(library(), "partita_emulator_last_error"));
  char words[512];
  ASSERT_EQ(error(words, sizeof words), kSuccess);
  EXPECT_NE(std::string(words).find("/nonexistent/node"), std::string::npos);
  begin(mixed());
  EXPECT_EQ(nvml("InitWithFlags", 0u), kSuccess);
  EXPECT_EQ(nvml("Shutdown"), kSuccess);
  EXPECT_EQ(nvml("DeviceGetCount_v2", &count), kSuccess) << "initialised twice, shut down once";
  EXPECT_EQ(count, 4u);
}

TEST_F(Nvml, SystemAndErrorStrings) {
  begin(mixed());
  char version[80];
  int cuda = 0;
  EXPECT_EQ(nvml("SystemGetDriverVersion", static_cast<char*>(version), 80u), kSuccess);
  EXPECT_STREQ(version, "550.90.07");
  EXPECT_EQ(nvml("SystemGetDriverVersion", static_cast<char*>(version), 9u), kInsufficientSize);
  EXPECT_EQ(nvml("SystemGetDriverVersion", static_cast<char*>(nullptr), 80u), kInvalidArgument);
  EXPECT_EQ(nvml("SystemGetNVMLVersion", static_cast<char*>(version), 80u), kSuccess);
  EXPECT_STREQ(version, "12.550.90.07");
  EXPECT_EQ(nvml("SystemGetCudaDriverVersion_v2", &cuda), kSuccess);
  EXPECT_EQ(cuda, 12040);
  EXPECT_EQ(nvml("SystemGetProcessName", static_cast<unsigned>(::getpid()), static_cast<char*>(version), 80u),
            kSuccess);
  EXPECT_NE(std::string(version), "");
  auto* words = reinterpret_cast<const char* (*)(int)>(::dlsym(library(), "nvmlErrorString"));
  EXPECT_STREQ(words(19), "In use by another client");
  EXPECT_STREQ(words(23), "Insufficient Resources");
  EXPECT_STREQ(words(12345), "Unknown Error");
}

TEST_F(Nvml, GpusAreFoundByEveryName) {
  begin(mixed());
  const Handle second = gpu(1);
  Handle found = nullptr;
  const std::string uuid = text("DeviceGetUUID", second), serial = text("DeviceGetSerial", second);
  EXPECT_EQ(nvml("DeviceGetHandleByUUID", uuid.c_str(), &found), kSuccess);
  EXPECT_EQ(found, second);
  EXPECT_EQ(nvml("DeviceGetHandleBySerial", serial.c_str(), &found), kSuccess);
  EXPECT_EQ(found, second);
  for (const char* bus : {"00000000:02:00.0", "0000:02:00.0", "02:00.0", "0:2:0.0"}) {
    found = nullptr;
    EXPECT_EQ(nvml("DeviceGetHandleByPciBusId_v2", bus, &found), kSuccess) << bus;
    EXPECT_EQ(found, second) << bus;
  }
  EXPECT_EQ(nvml("DeviceGetHandleByPciBusId_v2", "00:00.0", &found), kNotFound);
  EXPECT_EQ(nvml("DeviceGetHandleByPciBusId_v2", "nonsense", &found), kInvalidArgument);
  EXPECT_EQ(nvml("DeviceGetHandleByUUID", "GPU-0", &found), kNotFound);
  EXPECT_EQ(nvml("DeviceGetHandleByIndex_v2", 4u, &found), kInvalidArgument);
  Pci pci{};
  EXPECT_EQ(nvml("DeviceGetPciInfo_v3", second, &pci), kSuccess);
  EXPECT_STREQ(pci.bus_id, "00000000:02:00.0");
  EXPECT_STREQ(pci.legacy, "0000:02:00.0");
  EXPECT_EQ(pci.id, 0x20b010deu);
}

TEST_F(Nvml, WildHandlesAreRefused) {
  begin(mixed());
  unsigned number = 0;
  char name[96];
  int local = 0;
  for (const Handle wild : {Handle{nullptr}, Handle{&local}, reinterpret_cast<Handle>(~std::uintptr_t{0}),
                            reinterpret_cast<Handle>(std::uintptr_t{0xe1ff000047505530})}) {
    EXPECT_EQ(nvml("DeviceGetName", wild, static_cast<char*>(name), 96u), kInvalidArgument);
    EXPECT_EQ(nvml("DeviceGetMigMode", wild, &number, &number), kInvalidArgument);
    EXPECT_EQ(nvml("GpuInstanceDestroy", wild), kInvalidArgument);
    EXPECT_EQ(nvml("ComputeInstanceDestroy", wild), kInvalidArgument);
  }
  EXPECT_EQ(nvml("GpuInstanceDestroy", gpu(0)), kInvalidArgument) << "a GPU is no GPU instance";
  EXPECT_EQ(nvml("DeviceGetMigMode", gpu(0), &number, static_cast<unsigned*>(nullptr)), kInvalidArgument);
}

TEST_F(Nvml, ModeOffAndNoMigRefuseMigCalls) {
  begin(mixed());
  unsigned current = 7, pending = 7, count = 7;
  ProfileInfo info{};
  EXPECT_EQ(nvml("DeviceGetMigMode", gpu(1), &current, &pending), kSuccess);
  EXPECT_EQ(current, 0u);
  EXPECT_EQ(nvml("DeviceGetGpuInstanceProfileInfo", gpu(1), 0u, &info), kNotSupported);
  EXPECT_EQ(nvml("DeviceGetMaxMigDeviceCount", gpu(1), &count), kSuccess);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(nvml("DeviceGetMigMode", gpu(3), &current, &pending), kNotSupported);
  int activation = 99;
  EXPECT_EQ(nvml("DeviceSetMigMode", gpu(3), 1u, &activation), kNotSupported);
  EXPECT_EQ(nvml("DeviceSetMigMode", gpu(1), 2u, &activation), kInvalidArgument);
  EXPECT_EQ(nvml("DeviceSetMigMode", gpu(1), 1u, &activation), kSuccess);
  EXPECT_EQ(activation, kSuccess);
  EXPECT_EQ(nvml("DeviceGetGpuInstanceProfileInfo", gpu(1), 0u, &info), kSuccess);
}

TEST_F(Nvml, ProfilesAndPlacements) {
  begin(mixed());
  const Handle a100 = gpu(0);
  ProfileInfo info{};
  ASSERT_EQ(nvml("DeviceGetGpuInstanceProfileInfo", a100, 2u, &info), kSuccess);
  EXPECT_EQ(info.id, 9u);
  EXPECT_EQ(info.slices, 3u);
  EXPECT_EQ(info.instances, 2u);
  EXPECT_EQ(info.sms, 42u);
  EXPECT_EQ(info.memory, 20096u);
  EXPECT_EQ(nvml("DeviceGetGpuInstanceProfileInfo", a100, 5u, &info), kNotSupported);
  EXPECT_EQ(nvml("DeviceGetGpuInstanceProfileInfo", a100, 18u, &info), kInvalidArgument);
  ProfileInfoV2 v2{};
  EXPECT_EQ(nvml("DeviceGetGpuInstanceProfileInfoV", a100, 2u, &v2), kVersionMismatch);
  v2.version = sizeof v2 | 2u << 24;
  ASSERT_EQ(nvml("DeviceGetGpuInstanceProfileInfoV", a100, 2u, &v2), kSuccess);
  EXPECT_STREQ(v2.name, "MIG 3g.20gb");
  EXPECT_EQ(v2.memory, 20096u);

  Placement places[8];
  unsigned count = 0;
  EXPECT_EQ(nvml("DeviceGetGpuInstancePossiblePlacements_v2", a100, 9u, static_cast<Placement*>(nullptr), &count),
            kSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(nvml("DeviceGetGpuInstancePossiblePlacements_v2", a100, 9u, static_cast<Placement*>(places), &count),
            kSuccess);
  EXPECT_EQ(places[1].start, 4u);
  EXPECT_EQ(places[1].size, 4u);
  EXPECT_EQ(nvml("DeviceGetGpuInstanceRemainingCapacity", a100, 19u, &count), kSuccess);
  EXPECT_EQ(count, 7u);
}

TEST_F(Nvml, InstancesComeAndGo) {
  begin(mixed());
  const Handle a100 = gpu(0);
  Handle gi = nullptr, overlapping = nullptr;
  const Placement at_four{4, 4}, at_two{2, 4}, wrong_size{0, 2};
  ASSERT_EQ(nvml("DeviceCreateGpuInstanceWithPlacement", a100, 9u, &at_four, &gi), kSuccess);
  EXPECT_EQ(nvml("DeviceCreateGpuInstanceWithPlacement", a100, 9u, &at_four, &overlapping), kInsufficientResources);
  EXPECT_EQ(nvml("DeviceCreateGpuInstanceWithPlacement", a100, 9u, &at_two, &overlapping), kInvalidArgument);
  EXPECT_EQ(nvml("DeviceCreateGpuInstanceWithPlacement", a100, 9u, &wrong_size, &overlapping), kInvalidArgument);
  InstanceInfo info{};
  ASSERT_EQ(nvml("GpuInstanceGetInfo", gi, &info), kSuccess);
  EXPECT_EQ(info.device, a100);
  EXPECT_EQ(info.id, 2u);
  EXPECT_EQ(info.profile, 9u);
  EXPECT_EQ(info.placement.start, 4u);
  Handle found = nullptr, list[8];
  unsigned count = 0;
  EXPECT_EQ(nvml("DeviceGetGpuInstanceById", a100, 2u, &found), kSuccess);
  EXPECT_EQ(found, gi);
  EXPECT_EQ(nvml("DeviceGetGpuInstanceById", a100, 1u, &found), kNotFound);
  EXPECT_EQ(nvml("DeviceGetGpuInstances", a100, 9u, static_cast<Handle*>(list), &count), kSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(list[0], gi);

  Handle ci = nullptr;
  ASSERT_EQ(nvml("GpuInstanceCreateComputeInstance", gi, 1u, &ci), kSuccess);
  ComputeInfo compute{};
  ASSERT_EQ(nvml("ComputeInstanceGetInfo_v2", ci, &compute), kSuccess);
  EXPECT_EQ(compute.device, a100);
  EXPECT_EQ(compute.instance, gi);
  EXPECT_EQ(compute.profile, 1u);
  EXPECT_EQ(compute.placement.size, 2u);
  EXPECT_EQ(nvml("GpuInstanceDestroy", gi), kInUse);
  EXPECT_EQ(nvml("ComputeInstanceDestroy", ci), kSuccess);
  EXPECT_EQ(nvml("ComputeInstanceDestroy", ci), kNotFound);
  EXPECT_EQ(nvml("GpuInstanceDestroy", gi), kSuccess);
  EXPECT_EQ(nvml("GpuInstanceGetInfo", gi, &info), kNotFound);
  ASSERT_EQ(nvml("DeviceCreateGpuInstanceWithPlacement", a100, 9u, &at_four, &found), kSuccess);
  EXPECT_NE(found, gi) << "made again in the same place: the old handle stays dead";
  EXPECT_EQ(nvml("GpuInstanceDestroy", gi), kNotFound);
}

TEST_F(Nvml, MigDevices) {
  begin(mixed());
  const Handle a100 = gpu(0);
  const Device large = make(a100, 9, 2, 0), small = make(a100, 19, 0, 1);
  EXPECT_EQ(text("DeviceGetName", large.mig), "NVIDIA A100-SXM4-40GB MIG 3g.20gb");
  EXPECT_EQ(text("DeviceGetName", small.mig), "NVIDIA A100-SXM4-40GB MIG 1g.5gb");
  unsigned number = 99;
  EXPECT_EQ(nvml("DeviceIsMigDeviceHandle", small.mig, &number), kSuccess);
  EXPECT_EQ(number, 1u);
  EXPECT_EQ(nvml("DeviceGetGpuInstanceId", small.mig, &number), kSuccess);
  EXPECT_EQ(number, 7u);
  EXPECT_EQ(nvml("DeviceGetComputeInstanceId", small.mig, &number), kSuccess);
  EXPECT_EQ(number, 0u);
  EXPECT_EQ(nvml("DeviceGetIndex", small.mig, &number), kSuccess);
  EXPECT_EQ(number, 1u);
  EXPECT_EQ(nvml("DeviceGetGpuInstanceId", a100, &number), kInvalidArgument);
  Handle found = nullptr;
  EXPECT_EQ(nvml("DeviceGetDeviceHandleFromMigDeviceHandle", small.mig, &found), kSuccess);
  EXPECT_EQ(found, a100);
  EXPECT_EQ(nvml("DeviceGetMigDeviceHandleByIndex", a100, 2u, &found), kNotFound);
  EXPECT_EQ(nvml("DeviceGetMigDeviceHandleByIndex", a100, 7u, &found), kInvalidArgument);

  const std::string uuid = text("DeviceGetUUID", small.mig);
  EXPECT_TRUE(uuid.starts_with("MIG-"));
  EXPECT_EQ(uuid.size(), 40u);
  EXPECT_EQ(nvml("DeviceGetHandleByUUID", uuid.c_str(), &found), kSuccess);
  EXPECT_EQ(found, small.mig);
  const std::string old_name = "MIG-" + text("DeviceGetUUID", a100) + "/7/0";
  EXPECT_EQ(nvml("DeviceGetHandleByUUID", old_name.c_str(), &found), kSuccess);
  EXPECT_EQ(found, small.mig);
  for (const char* wrong : {"MIG-", "MIG-GPU-", "MIG-GPU-x/1", "MIG-GPU-x/1/2", "MIG-/", "MIG-GPU-/"}) {
    EXPECT_EQ(nvml("DeviceGetHandleByUUID", wrong, &found), kNotFound) << wrong;
  }
  Attributes attributes{};
  EXPECT_EQ(nvml("DeviceGetAttributes_v2", large.mig, &attributes), kSuccess);
  EXPECT_EQ(attributes.sms, 42u);
  EXPECT_EQ(attributes.gi_slices, 3u);
  EXPECT_EQ(attributes.memory, 20096u);
  EXPECT_EQ(nvml("DeviceGetAttributes_v2", a100, &attributes), kNotSupported);
  Pci pci{};
  EXPECT_EQ(nvml("DeviceGetPciInfo_v3", small.mig, &pci), kNotSupported);

  ASSERT_EQ(nvml("ComputeInstanceDestroy", large.ci), kSuccess);
  char name[96];
  EXPECT_EQ(nvml("DeviceGetName", large.mig, static_cast<char*>(name), 96u), kNotFound);
  EXPECT_EQ(nvml("DeviceGetIndex", small.mig, &number), kSuccess);
  EXPECT_EQ(number, 0u) << "indices have no gaps";
}

TEST_F(Nvml, HoldersShowInMemoryAndProcessLists) {
  begin(mixed());
  const Handle a100 = gpu(0);
  const Device device = make(a100, 9, 2, 0), other = make(a100, 19, 0, 1);
  Engine engine = std::move(*Engine::open(folder_.path()));
  ASSERT_EQ(engine.hold(0, 2, 0, ::getpid(), 1ull << 30), kSuccess);
  MemoryInfo memory{};
  EXPECT_EQ(nvml("DeviceGetMemoryInfo", device.mig, &memory), kSuccess);
  EXPECT_EQ(memory.total, 20096ull << 20);
  EXPECT_EQ(memory.used, 1ull << 30);
  EXPECT_EQ(nvml("DeviceGetMemoryInfo", a100, &memory), kSuccess);
  EXPECT_EQ(memory.used, 1ull << 30);
  EXPECT_EQ(nvml("DeviceGetMemoryInfo", other.mig, &memory), kSuccess);
  EXPECT_EQ(memory.used, 0u);
  unsigned count = 0;
  EXPECT_EQ(nvml("DeviceGetComputeRunningProcesses_v3", a100, &count, static_cast<Process*>(nullptr)),
            kInsufficientSize);
  EXPECT_EQ(count, 1u);
  Process rows[4];
  count = 4;
  EXPECT_EQ(nvml("DeviceGetComputeRunningProcesses_v3", a100, &count, static_cast<Process*>(rows)), kSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(rows[0].pid, static_cast<unsigned>(::getpid()));
  EXPECT_EQ(rows[0].gi, 2u);
  EXPECT_EQ(rows[0].ci, 0u);
  count = 4;
  EXPECT_EQ(nvml("DeviceGetComputeRunningProcesses_v3", other.mig, &count, static_cast<Process*>(rows)), kSuccess);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(nvml("ComputeInstanceDestroy", device.ci), kInUse);
}

TEST_F(Nvml, FaultsAndLostGpus) {
  begin(mixed());
  Engine engine = std::move(*Engine::open(folder_.path()));
  unsigned count = 0;
  ASSERT_EQ(engine.add_fault({.function = "nvmlDeviceGetCount_v2", .gpu = {}, .calls = 2, .answer = kTimeout}),
            kSuccess);
  ASSERT_EQ(engine.add_fault({.function = "nvmlDeviceGetMigMode", .gpu = 1, .calls = 1, .answer = kUnknown}), kSuccess);
  EXPECT_EQ(nvml("DeviceGetCount_v2", &count), kTimeout);
  EXPECT_EQ(nvml("DeviceGetCount_v2", &count), kTimeout);
  EXPECT_EQ(nvml("DeviceGetCount_v2", &count), kSuccess);
  unsigned current = 0, pending = 0;
  EXPECT_EQ(nvml("DeviceGetMigMode", gpu(0), &current, &pending), kSuccess);
  EXPECT_EQ(nvml("DeviceGetMigMode", gpu(1), &current, &pending), kUnknown);
  EXPECT_EQ(nvml("DeviceGetMigMode", gpu(1), &current, &pending), kSuccess);
  const Handle first = gpu(0);
  engine.set_condition(0, Condition::lost);
  EXPECT_EQ(nvml("DeviceGetMigMode", first, &current, &pending), kGpuIsLost);
  Handle handle = nullptr;
  EXPECT_EQ(nvml("DeviceGetHandleByIndex_v2", 0u, &handle), kGpuIsLost);
  EXPECT_EQ(nvml("DeviceGetCount_v2", &count), kSuccess);
  EXPECT_EQ(count, 4u);
}

TEST_F(Nvml, LinksAndFields) {
  NodeSpec spec = test::node({test::a100(0, false, false), test::a100(1), test::a100(2)});
  spec.gpus[0].reset_group = spec.gpus[1].reset_group = 1;
  spec.gpus[2].nvlinks = 12;
  begin(spec);
  int type = 99;
  Pci pci{};
  unsigned active = 0;
  EXPECT_EQ(nvml("DeviceGetNvLinkRemoteDeviceType", gpu(0), 0u, &type), kSuccess);
  EXPECT_EQ(type, 0);
  EXPECT_EQ(nvml("DeviceGetNvLinkRemotePciInfo_v2", gpu(0), 0u, &pci), kSuccess);
  EXPECT_STREQ(pci.bus_id, "00000000:02:00.0");
  EXPECT_EQ(nvml("DeviceGetNvLinkState", gpu(0), 1u, &active), kNotSupported);
  EXPECT_EQ(nvml("DeviceGetNvLinkState", gpu(2), 11u, &active), kSuccess);
  EXPECT_EQ(active, 1u);
  EXPECT_EQ(nvml("DeviceGetNvLinkRemoteDeviceType", gpu(2), 3u, &type), kSuccess);
  EXPECT_EQ(type, 2);
  EXPECT_EQ(nvml("DeviceGetNvLinkState", gpu(2), 36u, &active), kInvalidArgument);
  Field fields[3]{};
  fields[0].id = 184, fields[1].id = 199, fields[2].id = 298;
  EXPECT_EQ(nvml("DeviceGetFieldValues", gpu(0), 3, static_cast<Field*>(fields)), kSuccess);
  EXPECT_EQ(fields[0].answer, kSuccess);
  EXPECT_EQ(fields[0].value, 0u) << "Ampere needs a reset";
  EXPECT_EQ(fields[2].answer, kNotSupported);
  EXPECT_EQ(nvml("DeviceGetFieldValues", gpu(1), 1, static_cast<Field*>(fields)), kSuccess);
  EXPECT_EQ(fields[0].value, 1u);
}

// A program of its own that only knows the library's name and the variable, as any client.
TEST_F(Nvml, WorksInAForkedChildAndInASecondProcess) {
  begin(mixed());
  const Handle a100 = gpu(0);
  const pid_t child = ::fork();
  if (child == 0) {
    Handle gi = nullptr;
    ::_exit(nvml("DeviceCreateGpuInstance", a100, 19u, &gi));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kSuccess);
  Handle gi = nullptr;
  EXPECT_EQ(nvml("DeviceGetGpuInstanceById", a100, 13u, &gi), kSuccess) << "made by the child, seen here";
  EXPECT_EQ(nvml("GpuInstanceDestroy", gi), kSuccess);
}

TEST_F(Nvml, ANodeStartedAgainIsANewNode) {
  begin(mixed());
  unsigned count = 0;
  ASSERT_EQ(nvml("Shutdown"), kSuccess);
  running_ = false;
  std::filesystem::remove(folder_.path() / "state");
  begin(test::node({test::a30(0)}));
  EXPECT_EQ(nvml("DeviceGetCount_v2", &count), kSuccess);
  EXPECT_EQ(count, 1u);
}

}  // namespace
}  // namespace partita::emulator
