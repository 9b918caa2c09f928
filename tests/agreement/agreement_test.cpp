// The emulated driver and the planner agree: on every call of random sequences of create and destroy, on how much room
// is left, and on plans, which the driver must be able to follow step by step.
//
// 2,000 sequences for each board family, 100,000 with PARTITA_LONG=1. A disagreement prints the sequence and its seed;
// PARTITA_SEED=N runs that one alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <stdexcept>
#include <string>

#include "two_opinions.h"

namespace partita::agreement {
namespace {

struct Case {
  const char* board;
  const char* settings = "";
};

void PrintTo(const Case& shown, std::ostream* out) { *out << shown.board << ' ' << shown.settings; }

class Agreement : public ::testing::TestWithParam<Case> {};

catalog::Catalog open_catalog() {
  auto catalog = catalog::Catalog::open();
  if (!catalog) throw std::runtime_error(catalog.error().message);
  return std::move(*catalog);
}

std::optional<int> random_start(Random& random, const TwoOpinions& two, int profile) {
  const auto& placements = two.geometry().profiles()[static_cast<std::size_t>(profile)].placements;
  const int way = pick(random, 0, 9);
  if (way < 4) return std::nullopt;
  if (way < 8)
    return placements[static_cast<std::size_t>(pick(random, 0, static_cast<int>(placements.size()) - 1))].start;
  return pick(random, -2, two.geometry().units() + 2);
}

int random_profile(Random& random, const TwoOpinions& two) {
  return pick(random, 0, static_cast<int>(two.board().profiles.size()) - 1);
}

std::string random_compute_call(Random& random, TwoOpinions& two) {
  const auto which = static_cast<std::size_t>(pick(random, 0, static_cast<int>(two.instances().size()) - 1));
  const auto& kinds = two.board().profiles[static_cast<std::size_t>(two.instances()[which].profile)].compute;
  if (kinds.empty()) return "";
  const int kind = pick(random, 0, static_cast<int>(kinds.size()) - 1);
  return two.create_compute(which, kind, pick(random, -1, two.board().compute_slices));
}

std::string random_call(Random& random, TwoOpinions& two) {
  const int way = pick(random, 0, 99);
  const int live = static_cast<int>(two.instances().size());
  if (way < 30 && live > 0) return two.destroy(static_cast<std::size_t>(pick(random, 0, live - 1)));
  if (way >= 95) return two.destroy_what_is_not(random);
  if (way >= 80 && live > 0) return random_compute_call(random, two);
  const int profile = random_profile(random, two);
  return two.create(profile, random_start(random, two, profile));
}

// None, the default one, or as many of the smallest as fit.
std::vector<int> random_compute(Random& random, const TwoOpinions& two, int profile) {
  const auto& kinds = two.board().profiles[static_cast<std::size_t>(profile)].compute;
  const int way = pick(random, 0, 2);
  if (kinds.empty() || way == 0) return {};
  if (way == 1) return {static_cast<int>(kinds.size()) - 1};
  return std::vector<int>(static_cast<std::size_t>(pick(random, 1, kinds[0].max_instances)), 0);
}

// Some live instances are pinned; the target is them and whatever else turns out to fit. So a plan must exist.
std::string random_plan(Random& random, TwoOpinions& two) {
  std::vector<bool> pinned;
  std::vector<plan::Placed> target;
  std::vector<layout::WantedInstance> wanted;
  for (std::size_t i = 0; i < two.instances().size(); ++i) {
    pinned.push_back(pick(random, 0, 2) == 0);
    if (!pinned.back()) continue;
    target.push_back(two.instances()[i]);
    wanted.push_back({target.back().profile, {}, two.compute_of(i), {}});
  }
  for (int tries = pick(random, 0, 12); tries > 0; --tries) {
    const int profile = random_profile(random, two);
    const auto& placements = two.geometry().profiles()[static_cast<std::size_t>(profile)].placements;
    target.push_back({profile, placements[random() % placements.size()].start});
    if (!plan::valid(two.geometry(), target)) target.pop_back();
  }
  for (std::size_t i = wanted.size(); i < target.size(); ++i) {
    layout::WantedInstance want{target[i].profile, {}, random_compute(random, two, target[i].profile), {}};
    if (pick(random, 0, 3) == 0) want.start = target[i].start;
    wanted.push_back(std::move(want));
  }
  return two.follow_plan(random, wanted, pinned);
}

std::string random_sequence(std::uint64_t seed, TwoOpinions& two) {
  Random random(seed);
  two.forget_history();
  for (int calls = pick(random, 1, 24); calls > 0; --calls) {
    if (std::string wrong = random_call(random, two); !wrong.empty()) return wrong;
    if (pick(random, 0, 3) != 0) continue;
    if (std::string wrong = two.compare_capacity(); !wrong.empty()) return wrong;
  }
  for (int plans = pick(random, 1, 2); plans > 0; --plans)
    if (std::string wrong = random_plan(random, two); !wrong.empty()) return wrong;
  return two.clear();
}

// The first disagreement in sequences `first`, `first` + 1, ...; "" when there is none.
std::string disagreement(TwoOpinions& two, std::uint64_t first, std::uint64_t sequences) {
  for (std::uint64_t seed = first; seed < first + sequences; ++seed)
    if (const std::string wrong = random_sequence(seed, two); !wrong.empty())
      return fmt::format("PARTITA_SEED={}: {} after\n{}", seed, wrong, two.history());
  return "";
}

void run(const Case& chosen, std::uint64_t sequences) {
  catalog::Catalog catalog = open_catalog();
  TwoOpinions two(catalog, chosen.board, chosen.settings);
  const char* only = std::getenv("PARTITA_SEED");
  EXPECT_EQ(disagreement(two, only ? std::strtoull(only, nullptr, 10) : 1, only ? 1 : sequences), "")
      << chosen.board << ' ' << chosen.settings;
}

TEST_P(Agreement, OnEveryCallSequence) {
  const char* all = std::getenv("PARTITA_LONG");
  run(GetParam(), all && *all ? 100'000 : 2'000);
}

INSTANTIATE_TEST_SUITE_P(Families, Agreement,
                         ::testing::Values(Case{"a100-sxm4-40gb"}, Case{"a100-sxm4-40gb", "mirrored: true"},
                                           Case{"a30-24gb"}, Case{"h100-sxm5-80gb"}, Case{"b200-180gb"},
                                           Case{"rtx-pro-6000-server"}, Case{"rtx-pro-5000"}));

TEST(AgreementOfAllBoards, OnSomeCallSequences) {
  catalog::Catalog catalog = open_catalog();
  for (const catalog::BoardEntry& entry : catalog.boards())
    if ((*catalog.board(entry.id))->has_mig()) run(Case{entry.id.c_str()}, 100);
}

// A driver with other rules must be noticed, or agreement would mean nothing.
TEST(Disagreement, IsNoticed) {
  using emulator::GpuSpec;
  const std::vector<std::function<void(GpuSpec&)>> lies = {
      [](GpuSpec& gpu) { gpu.profiles[0].max_instances -= 1; },
      [](GpuSpec& gpu) { gpu.profiles[1].me = false, gpu.profiles[1].max_instances = 2; },
      [](GpuSpec& gpu) { gpu.profiles[2].starts.pop_back(), std::erase(gpu.profiles[2].driver_order, 6); },
      [](GpuSpec& gpu) { std::ranges::reverse(gpu.profiles[3].driver_order); },
      [](GpuSpec& gpu) { gpu.profiles[4].compute[0].max_instances -= 1; },
  };
  catalog::Catalog catalog = open_catalog();
  for (std::size_t i = 0; i < lies.size(); ++i) {
    TwoOpinions two(catalog, "a100-sxm4-40gb", "", lies[i]);
    EXPECT_NE(disagreement(two, 1, 500), "") << "lie " << i;
  }
}

}  // namespace
}  // namespace partita::agreement
