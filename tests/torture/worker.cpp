#include "worker.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "emulator/engine/engine.h"

namespace partita::torture {

namespace {

using namespace partita::emulator;
using Handle = void*;

struct Placement {
  unsigned start, size;
};
struct GpuInstanceInfo {
  Handle device;
  unsigned id, profile_id;
  Placement placement;
};
struct ComputeInstanceInfo {
  Handle device, gpu_instance;
  unsigned id, profile_id;
  Placement placement;
};
struct Memory {
  unsigned long long total, free, used;
};

struct Library {
  void* library = nullptr;

  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library, name));
    return function == nullptr ? 9999 : function(arguments...);
  }
};

// An instance that this process has made or found. Whoever destroyed it: once it is gone, it stays gone.
struct Known {
  Handle handle;
  bool compute;
  bool gone = false;
};

class Worker {
 public:
  Worker(const std::filesystem::path& node, std::uint64_t seed, int report)
      : random_(seed), report_(report), engine_(std::move(*Engine::open(node))) {
    ::setenv("PARTITA_EMULATED_NODE", node.c_str(), 1);
    nvml_.library = ::dlopen(PARTITA_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (nvml_.library == nullptr) wrong(std::string("dlopen: ") + ::dlerror());
    expect(nvml_.call("nvmlInit_v2"), {kSuccess}, "nvmlInit_v2");
    gpus_.resize(engine_.spec().gpus.size());
    for (unsigned i = 0; i < gpus_.size(); ++i)
      expect(nvml_.call("nvmlDeviceGetHandleByIndex_v2", i, &gpus_[i]), {kSuccess}, "nvmlDeviceGetHandleByIndex_v2");
  }

  [[noreturn]] void run() {
    for (;;) {
      switch (draw(12)) {
        case 0:
        case 1:
        case 2:
          make_gpu_instance();
          break;
        case 3:
        case 4:
        case 5:
          make_compute_instance();
          break;
        case 6:
        case 7:
        case 8:
          destroy();
          break;
        case 9:
          hold();
          break;
        default:
          look();
          break;
      }
    }
  }

 private:
  unsigned draw(std::size_t below) { return static_cast<unsigned>(random_() % below); }

  [[noreturn]] void wrong(const std::string& what) {
    const std::string line = "pid " + std::to_string(::getpid()) + ": " + what + "\n";
    [[maybe_unused]] const auto written = ::write(report_, line.data(), line.size());
    ::_exit(1);
  }
  int expect(int answer, std::initializer_list<int> allowed, const char* function) {
    for (const int one : allowed)
      if (answer == one) return answer;
    wrong(std::string(function) + " answered " + std::to_string(answer));
  }

  void remember(Handle handle, bool compute) {
    if (known_.size() < 200) return known_.push_back({handle, compute});
    known_[draw(known_.size())] = {handle, compute};
  }

  void make_gpu_instance() {
    const unsigned gpu = draw(gpus_.size());
    const auto& profiles = engine_.spec().gpus[gpu].profiles;
    const ProfileSpec& profile = profiles[draw(profiles.size())];
    const auto id = static_cast<unsigned>(profile.id);
    Handle made = nullptr;
    int answer = 0;
    if (draw(2) == 0) {
      const Placement place{static_cast<unsigned>(profile.starts[draw(profile.starts.size())]),
                            static_cast<unsigned>(profile.size)};
      answer = nvml_.call("nvmlDeviceCreateGpuInstanceWithPlacement", gpus_[gpu], id, &place, &made);
    } else {
      answer = nvml_.call("nvmlDeviceCreateGpuInstance", gpus_[gpu], id, &made);
    }
    if (expect(answer, {kSuccess, kInsufficientResources}, "nvmlDeviceCreateGpuInstance") == kSuccess)
      remember(made, false);
  }

  void make_compute_instance() {
    Known* parent = pick(false);
    if (parent == nullptr) return;
    Handle made = nullptr;
    const int answer = nvml_.call("nvmlGpuInstanceCreateComputeInstance", parent->handle, draw(5), &made);
    expect(answer, {kSuccess, kInsufficientResources, kNotSupported, kNotFound},
           "nvmlGpuInstanceCreateComputeInstance");
    check_gone(*parent, answer);
    if (answer == kSuccess) remember(made, true);
  }

  void destroy() {
    Known* known = pick(draw(3) != 0);
    if (known == nullptr) return;
    const char* function = known->compute ? "nvmlComputeInstanceDestroy" : "nvmlGpuInstanceDestroy";
    const int answer = expect(nvml_.call(function, known->handle), {kSuccess, kNotFound, kInUse}, function);
    check_gone(*known, answer);
    if (answer == kSuccess) known->gone = true;
  }

  void hold() {
    const unsigned gpu = draw(gpus_.size());
    const GpuState state = engine_.gpu(static_cast<int>(gpu));
    for (const GpuInstanceState& instance : state.instances) {
      if (instance.compute.empty() || draw(3) != 0) continue;
      const int answer = engine_.hold(static_cast<int>(gpu), instance.id, instance.compute[0].id, ::getpid(), 1 << 20);
      expect(answer, {kSuccess, kNotFound, kInsufficientResources}, "hold");
      return;
    }
  }

  void look() {
    Known* known = pick(draw(2) == 0);
    if (known == nullptr) return;
    GpuInstanceInfo gi{};
    ComputeInstanceInfo ci{};
    const int answer = known->compute ? nvml_.call("nvmlComputeInstanceGetInfo_v2", known->handle, &ci)
                                      : nvml_.call("nvmlGpuInstanceGetInfo", known->handle, &gi);
    expect(answer, {kSuccess, kNotFound}, "GetInfo");
    check_gone(*known, answer);
    Handle mig = nullptr;
    const unsigned gpu = draw(gpus_.size());
    if (expect(nvml_.call("nvmlDeviceGetMigDeviceHandleByIndex", gpus_[gpu], draw(4), &mig), {kSuccess, kNotFound},
               "nvmlDeviceGetMigDeviceHandleByIndex") != kSuccess)
      return;
    Memory memory{};
    expect(nvml_.call("nvmlDeviceGetMemoryInfo", mig, &memory), {kSuccess, kNotFound}, "nvmlDeviceGetMemoryInfo");
    char uuid[96];
    expect(nvml_.call("nvmlDeviceGetUUID", mig, uuid, 96U), {kSuccess, kNotFound}, "nvmlDeviceGetUUID");
  }

  Known* pick(bool compute) {
    for (int attempt = 0; attempt < 8 && !known_.empty(); ++attempt) {
      Known& one = known_[draw(known_.size())];
      if (one.compute == compute) return &one;
    }
    return nullptr;
  }

  void check_gone(Known& known, int answer) {
    if (known.gone && answer != kNotFound)
      wrong("the handle of an instance that is gone answered " + std::to_string(answer));
    if (answer == kNotFound) known.gone = true;
  }

  std::mt19937_64 random_;
  int report_;
  Engine engine_;
  Library nvml_;
  std::vector<Handle> gpus_;
  std::vector<Known> known_;
};

}  // namespace

void work(const std::filesystem::path& node, std::uint64_t seed, int report) { Worker(node, seed, report).run(); }

}  // namespace partita::torture
