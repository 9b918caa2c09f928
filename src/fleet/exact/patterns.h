// What one GPU of a kind can be turned into: every useful (instances destroyed, instances created) pair.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "fleet/exact/fleet.h"
#include "plan/geometry.h"

namespace partita::fleet {

inline constexpr std::size_t kMostKinds = 32;  // of instances that a demand asks from one board
using Counts = std::array<std::uint8_t, kMostKinds>;

// The maximal multisets of some profiles that can be created beside what stands on a GPU. Lists are kept.
class Refills {
 public:
  // `profiles`: ascending indices in Board::profiles. `geometry` must live on.
  Refills(const plan::Geometry& geometry, std::vector<int> profiles);

  const std::vector<int>& profiles() const { return profiles_; }
  // Counts parallel to profiles(), none contained in another; all zeros when nothing can be added.
  const std::vector<Counts>& maximal(std::span<const plan::Placed> standing);

 private:
  struct Standing;  // what the rules look at
  using Key = std::tuple<plan::SliceMask, int, Counts>;
  Key key(const Standing& standing) const;
  std::vector<Counts> enumerate(const Standing& standing) const;
  bool allows(const Standing& standing, std::size_t profile) const;

  const plan::Geometry& geometry_;
  std::vector<int> profiles_;
  std::vector<bool> capped_;
  std::map<Key, std::vector<Counts>> lists_;
};

// Instances that serve the same wants with the same weights, and are as large in compute, are of one class.
struct Classes {
  struct Use {
    int want = 0;
    double weight = 0;
    auto operator<=>(const Use&) const = default;
  };
  struct Class {
    std::vector<Use> uses;  // by want
    int compute_slices = 0;
  };
  std::vector<Class> classes;
  std::vector<std::vector<int>> of;  // [kind][profile]: class or -1
  // The classes that a kind has, ascending.
  std::vector<int> of_kind(std::size_t kind) const;
};
Classes classes_of(const Fleet& fleet, const Demand& demand);

struct Option {
  std::uint32_t destroyed_bits = 0;  // over Kind::state
  Counts created{};                  // parallel to the board's Refills::profiles()
  Counts supply{};                   // idle and created instances afterwards, by class of the kind
  Counts lost{};                     // instances destroyed, by class of the kind
  int destroyed = 0;
  bool touched = false;  // for Goal::touched
  bool used = false;     // its price counts, for Goal::cost

  bool operator==(const Option&) const = default;
};

// All options of a kind that no other one beats in what `goal` counts: supply by class, and GPU used and destroyed
// (cost), touched and destroyed (touched), or destroyed in number and by class (disturbance). One of them changes
// nothing. For Goal::cost a GPU that holds only idle instances may also stay unused, and supplies nothing then.
// `place_of_profile`: where in `supply` a profile counts, or -1.
std::vector<Option> options_of(const Kind& kind, std::span<const int> place_of_profile, Refills& refills, Goal goal);

}  // namespace partita::fleet
