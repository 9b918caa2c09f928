// For tests: an emulated node in a temporary folder and an api::Node open on it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/node.h"
#include "base/clock.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "driver/driver.h"
#include "emulator/control/control.h"
#include "emulator/control/test_support.h"
#include "layout/checkpoint_file.h"
#include "node/node.h"

namespace partita::node {

inline std::string all_of(const Error& error) {
  return std::string(name(error.code)) + ": " + error.message + "\n" + join(error.details, "\n");
}

template <class T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(all_of(result.error()));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

class Recorder final : public Progress {
 public:
  void step(int done, int total, std::string_view what) override {
    EXPECT_LE(done, total) << what;
    steps.emplace_back(what);
  }
  void note(std::string_view line) override { notes.emplace_back(line); }
  std::vector<std::string> steps, notes;
};

// "off", "on", "on 1g.5gb@0 2g.10gb@2*": * is pinned, - has no compute instance, (2) has two.
inline std::string draw(const layout::Gpu& gpu) {
  if (gpu.fault) return *gpu.fault;
  if (!gpu.mode) return "no MIG";
  std::string text = gpu.mode->current ? "on" : "off";
  if (gpu.mode->current != gpu.mode->pending) text += gpu.mode->pending ? " (then on)" : " (then off)";
  for (const layout::GpuInstance& i : gpu.instances) {
    text += " " + layout::name_at(*gpu.board, i.profile, i.placement.start);
    if (i.compute.empty()) text += "-";
    if (i.compute.size() > 1) text += "(" + std::to_string(i.compute.size()) + ")";
    if (i.pinned()) text += "*";
  }
  return text;
}

// Killed processes lose nothing that a memory file system holds, and there a sync costs nothing.
struct MemoryFileSystem {
  MemoryFileSystem() {
    if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 0);
  }
};

// An emulated node that lives as long as this: a type that the program brings, or a node file's text.
class EmulatedWorld {
 public:
  explicit EmulatedWorld(std::string_view node) : catalog(value(catalog::Catalog::open())) {
    const bool is_text = node.starts_with("gpus:");
    emulated = value(emulator::start(catalog, is_text ? root.write("lab.yaml", node).string() : std::string(node)));
    ::setenv("PARTITA_EMULATED_NODE", emulated.folder.c_str(), 1);
    options.driver = {.library = PARTITA_EMULATED_LIBRARY, .device_root = emulated.folder / "root"};
    options.state_dir = emulated.folder / "partita";
    options.name = emulated.name;
    options.emulated = true;
    options.reset_command = {PARTITA_RESET_PROGRAM, emulated.name, "{bus-id}"};
  }
  ~EmulatedWorld() { ::unsetenv("PARTITA_EMULATED_NODE"); }
  EmulatedWorld(const EmulatedWorld&) = delete;
  EmulatedWorld& operator=(const EmulatedWorld&) = delete;

  std::unique_ptr<api::Node> open() { return value(open_node(catalog, clock, options)); }
  driver::Driver open_driver() { return value(driver::Driver::open(catalog, options.driver)); }

  static api::Caller administrator() { return {0, "root", true, false, {}}; }
  // Entries of one label, as in a mig-parted file.
  static api::PlanRequest layout(const std::string& entries, const api::ChangeOptions& change = {}) {
    const auto file = value(layout::read_mig_parted("version: v1\nmig-configs:\n  it:\n" + entries, "it.yaml"));
    return {administrator(), api::LayoutRequest{*value(file.label("it")), "it.yaml"}, change};
  }
  // {device -> {"1g.5gb": 7}} with MIG on; device -1 is all.
  static api::PlanRequest cut(const std::string& devices, const std::string& profiles,
                              const api::ChangeOptions& change = {}) {
    return layout("    - {devices: " + devices + ", mig-enabled: true, mig-devices: {" + profiles + "}}\n", change);
  }
  static api::PlanRequest off(const std::string& devices, const api::ChangeOptions& change = {}) {
    return layout("    - {devices: " + devices + ", mig-enabled: false}\n", change);
  }
  static api::PlanRequest demand(std::string profile, int count, const api::ChangeOptions& change = {}) {
    return {administrator(), api::DemandRequest{{{std::move(profile), count}}}, change};
  }
  // An exact layout of some GPUs, through a checkpoint: {3: {"4g.20gb@0", "2g.10gb@4"}}. The others stay out of it.
  api::PlanRequest exactly(const std::map<int, std::vector<std::string>>& wanted,
                           const api::ChangeOptions& change = {}) {
    layout::NodeState state = value(open_driver().state());
    std::vector<layout::Gpu> kept;
    for (layout::Gpu& gpu : state.gpus)
      if (const auto found = wanted.find(gpu.index); found != wanted.end()) {
        gpu.mode = layout::MigMode{true, true};
        gpu.instances.clear();
        for (const std::string& text : found->second) gpu.instances.push_back(instance(*gpu.board, text));
        kept.push_back(gpu);
      }
    state.gpus = kept;
    return {administrator(), api::CheckpointRequest{layout::write_checkpoint(state), "exact.json"}, change};
  }
  static layout::GpuInstance instance(const catalog::Board& board, const std::string& text) {
    const auto at = text.find('@');
    const auto found = std::ranges::find(board.profiles, text.substr(0, at), &catalog::Profile::name);
    if (found == board.profiles.end()) throw std::runtime_error("no profile " + text);
    const auto whole = std::ranges::find_if(found->compute, &catalog::ComputeProfile::is_default);
    layout::GpuInstance made;
    made.profile = static_cast<int>(found - board.profiles.begin());
    made.placement = {std::stoi(text.substr(at + 1)), found->placement_size};
    layout::ComputeInstance compute;
    compute.profile = static_cast<int>(whole - found->compute.begin());
    compute.placement = {0, whole->placement_size};
    made.compute.push_back(compute);
    return made;
  }

  Result<api::ApplyAnswer> apply(const api::PlanRequest& request) { return open()->apply(request, recorder); }
  void must_apply(const api::PlanRequest& request) { value(apply(request)); }
  layout::NodeState state() { return value(open()->status()).state; }
  std::string draw(int gpu) { return node::draw(state().gpus.at(static_cast<std::size_t>(gpu))); }

  // What someone else does: by the driver itself.
  void make_foreign(int gpu, const std::string& text, bool with_compute = true) {
    driver::Driver driver = open_driver();
    const layout::Gpu live = value(driver.state()).gpus.at(static_cast<std::size_t>(gpu));
    const layout::GpuInstance wanted = instance(*live.board, text);
    const auto made = value(driver.create_gpu_instance(live, wanted.profile, wanted.placement.start));
    if (with_compute) value(driver.create_compute_instance(live, made, wanted.compute[0].profile, 0));
  }
  // The UUID of the MIG device at a place.
  std::string device(int gpu, const std::string& text) {
    const layout::NodeState now = state();
    const layout::Gpu& live = now.gpus.at(static_cast<std::size_t>(gpu));
    for (const layout::GpuInstance& i : live.instances)
      if (layout::name_at(*live.board, i.profile, i.placement.start) == text) return i.compute.at(0).uuid;
    throw std::runtime_error("nothing at " + text);
  }
  void hold(int gpu, const std::string& text, pid_t pid) {
    value(emulator::hold(emulated.name, device(gpu, text), pid, mib(64)));
  }
  void fault(const std::string& function, int nvml_return, int calls = 1, std::optional<int> gpu = std::nullopt) {
    value(
        emulator::add_fault(emulated.name, {.function = function, .gpu = gpu, .calls = calls, .answer = nvml_return}));
  }

  MemoryFileSystem memory;
  emulator::TemporaryRoot root;
  catalog::Catalog catalog;
  ManualClock clock;
  Options options;
  emulator::EmulatedNode emulated;
  Recorder recorder;
};

}  // namespace partita::node
