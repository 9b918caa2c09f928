// The emulated driver: getters, making and destroying instances, initialisation. The library is opened as any client
// opens it; the node is an 8-GPU one without files under root/ unless the name says so.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include "emulator/engine/engine.h"
#include "emulator/engine/test_folder.h"
#include "emulator/engine/test_nodes.h"

namespace {

using namespace partita::emulator;

NodeSpec eight_gpus(bool files) {
  std::vector<GpuSpec> gpus;
  for (int i = 0; i < 8; ++i) gpus.push_back(test::a100(i));
  return test::with_mig_on(test::node(std::move(gpus), files));
}

// The library with a node of its own, initialised.
struct Client {
  test::TestFolder folder;
  void* library = nullptr;

  explicit Client(bool files = false) {
    if (!Engine::create(folder.path(), eight_gpus(files))) std::abort();
    ::setenv("PARTITA_EMULATED_NODE", folder.path().c_str(), 1);
    library = ::dlopen(PARTITA_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::abort();
  }
  template <class Function>
  Function* find(const char* name) const {
    void* symbol = ::dlsym(library, name);
    if (symbol == nullptr) std::abort();
    return reinterpret_cast<Function*>(symbol);
  }
  void call(const char* name) const {
    if (find<int()>(name)() != 0) std::abort();
  }
};

using Handle = void*;
struct MemoryInfo {
  unsigned long long total, free, used;
};

// A MIG device on GPU 0 among seven.
Handle make_devices(const Client& client) {
  Handle gpu = nullptr, mig = nullptr;
  client.find<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2")(0, &gpu);
  for (int i = 0; i < 7; ++i) {
    Handle gi = nullptr, ci = nullptr;
    client.find<int(Handle, unsigned, Handle*)>("nvmlDeviceCreateGpuInstance")(gpu, 19, &gi);
    client.find<int(Handle, unsigned, Handle*)>("nvmlGpuInstanceCreateComputeInstance")(gi, 0, &ci);
  }
  if (client.find<int(Handle, unsigned, Handle*)>("nvmlDeviceGetMigDeviceHandleByIndex")(gpu, 3, &mig) != 0)
    std::abort();
  return mig;
}

void gpu_mig_mode(benchmark::State& state) {
  const Client client;
  client.call("nvmlInit_v2");
  Handle gpu = nullptr;
  client.find<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2")(0, &gpu);
  auto* get = client.find<int(Handle, unsigned*, unsigned*)>("nvmlDeviceGetMigMode");
  unsigned current = 0, pending = 0;
  for (auto _ : state) benchmark::DoNotOptimize(get(gpu, &current, &pending));
  client.call("nvmlShutdown");
}
BENCHMARK(gpu_mig_mode);

void gpu_memory(benchmark::State& state) {
  const Client client;
  client.call("nvmlInit_v2");
  Handle gpu = nullptr;
  client.find<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2")(0, &gpu);
  auto* get = client.find<int(Handle, MemoryInfo*)>("nvmlDeviceGetMemoryInfo");
  MemoryInfo info{};
  for (auto _ : state) benchmark::DoNotOptimize(get(gpu, &info));
  client.call("nvmlShutdown");
}
BENCHMARK(gpu_memory);

void gpu_name(benchmark::State& state) {
  const Client client;
  client.call("nvmlInit_v2");
  Handle gpu = nullptr;
  client.find<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2")(0, &gpu);
  auto* get = client.find<int(Handle, char*, unsigned)>("nvmlDeviceGetName");
  char name[96];
  for (auto _ : state) benchmark::DoNotOptimize(get(gpu, name, sizeof name));
  client.call("nvmlShutdown");
}
BENCHMARK(gpu_name);

// An instrument: the law is worked out anew for the moment of the call.
void gpu_power(benchmark::State& state) {
  const Client client;
  client.call("nvmlInit_v2");
  Handle gpu = nullptr;
  client.find<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2")(0, &gpu);
  auto* get = client.find<int(Handle, unsigned*)>("nvmlDeviceGetPowerUsage");
  unsigned milliwatts = 0;
  for (auto _ : state) benchmark::DoNotOptimize(get(gpu, &milliwatts));
  client.call("nvmlShutdown");
}
BENCHMARK(gpu_power);

// A function of the interface that is not implemented.
void gpu_not_supported(benchmark::State& state) {
  const Client client;
  client.call("nvmlInit_v2");
  Handle gpu = nullptr;
  client.find<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2")(0, &gpu);
  auto* get = client.find<int(Handle, unsigned*)>("nvmlDeviceGetFanSpeed");
  unsigned speed = 0;
  for (auto _ : state) benchmark::DoNotOptimize(get(gpu, &speed));
  client.call("nvmlShutdown");
}
BENCHMARK(gpu_not_supported);

void mig_device_by_index(benchmark::State& state) {
  const Client client;
  client.call("nvmlInit_v2");
  make_devices(client);
  Handle gpu = nullptr, mig = nullptr;
  client.find<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2")(0, &gpu);
  auto* get = client.find<int(Handle, unsigned, Handle*)>("nvmlDeviceGetMigDeviceHandleByIndex");
  for (auto _ : state) benchmark::DoNotOptimize(get(gpu, 3, &mig));
  client.call("nvmlShutdown");
}
BENCHMARK(mig_device_by_index);

void mig_device_memory(benchmark::State& state) {
  const Client client;
  client.call("nvmlInit_v2");
  Handle mig = make_devices(client);
  auto* get = client.find<int(Handle, MemoryInfo*)>("nvmlDeviceGetMemoryInfo");
  MemoryInfo info{};
  for (auto _ : state) benchmark::DoNotOptimize(get(mig, &info));
  client.call("nvmlShutdown");
}
BENCHMARK(mig_device_memory);

void mig_device_uuid(benchmark::State& state) {
  const Client client;
  client.call("nvmlInit_v2");
  Handle mig = make_devices(client);
  auto* get = client.find<int(Handle, char*, unsigned)>("nvmlDeviceGetUUID");
  char uuid[96];
  for (auto _ : state) benchmark::DoNotOptimize(get(mig, uuid, sizeof uuid));
  client.call("nvmlShutdown");
}
BENCHMARK(mig_device_uuid);

// Whether its process still lives is looked up in /proc, at most once in kSeenAlive.
void gpu_memory_when_held(benchmark::State& state) {
  const Client client;
  client.call("nvmlInit_v2");
  Handle gpu = nullptr;
  client.find<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2")(0, &gpu);
  Engine engine = std::move(*Engine::open(client.folder.path()));
  if (engine.hold(0, {}, {}, ::getpid(), 1 << 20) != kSuccess) state.SkipWithError("refused");
  auto* get = client.find<int(Handle, MemoryInfo*)>("nvmlDeviceGetMemoryInfo");
  MemoryInfo info{};
  for (auto _ : state) benchmark::DoNotOptimize(get(gpu, &info));
  client.call("nvmlShutdown");
}
BENCHMARK(gpu_memory_when_held);

// A GPU instance with its compute instance, made and destroyed: four commits.
void create_and_destroy(benchmark::State& state) {
  const Client client(state.range(0) != 0);
  client.call("nvmlInit_v2");
  Handle gpu = nullptr, gi = nullptr, ci = nullptr;
  client.find<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2")(0, &gpu);
  auto* create = client.find<int(Handle, unsigned, Handle*)>("nvmlDeviceCreateGpuInstance");
  auto* create_compute = client.find<int(Handle, unsigned, Handle*)>("nvmlGpuInstanceCreateComputeInstance");
  auto* destroy_compute = client.find<int(Handle)>("nvmlComputeInstanceDestroy");
  auto* destroy = client.find<int(Handle)>("nvmlGpuInstanceDestroy");
  for (auto _ : state) {
    const int failed = create(gpu, 9, &gi) | create_compute(gi, 2, &ci) | destroy_compute(ci) | destroy(gi);
    if (failed != 0) state.SkipWithError("refused");
  }
  state.SetItemsProcessed(state.iterations());
  client.call("nvmlShutdown");
}
BENCHMARK(create_and_destroy)->ArgName("files")->Arg(0)->Arg(1);

// Mapping and checking the state anew in a process of its own is the cost; here the first call, once per process.
void init_first(benchmark::State& state) {
  const test::TestFolder folder;
  if (!Engine::create(folder.path(), eight_gpus(false))) std::abort();
  for (auto _ : state) {
    auto engine = Engine::open(folder.path());
    benchmark::DoNotOptimize(engine);
  }
}
BENCHMARK(init_first);

// nvmlInit_v2 of a process that has never called it.
void init_of_a_new_process(benchmark::State& state) {
  const Client client;
  for (auto _ : state) {
    int pipe[2];
    if (::pipe(pipe) != 0) std::abort();
    const pid_t child = ::fork();
    if (child == 0) {
      const auto begin = std::chrono::steady_clock::now();
      client.call("nvmlInit_v2");
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      ::_exit(::write(pipe[1], &took, sizeof took) == sizeof took ? 0 : 1);
    }
    std::chrono::duration<double> took{};
    if (::read(pipe[0], &took, sizeof took) != sizeof took) std::abort();
    ::waitpid(child, nullptr, 0);
    ::close(pipe[0]);
    ::close(pipe[1]);
    state.SetIterationTime(took.count());
  }
}
BENCHMARK(init_of_a_new_process)->UseManualTime();

void init_again(benchmark::State& state) {
  const Client client;
  auto* init = client.find<int()>("nvmlInit_v2");
  auto* shutdown = client.find<int()>("nvmlShutdown");
  for (auto _ : state) {
    benchmark::DoNotOptimize(init());
    shutdown();
  }
}
BENCHMARK(init_again);

// Readers against a process that cuts without pause: retries per read, counted.
void read_while_cut(benchmark::State& state) {
  const Client client;
  client.call("nvmlInit_v2");
  const pid_t writer = ::fork();
  if (writer == 0) {
    Engine engine = std::move(*Engine::open(client.folder.path()));
    for (;;) {
      GpuInstanceState made;
      engine.create_gpu_instance(0, 9, std::nullopt, made);
      engine.destroy_gpu_instance(0, made.id, made.serial);
    }
  }
  Handle gpu = nullptr;
  client.find<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2")(0, &gpu);
  auto* get = client.find<int(Handle, unsigned, Handle*)>("nvmlDeviceGetGpuInstanceById");
  auto* retries = client.find<unsigned long long()>("partita_emulator_reader_retries");
  const auto before = retries();
  auto last = before, most = before - before;
  Handle gi = nullptr;
  for (auto _ : state) {
    benchmark::DoNotOptimize(get(gpu, 2, &gi));
    const auto now = retries();
    most = std::max(most, now - last);
    last = now;
  }
  state.counters["most_retries_of_a_call"] = static_cast<double>(most);
  state.counters["retries_per_call"] =
      static_cast<double>(retries() - before) / static_cast<double>(state.iterations());
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
  client.call("nvmlShutdown");
}
BENCHMARK(read_while_cut);

}  // namespace
