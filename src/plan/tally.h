// How many instances of each profile are on a GPU, and the rules that depend on that alone. Inside plan/ only.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "plan/geometry.h"

namespace partita::plan {

class Tally {
 public:
  explicit Tally(const Geometry& geometry) : geometry_(&geometry) {}

  void add(int profile, int n = 1);  // n <= 100
  // Do the counts alone obey the rules (max_instances, +me, +me.all, number of instances)?
  bool allowed() const;
  // Would they still, with one more of this profile? Meaningful only while allowed().
  bool allows_more(int profile) const;
  int count(int profile) const { return counts_[static_cast<std::size_t>(profile)]; }
  int total() const { return total_; }

 private:
  const Geometry* geometry_;
  std::array<std::int16_t, kMaxProfiles> counts_{};
  int total_ = 0;
  int me_ = 0;
  int me_all_ = 0;
  int with_media_ = 0;  // all but -me
  bool over_ = false;   // some profile occurs too often
};

}  // namespace partita::plan
