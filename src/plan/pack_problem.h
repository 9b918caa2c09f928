// pack() as arithmetic: what each GPU can supply at which cost. Inside plan/ only.
//
// A kind is a demanded (profile per GPU, compute set); demand items that mean the same everywhere are one kind. An
// instance serves at most one kind. The need is what is missing when every GPU is left alone (negative: to spare), and
// an option of a GPU is a way to change it, told by how it changes the supply of each kind.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layout/layout.h"
#include "layout/mig_parted_file.h"
#include "plan/geometry.h"
#include "plan/pack.h"
#include "plan/tally.h"

namespace partita::plan {

inline constexpr int kMaxKinds = 32;
using Need = std::array<std::int16_t, kMaxKinds>;
std::size_t hash(const Need& need);

struct DemandKind {
  int count = 0;
  int example = 0;  // index in the demand
};

// Per idle instance: which kind it serves now (nobody's: kUnused), or that it is destroyed, or recut for a kind.
inline constexpr int kUnused = -1;
inline constexpr int kDestroyed = -2;
struct Fate {
  std::int16_t kind = kUnused;  // or kDestroyed
  bool recut = false;           // its compute instances change
};

// One way to treat the idle instances of a GPU and what is created beside them.
struct Option {
  std::array<Fate, kMaxGpuInstances> fates{};  // parallel to Bin::idle
  Need created{};                              // by kind
  int compute_destroyed = 0;
};

// Options that change the supply alike and destroy equally many.
struct OptionGroup {
  Need delta{};
  int destroyed = 0;
  bool touched = false;
  std::vector<Option> options;
};

// One GPU that takes part.
struct Bin {
  const layout::Gpu* gpu = nullptr;
  int index = 0;  // in the caller's list
  const Geometry* geometry = nullptr;
  std::vector<const layout::GpuInstance*> idle;
  std::vector<const layout::GpuInstance*> pinned;
  std::vector<std::vector<Fate>> choices;    // per idle instance, besides being destroyed; the first is "as it is"
  std::vector<std::vector<int>> recut_cost;  // compute instances destroyed, parallel to choices
  std::vector<std::optional<layout::WantedInstance>> kinds;  // how each kind looks here
  int twin_of = -1;                                          // an earlier bin that is exactly alike
  bool empty() const { return idle.empty() && pinned.empty(); }
};

struct PackProblem {
  std::vector<DemandKind> kinds;
  std::vector<int> kind_of_item;
  std::vector<Bin> bins;  // twins side by side
  Need need{};            // when nothing is changed
  std::vector<std::unique_ptr<Geometry>> geometries;
};

// `invalid` when the demand is not well formed (profile or start unknown, list lengths differ, too many kinds).
Result<PackProblem> make_problem(std::span<const layout::Gpu> gpus, std::span<const DemandItem> demand);

// The instances of a bin that stay under an option, and the counts of what is created without a fixed start.
struct Standing {
  std::vector<Placed> placed;  // kept, pinned and created at fixed starts
  std::vector<int> counts;
};
Standing standing(const Bin& bin, const Option& option);

}  // namespace partita::plan
