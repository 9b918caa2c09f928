#include "emulator/abi/library.h"

#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "emulator/abi/emulator.h"
#include "emulator/abi/nvml_types.h"
#include "emulator/abi/objects.h"

namespace partita::emulator::abi {

namespace {

constexpr auto kLibRmVersionMismatch = static_cast<NvmlReturn>(18);

struct OpenNode {
  dev_t device = 0;
  ino_t inode = 0;
  Engine engine;
};

struct Process {
  std::mutex mutex;
  int users = 0;
  std::vector<std::unique_ptr<OpenNode>> nodes;  // never shrinks
  std::string error;
  std::atomic<Engine*> engine{nullptr};

  static Process& get() {
    static auto* process = new Process;  // outlives every static destructor
    return *process;
  }
};

std::atomic<Engine*>& engine_slot() {
  static std::atomic<Engine*>& slot = Process::get().engine;
  return slot;
}

// The node's engine, opened once per state file: a node that was stopped and started again has a new file.
Engine* engine_of(Process& process, const std::string& folder, NvmlReturn& answer) {
  struct stat info{};
  if (::stat((folder + "/state").c_str(), &info) == 0) {
    for (const auto& node : process.nodes) {
      if (node->device == info.st_dev && node->inode == info.st_ino) return &node->engine;
    }
  }
  auto engine = Engine::open(folder);
  if (!engine) {
    process.error = engine.error().message;
    answer = engine.error().code == ErrorCode::invalid  ? kLibRmVersionMismatch
             : engine.error().code == ErrorCode::denied ? kNoPermission
                                                        : kDriverNotLoaded;
    return nullptr;
  }
  process.nodes.push_back(std::make_unique<OpenNode>(OpenNode{info.st_dev, info.st_ino, std::move(*engine)}));
  return &process.nodes.back()->engine;
}

}  // namespace

NvmlReturn initialise() {
  Process& process = Process::get();
  const std::lock_guard guard(process.mutex);
  if (process.users > 0) {
    ++process.users;
    return kSuccess;
  }
  const char* folder = std::getenv("PARTITA_EMULATED_NODE");
  if (folder == nullptr || *folder == '\0') {
    process.error = "PARTITA_EMULATED_NODE is not set: expected the folder of an emulated node";
    return kDriverNotLoaded;
  }
  NvmlReturn answer = kSuccess;
  Engine* engine = engine_of(process, folder, answer);
  if (engine == nullptr) return answer;
  process.error.clear();
  process.users = 1;
  process.engine.store(engine, std::memory_order_release);
  return kSuccess;
}

NvmlReturn shut_down() {
  Process& process = Process::get();
  const std::lock_guard guard(process.mutex);
  if (process.users == 0) return kUninitialized;
  if (--process.users > 0) return kSuccess;
  process.engine.store(nullptr, std::memory_order_release);
  forget_event_sets();
  forget_gpm_samples();
  return kSuccess;
}

Engine* current_engine() { return engine_slot().load(std::memory_order_acquire); }

std::string last_error() {
  Process& process = Process::get();
  const std::lock_guard guard(process.mutex);
  return process.error;
}

}  // namespace partita::emulator::abi

extern "C" __attribute__((visibility("default"))) const char* partita_emulator_version(void) { return "0.1.0"; }

extern "C" __attribute__((visibility("default"))) unsigned long long partita_emulator_reader_retries(void) {
  const auto* engine = partita::emulator::abi::current_engine();
  return engine == nullptr ? 0 : engine->reader_retries();
}

extern "C" __attribute__((visibility("default"))) int partita_emulator_last_error(char* text, unsigned length) {
  try {
    const std::string error = partita::emulator::abi::last_error();
    if (text == nullptr || length <= error.size()) return partita::emulator::kInsufficientSize;
    error.copy(text, error.size());
    text[error.size()] = '\0';
    return partita::emulator::kSuccess;
  } catch (...) {
    return partita::emulator::kUnknown;
  }
}
