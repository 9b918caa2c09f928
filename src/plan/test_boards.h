// Boards and GPUs for tests, built by hand so that these tests stand on no file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catalog/board.h"
#include "layout/layout.h"
#include "layout/mig_parted_file.h"
#include "plan/geometry.h"

namespace partita::plan::test {

inline catalog::ComputeProfile compute_profile(const std::string& name, int slices, std::vector<int> starts, int max) {
  catalog::ComputeProfile compute;
  compute.name = name;
  compute.compute_slices = slices;
  compute.placement_size = slices;
  compute.placements = std::move(starts);
  compute.max_instances = max;
  return compute;
}

inline catalog::Profile profile(const std::string& name, int compute_slices, int memory_slices, int size,
                                std::vector<int> starts, int max, catalog::Attributes attributes = {}) {
  catalog::Profile made;
  made.name = name;
  made.attributes = attributes;
  made.compute_slices = compute_slices;
  made.memory_slices = memory_slices;
  made.placement_size = size;
  made.placements = std::move(starts);
  made.max_instances = max;
  // 1c, 2c where they exist, and the whole instance, which is the default and the last.
  std::vector<int> ones;
  for (int i = 0; i < compute_slices; ++i) ones.push_back(i);
  if (compute_slices > 1) made.compute.push_back(compute_profile("1c." + name, 1, ones, compute_slices));
  if (compute_slices == 3) made.compute.push_back(compute_profile("2c." + name, 2, {0}, 1));
  if (compute_slices == 4) made.compute.push_back(compute_profile("2c." + name, 2, {0, 2}, 2));
  if (compute_slices == 7) {
    made.compute.push_back(compute_profile("2c." + name, 2, {0, 2, 4}, 3));
    made.compute.push_back(compute_profile("3c." + name, 3, {0, 4}, 2));
    made.compute.push_back(compute_profile("4c." + name, 4, {0}, 1));
  }
  made.compute.push_back(compute_profile(name, compute_slices, {0}, 1));
  made.compute.back().is_default = true;
  return made;
}

enum A100 { k1g, k1g_me, k1gd, k2g, k3g, k4g, k7g };

inline catalog::Board a100(const std::string& id = "a100-sxm4-80gb") {
  catalog::Board board;
  board.id = id;
  board.placement_units = 8;
  board.compute_slices = 7;
  board.memory_slices = 8;
  board.profiles = {
      profile("1g.10gb", 1, 1, 1, {0, 1, 2, 3, 4, 5, 6}, 7),
      profile("1g.10gb+me", 1, 1, 1, {0, 1, 2, 3, 4, 5, 6}, 1, {.me = true}),
      profile("1g.20gb", 1, 2, 2, {0, 2, 4, 6}, 4),
      profile("2g.20gb", 2, 2, 2, {0, 2, 4}, 3),
      profile("3g.40gb", 3, 4, 4, {0, 4}, 2),
      profile("4g.40gb", 4, 4, 4, {0}, 1),
      profile("7g.80gb", 7, 8, 8, {0}, 1),
  };
  return board;
}

enum A30 { kA30_1g, kA30_1g_me, kA30_2g, kA30_2g_me, kA30_4g };

inline catalog::Board a30() {
  catalog::Board board;
  board.id = "a30-24gb";
  board.placement_units = 4;
  board.compute_slices = 4;
  board.memory_slices = 4;
  board.profiles = {
      profile("1g.6gb", 1, 1, 1, {0, 1, 2, 3}, 4), profile("1g.6gb+me", 1, 1, 1, {0, 1, 2, 3}, 1, {.me = true}),
      profile("2g.12gb", 2, 2, 2, {0, 2}, 2),      profile("2g.12gb+me", 2, 2, 2, {0, 2}, 1, {.me = true}),
      profile("4g.24gb", 4, 4, 4, {0}, 1),
  };
  return board;
}

enum RtxPro { kR1g, kR1g_me, kR1g_gfx, kR1g_all, kR1g_no, kR2g, kR2g_gfx, kR2g_all, kR2g_no, kR4g, kR4g_gfx };

inline catalog::Board rtx_pro_6000() {
  catalog::Board board;
  board.id = "rtx-pro-6000-server";
  board.placement_units = 12;
  board.compute_slices = 4;
  board.memory_slices = 4;
  const std::vector<int> ones{0, 3, 6, 9};
  const std::vector<int> twos{0, 6};
  board.profiles = {
      profile("1g.24gb", 1, 1, 3, ones, 4),
      profile("1g.24gb+me", 1, 1, 3, ones, 1, {.me = true}),
      profile("1g.24gb+gfx", 1, 1, 3, ones, 4, {.gfx = true}),
      profile("1g.24gb+me.all", 1, 1, 3, ones, 1, {.me_all = true}),
      profile("1g.24gb-me", 1, 1, 3, ones, 4, {.no_me = true}),
      profile("2g.48gb", 2, 2, 6, twos, 2),
      profile("2g.48gb+gfx", 2, 2, 6, twos, 2, {.gfx = true}),
      profile("2g.48gb+me.all", 2, 2, 6, twos, 1, {.me_all = true}),
      profile("2g.48gb-me", 2, 2, 6, twos, 2, {.no_me = true}),
      profile("4g.96gb", 4, 4, 12, {0}, 1),
      profile("4g.96gb+gfx", 4, 4, 12, {0}, 1, {.gfx = true}),
  };
  return board;
}

enum class State { idle, busy, leased };

// A GPU built instance by instance: gpu.with(k3g, 4).with(k1g, 0, State::leased, "alice").
class TestGpu {
 public:
  explicit TestGpu(const catalog::Board& board, int index = 0) {
    gpu_.board = std::make_shared<catalog::Board>(board);
    gpu_.index = index;
    gpu_.uuid = "GPU-" + std::to_string(index);
    gpu_.mode = layout::MigMode{true, true};
  }
  // With its default compute instance.
  TestGpu& with(int profile, int start, State state = State::idle, const std::string& holder = "") {
    const auto& facts = gpu_.board->profiles[static_cast<std::size_t>(profile)];
    layout::GpuInstance instance;
    instance.profile = profile;
    instance.placement = {start, facts.placement_size};
    layout::ComputeInstance compute;
    compute.profile = static_cast<int>(facts.compute.size()) - 1;
    compute.placement = {0, facts.compute_slices};
    instance.compute.push_back(compute);
    if (state == State::busy) instance.pins.push_back({layout::Pin::Reason::busy, holder.empty() ? "pid 1" : holder});
    if (state == State::leased) instance.pins.push_back({layout::Pin::Reason::leased, "lease " + holder});
    gpu_.instances.push_back(std::move(instance));
    std::ranges::sort(gpu_.instances, {}, [](const auto& i) { return i.placement.start; });
    return *this;
  }
  // Replaces the compute instances of the instance at `start` by these (profile, start).
  TestGpu& cut(int start, const std::vector<std::pair<int, int>>& compute) {
    for (auto& instance : gpu_.instances) {
      if (instance.placement.start != start) continue;
      instance.compute.clear();
      for (const auto& [profile_index, at] : compute) {
        layout::ComputeInstance ci;
        ci.profile = profile_index;
        ci.placement = {at, gpu_.board->profiles[static_cast<std::size_t>(instance.profile)]
                                .compute[static_cast<std::size_t>(profile_index)]
                                .placement_size};
        instance.compute.push_back(ci);
      }
    }
    return *this;
  }
  operator const layout::Gpu&() const { return gpu_; }  // NOLINT: a builder
  const layout::Gpu& get() const { return gpu_; }
  layout::Gpu& edit() { return gpu_; }

 private:
  layout::Gpu gpu_;
};

// A wanted instance with its default compute instance.
inline layout::WantedInstance want(const catalog::Board& board, int profile, std::optional<int> start = {}) {
  layout::WantedInstance wanted;
  wanted.profile = profile;
  wanted.start = start;
  wanted.compute = {static_cast<int>(board.profiles[static_cast<std::size_t>(profile)].compute.size()) - 1};
  return wanted;
}

inline std::vector<layout::WantedInstance> want_counts(const catalog::Board& board, const std::vector<int>& counts) {
  std::vector<layout::WantedInstance> wanted;
  for (std::size_t p = 0; p < counts.size(); ++p)
    for (int i = 0; i < counts[p]; ++i) wanted.push_back(want(board, static_cast<int>(p)));
  return wanted;
}

inline std::vector<Placed> places(const layout::Gpu& gpu, bool pinned_only = false) {
  std::vector<Placed> placed;
  for (const auto& instance : gpu.instances)
    if (!pinned_only || instance.pinned()) placed.push_back({instance.profile, instance.placement.start});
  return placed;
}

}  // namespace partita::plan::test
