// A fleet, what is wanted from it, and a plan that gives it. Plain values.
//
// GPUs that are alike (board, what they hold, price) are one Kind with a count: plans cost by kinds, not by GPUs.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/board.h"
#include "plan/geometry.h"

namespace partita::fleet {

inline constexpr std::int64_t kMostGpus = 10'000'000;        // of one kind
inline constexpr std::int64_t kMostInstances = 100'000'000;  // of one want
inline constexpr std::size_t kMostWants = 4096;

// An instance that is there already.
struct Occupant {
  plan::Placed placed;
  bool pinned = false;  // stays, and serves nothing here; else idle: serves, or may be destroyed
  auto operator<=>(const Occupant&) const = default;
};

struct Kind {
  std::string name;  // for people
  std::shared_ptr<const catalog::Board> board;
  std::vector<Occupant> state;        // by start; empty: an empty GPU
  std::optional<std::int64_t> count;  // nullopt: as many as are needed
  double price = 1;                   // of a GPU in use, above 0
};

struct Fleet {
  std::vector<Kind> kinds;
};

// One line of a demand: instances whose weights sum up to at least `amount`.
struct Server {
  int kind = 0;       // index in Fleet::kinds
  int profile = 0;    // index in Board::profiles
  double weight = 1;  // above 0: 1 for counts; requests per second for services
};
struct Want {
  std::string name;
  double amount = 0;  // above 0
  std::vector<Server> servers;
};

// What is made least, in this order.
enum class Goal {
  cost,         // price of GPUs in use, instances destroyed, compute slices that serve
  touched,      // GPUs changed, instances destroyed
  disturbance,  // instances destroyed, instances created, price of GPUs of open kinds in use where there are such kinds
};

struct Demand {
  std::vector<Want> wants;
  Goal goal = Goal::cost;
};

struct Instance {
  enum class Is { pinned, kept, created };
  plan::Placed placed;
  Is is = Is::created;
  int want = -1;  // index in Demand::wants that it serves, or -1
  bool operator==(const Instance&) const = default;
};

// `count` GPUs of a kind that end up alike.
struct Group {
  int kind = 0;
  std::int64_t count = 0;
  std::vector<Instance> instances;      // by start
  std::vector<plan::Placed> destroyed;  // by start
};

// One quantity that is made least. `bound`: no plan that is as good in the earlier ones goes below.
struct Level {
  std::string name;
  double value = 0;
  double bound = 0;
  bool proven() const { return value <= bound + 1e-6; }
};

struct Plan {
  std::vector<Group> groups;  // every GPU of kinds with a count is in one; of others, those in use
  std::vector<Level> levels;
  std::string method;      // "closed form", "integer program"
  std::int64_t nodes = 0;  // of search trees
  bool stopped = false;    // by the clock: another run may find another plan
  bool optimal() const;
};

// Sums over a plan.
struct Totals {
  std::int64_t gpus_used = 0;  // holding something that serves, or something pinned
  std::int64_t gpus_touched = 0;
  std::int64_t destroyed = 0, created = 0;
  std::int64_t compute_slices = 0;  // of what serves
  std::int64_t memory_slices = 0;
  double cost = 0;
  double cost_added = 0;  // of that, GPUs of open kinds
};
Totals totals(const Fleet& fleet, const Plan& plan);
// The sum that a level of this name is about; nullopt: there is no such level.
std::optional<double> value_of(const Totals& sums, std::string_view level);
// Without what adding up loses: 14.3, not 14.299999999999999.
double sum_of_prices(double sum);

bool used(const Group& group);
bool touched(const Group& group);

}  // namespace partita::fleet
