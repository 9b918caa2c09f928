// A GPU's target: is it sound, and why it cannot be reached. Inside plan/ only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "layout/layout.h"
#include "layout/mig_parted_file.h"
#include "plan/fit.h"
#include "plan/geometry.h"

namespace partita::plan {

// Same profile, same place asked, same compute instances: either serves for the other.
bool alike(const layout::WantedInstance& a, const layout::WantedInstance& b);

// Profiles exist, fixed starts are legal and do not overlap, compute instances fit into their GPU instance.
Result<void> check_target(const layout::Gpu& gpu, const Geometry& geometry,
                          std::span<const layout::WantedInstance> wanted);

// Why transition() found nothing, for a target that check_target() accepts.
Error why_not(const layout::Gpu& gpu, const Geometry& geometry, std::span<const layout::WantedInstance> wanted,
              bool ignore_pins);

// Do both boards offer planning the same: profiles, places, limits, compute instances?
bool same_for_planning(const catalog::Board& a, const catalog::Board& b);

// "pid 4711 (python), lease alice"; "idle" without pins.
std::string holders(const layout::GpuInstance& instance);
// Leased without a process: its holder can have it moved.
Pinned to_pinned(const layout::GpuInstance& instance);
// How people know the GPU: "GPU 3 (GPU-...)".
std::string gpu_name(const layout::Gpu& gpu);

}  // namespace partita::plan
