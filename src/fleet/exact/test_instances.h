// Random fleets and demands that tests and benchmarks share: reproducible on every machine.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "fleet/exact/fleet.h"
#include "plan/geometry.h"

namespace partita::fleet::test {

inline std::shared_ptr<const catalog::Board> board(const std::string& id) {
  static catalog::Catalog catalog = catalog::Catalog::open().value();
  return catalog.board(id).value();
}

// Python's random.Random(seed) for 0 <= seed < 2^32 (Mersenne twister, seeded by array).
class PythonRandom {
 public:
  explicit PythonRandom(std::uint32_t seed) {
    fill(19650218U);
    std::size_t i = 1;
    for (std::size_t k = kSize; k > 0; --k) {
      state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1664525U)) + seed;
      next(i);
    }
    for (std::size_t k = kSize - 1; k > 0; --k) {
      state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1566083941U)) - static_cast<std::uint32_t>(i);
      next(i);
    }
    state_[0] = 0x80000000U;
  }

  double random() {  // [0, 1)
    const auto a = word() >> 5;
    const auto b = word() >> 6;
    return (static_cast<double>(a) * 67108864.0 + static_cast<double>(b)) / 9007199254740992.0;
  }

  std::size_t below(std::size_t n) {                       // randrange(n), choice of n
    const int bits = static_cast<int>(std::bit_width(n));  // 1 to 32
    std::uint64_t r = n;
    while (r >= n) r = static_cast<std::uint64_t>(word()) >> (32 - bits);
    return r;
  }

 private:
  static constexpr std::size_t kSize = 624;

  void fill(std::uint32_t seed) {
    state_[0] = seed;
    for (std::size_t i = 1; i < kSize; ++i)
      state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30)) + static_cast<std::uint32_t>(i);
    at_ = kSize;
  }
  void next(std::size_t& i) {
    if (++i < kSize) return;
    state_[0] = state_[kSize - 1];
    i = 1;
  }
  std::uint32_t word() {
    if (at_ == kSize) twist();
    auto y = state_[at_++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
  }
  void twist() {
    for (std::size_t i = 0; i < kSize; ++i) {
      const auto y = (state_[i] & 0x80000000U) | (state_[(i + 1) % kSize] & 0x7fffffffU);
      state_[i] = state_[(i + 397) % kSize] ^ (y >> 1) ^ ((y & 1U) != 0 ? 0x9908b0dfU : 0U);
    }
    at_ = 0;
  }

  std::array<std::uint32_t, kSize> state_{};
  std::size_t at_ = 0;
};

// Profiles without attributes, by compute then memory slices: 1g, 1g with double memory, 2g, 3g, 4g, 7g.
inline std::vector<int> plain_profiles(const catalog::Board& on) {
  std::vector<int> out;
  for (std::size_t p = 0; p < on.profiles.size(); ++p)
    if (on.profiles[p].attributes == catalog::Attributes{}) out.push_back(static_cast<int>(p));
  std::ranges::stable_sort(out, {}, [&](int p) {
    const auto& profile = on.profiles[static_cast<std::size_t>(p)];
    return std::pair(profile.compute_slices, profile.memory_slices);
  });
  return out;
}

// Draws profiles uniformly, puts each that fits at a random free start, until three in a row do not fit.
inline void fill(PythonRandom& random, const plan::Geometry& geometry, const std::vector<int>& profiles,
                 std::vector<plan::Placed>& placed) {
  plan::SliceMask taken = 0;
  for (const auto& at : placed) taken |= geometry.units_of(at.profile, at.start);
  for (int failed = 0; failed < 3;) {
    const int p = profiles[random.below(profiles.size())];
    std::vector<int> free;
    for (const auto& place : geometry.profiles()[static_cast<std::size_t>(p)].placements)
      if ((place.mask & taken) == 0) free.push_back(place.start);
    if (free.empty()) {
      ++failed;
      continue;
    }
    failed = 0;
    placed.push_back({p, free[random.below(free.size())]});
    taken |= geometry.units_of(p, placed.back().start);
  }
}

struct Recut {
  Fleet fleet;
  Demand demand;
};

struct RecutBoard {
  std::string id;
  int gpus = 0;
};

// Filled GPUs, each instance busy with probability `busy`; wanted: what fills around the busy ones, each instance with
// probability `keep`. Profiles are wanted by slices: every board that has them may serve.
inline Recut recut(std::uint32_t seed, const std::vector<RecutBoard>& boards, double busy, double keep, Goal goal) {
  PythonRandom random(seed);
  using Slices = std::pair<int, int>;
  std::map<Slices, int> wanted;
  std::map<std::pair<std::string, std::vector<Occupant>>, std::int64_t> kinds;
  for (const auto& [id, gpus] : boards) {
    const auto on = board(id);
    const plan::Geometry geometry(*on);
    const auto profiles = plain_profiles(*on);
    for (int g = 0; g < gpus; ++g) {
      std::vector<plan::Placed> state, around;
      fill(random, geometry, profiles, state);
      std::vector<Occupant> occupants;
      for (const auto& at : state) {
        const bool pinned = random.random() < busy;
        occupants.push_back({at, pinned});
        if (pinned) around.push_back(at);
      }
      std::ranges::sort(occupants, {}, [](const Occupant& o) { return o.placed.start; });
      const auto pinned = static_cast<std::ptrdiff_t>(around.size());
      fill(random, geometry, profiles, around);
      for (auto at = around.begin() + pinned; at != around.end(); ++at) {
        const auto& profile = on->profiles[static_cast<std::size_t>(at->profile)];
        if (random.random() < keep) ++wanted[{profile.compute_slices, profile.memory_slices}];
      }
      ++kinds[{id, occupants}];
    }
  }
  Recut out;
  out.demand.goal = goal;
  for (const auto& [what, count] : kinds)
    out.fleet.kinds.push_back({what.first, board(what.first), what.second, count});
  for (const auto& [slices, count] : wanted) {
    Want want{std::to_string(slices.first) + "g", static_cast<double>(count), {}};
    for (std::size_t k = 0; k < out.fleet.kinds.size(); ++k)
      for (const int p : plain_profiles(*out.fleet.kinds[k].board)) {
        const auto& profile = out.fleet.kinds[k].board->profiles[static_cast<std::size_t>(p)];
        if (Slices(profile.compute_slices, profile.memory_slices) == slices)
          want.servers.push_back({static_cast<int>(k), p});
      }
    out.demand.wants.push_back(std::move(want));
  }
  return out;
}

}  // namespace partita::fleet::test
