// One GPU, seen by the emulated driver and by the planner. Every call goes to the driver; what it answers must be what
// the planner's geometry says, and afterwards both must hold the same instances.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "catalog/board.h"
#include "catalog/catalog.h"
#include "emulator/engine/engine.h"
#include "layout/layout.h"
#include "plan/geometry.h"
#include "plan/transition.h"

namespace partita::agreement {

using Random = std::mt19937_64;

inline int pick(Random& random, int from, int to) {  // the same on every machine, unlike std::uniform_int_distribution
  return from + static_cast<int>(random() % static_cast<std::uint64_t>(to - from + 1));
}

// These and one more, by start.
std::vector<plan::Placed> with(std::vector<plan::Placed> instances, const plan::Placed& more);

class TwoOpinions {
 public:
  // `settings`: more keys of the node file's entry, "mirrored: true". `falsify` changes the driver's rules.
  TwoOpinions(catalog::Catalog& catalog, const std::string& board, const std::string& settings,
              const std::function<void(emulator::GpuSpec&)>& falsify = nullptr);
  TwoOpinions(const TwoOpinions&) = delete;
  TwoOpinions& operator=(const TwoOpinions&) = delete;

  // Each returns what the two disagree about; "" when they agree.
  std::string create(int profile, std::optional<int> start);
  std::string destroy(std::size_t which);           // of instances()
  std::string destroy_what_is_not(Random& random);  // an id that no instance has, or a serial of an earlier life
  std::string create_compute(std::size_t which, int compute, int start);  // start: within the GPU instance
  std::string compare_capacity() const;
  // Plans the way to `wanted` and goes it on the driver step by step: first only a part of it and back again, as an
  // apply that fails would, then all of it.
  std::string follow_plan(Random& random, const std::vector<layout::WantedInstance>& wanted,
                          const std::vector<bool>& pinned);
  std::string clear();

  // Indices in Profile::compute of the compute instances inside, ascending.
  std::vector<int> compute_of(std::size_t which) const;

  const catalog::Board& board() const { return *board_; }
  const plan::Geometry& geometry() const { return *geometry_; }
  const std::vector<plan::Placed>& instances() const { return instances_; }
  // Calls so far, to be printed with a disagreement.
  const std::string& history() const { return history_; }
  void forget_history() { history_.clear(); }

 private:
  int id_of(int profile) const;
  std::string compare_state() const;
  std::string steps(std::span<const plan::Step> steps);
  std::string step(const plan::Step& step);
  std::string compare_with_target(const layout::Gpu& before, const std::vector<layout::WantedInstance>& wanted) const;
  emulator::GpuInstanceState instance_at(const plan::Placed& placed) const;
  layout::Gpu as_layout(const std::vector<bool>& pinned) const;

  TestFolder folder_;
  std::shared_ptr<const catalog::Board> board_;
  std::unique_ptr<plan::Geometry> geometry_;
  std::optional<emulator::Engine> engine_;
  std::vector<plan::Placed> instances_;  // the planner's
  std::string history_;
};

}  // namespace partita::agreement
