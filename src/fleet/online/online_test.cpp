// Online placing against brute force and an independent account of who is where.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "fleet/exact/test_instances.h"
#include "fleet/online/migrate.h"
#include "fleet/online/online_mix.h"
#include "fleet/online/policy_file.h"

namespace partita::fleet {
namespace {

constexpr std::array<Rule, 5> kRules{Rule::first_fit, Rule::best_fit, Rule::tight_fit, Rule::least_fragmentation,
                                     Rule::potential};
const std::array<std::string, 4> kBoards{"a100-sxm4-40gb", "a30-24gb", "rtx-pro-6000-server", "rtx-pro-4500"};

std::vector<int> plain(const catalog::Board& board) {
  std::vector<int> out;
  for (std::size_t p = 0; p < board.profiles.size(); ++p)
    if (board.profiles[p].attributes == catalog::Attributes{}) out.push_back(static_cast<int>(p));
  return out;
}

std::vector<int> all(const catalog::Board& board) {
  std::vector<int> out;
  for (std::size_t p = 0; p < board.profiles.size(); ++p)
    if (!board.profiles[p].placements.empty()) out.push_back(static_cast<int>(p));
  return out;
}

GpuStates states_of(const std::string& id, bool with_attributes = false) {
  const auto board = test::board(id);
  return GpuStates::of(board, with_attributes ? all(*board) : plain(*board)).value();
}

Policy policy_of(const GpuStates& states, Rule rule) {
  if (rule != Rule::potential) return {rule};
  return {rule, shipped_weights(Features(states.board_shared())).value()};
}

TEST(Online, an_a100_has_723_states) { EXPECT_EQ(states_of("a100-sxm4-40gb").size(), 723U); }

TEST(Online, states_are_those_that_the_rules_allow) {
  for (const auto& id : kBoards) {
    const auto states = states_of(id, true);
    std::set<std::vector<plan::Placed>> seen;
    for (StateId state = 0; state < states.size(); ++state) {
      const auto& placed = states.placed(state);
      EXPECT_TRUE(plan::valid(states.geometry(), placed));
      EXPECT_TRUE(seen.insert(placed).second);
      EXPECT_EQ(states.find(placed), state);
      std::size_t open = 0;
      for (std::size_t p = 0; p < states.profiles().size(); ++p) {
        open += states.places(state, p).size();
        for (const auto& place : states.places(state, p)) EXPECT_EQ(states.without(place.then, place.start), state);
      }
      EXPECT_EQ(static_cast<int>(open), plan::open_placements(states.geometry(), placed)) << id << " " << state;
    }
  }
}

TEST(Online, profiles_that_cannot_be_placed_are_refused) {
  EXPECT_EQ(GpuStates::of(test::board("a30-24gb"), {99}).error().code, ErrorCode::invalid);
}

// All GPUs one by one: the highest score, then the lowest GPU, then the lowest start.
std::optional<Spot> by_hand(const GpuStates& states, const Policy& policy, const std::vector<double>& potential,
                            const std::vector<StateId>& gpus, std::size_t profile) {
  std::optional<std::tuple<double, double>> best;
  std::optional<Spot> out;
  for (std::uint32_t g = 0; g < gpus.size(); ++g) {
    for (const auto& place : states.places(gpus[g], profile)) {
      std::tuple<double, double> rank;
      const double start = 1e-5 * place.start;
      switch (policy.rule) {
        case Rule::first_fit:
          break;
        case Rule::best_fit:
          rank = {states.compute_used(gpus[g]), 0};
          break;
        case Rule::tight_fit: {
          double open = 0;
          for (std::size_t p = 0; p < states.profiles().size(); ++p)
            open += static_cast<double>(states.places(place.then, p).size()) * states.memory_of(p);
          rank = {(1000.0 * states.compute_used(gpus[g])) + states.memory_used(gpus[g]), open};
          break;
        }
        case Rule::least_fragmentation:
          rank = {fragmentation(states, gpus[g]) - fragmentation(states, place.then) - start, 0};
          break;
        case Rule::potential:
          rank = {potential[place.then] - potential[gpus[g]] - start, 0};
          break;
      }
      const bool better = !best || std::get<0>(rank) > std::get<0>(*best) + 1e-9 ||
                          (std::get<0>(rank) > std::get<0>(*best) - 1e-9 && std::get<1>(rank) > std::get<1>(*best));
      if (better) {
        best = rank;
        out = Spot{g, place.start};
      }
    }
  }
  return out;
}

TEST(Online, decisions_are_those_of_a_search_over_all_gpus) {
  for (const auto& id : kBoards) {
    const auto states = states_of(id, true);
    const Features features(states.board_shared());
    const FeatureTable table(states, features);
    for (const auto rule : kRules) {
      const auto policy = policy_of(states, rule);
      const auto potential = rule == Rule::potential ? table.potentials(policy.weights) : std::vector<double>{};
      const Scores scores(states, policy);
      EXPECT_TRUE(rc::check([&] {
        const auto gpus = *rc::gen::inRange<std::uint32_t>(1, 12);
        const auto seed = *rc::gen::arbitrary<std::uint32_t>();
        std::mt19937 random(seed);
        OnlineFleet fleet(states, scores, gpus);
        std::vector<StateId> mirror(gpus, kEmptyGpu);
        std::vector<Spot> held;
        for (int step = 0; step < 120; ++step) {
          if (!held.empty() && random() % 3 == 0) {
            std::swap(held[random() % held.size()], held.back());
            fleet.take(held.back());
            mirror[held.back().gpu] = states.without(mirror[held.back().gpu], held.back().start);
            held.pop_back();
            continue;
          }
          const auto profile = random() % states.profiles().size();
          const auto expected = by_hand(states, policy, potential, mirror, profile);
          const auto chosen = fleet.choose(profile);
          RC_ASSERT(chosen == expected);
          RC_ASSERT(fleet.place(profile) == expected);
          if (!chosen) continue;
          for (const auto& place : states.places(mirror[chosen->gpu], profile))
            if (place.start == chosen->start) {
              mirror[chosen->gpu] = place.then;
              break;
            }
          held.push_back(*chosen);
          for (std::uint32_t g = 0; g < gpus; ++g) RC_ASSERT(fleet.state(g) == mirror[g]);
        }
      })) << id
          << " " << name(rule);
    }
  }
}

// ---- Whole traces, judged by an account of its own.

struct Checker {
  const GpuStates& states;
  const std::vector<Request>& trace;
  double pause;
  std::uint32_t gpus;
  std::vector<std::map<int, std::size_t>> at;  // per GPU: start to request
  std::map<std::size_t, std::pair<Spot, double>> live;
  std::map<std::size_t, int> moves;
  int moved = 0, placed = 0;
  std::string wrong;

  Checker(const GpuStates& s, const std::vector<Request>& t, double p, std::uint32_t g)
      : states(s), trace(t), pause(p), gpus(g), at(g) {}

  void see(const RunEvent& event) {
    const auto& request = trace[event.request];
    switch (event.is) {
      case RunEvent::Is::placed:
        ++placed;
        if (event.time < request.arrival) wrong = "placed before it arrived";
        if (!live.try_emplace(event.request, event.spot, event.time).second) wrong = "placed twice";
        put(event.spot, event.request);
        break;
      case RunEvent::Is::moved: {
        ++moved;
        ++moves[event.request];
        if (!request.movable) wrong = "moved although it may not";
        if (!live.contains(event.request) || live.at(event.request).first != event.from) wrong = "moved from elsewhere";
        at[event.from.gpu].erase(event.from.start);
        live.at(event.request).first = event.spot;
        put(event.spot, event.request);
        break;
      }
      case RunEvent::Is::ended: {
        const auto& [spot, since] = live.at(event.request);
        const double due = since + request.duration + (pause * moves[event.request]);
        if (std::abs(due - event.time) > 1e-9 * (1 + due)) wrong = "ended at another time than due";
        at[spot.gpu].erase(spot.start);
        live.erase(event.request);
        break;
      }
    }
  }

  void put(const Spot& spot, std::size_t request) {
    if (spot.gpu >= gpus || !at[spot.gpu].try_emplace(spot.start, request).second) wrong = "placed where something is";
  }

  // After each event that leaves things settled.
  bool legal() const {
    for (const auto& gpu : at) {
      std::vector<plan::Placed> placed_here;
      for (const auto& [start, request] : gpu)
        placed_here.push_back({states.profiles()[trace[request].profile], start});
      if (!plan::valid(states.geometry(), placed_here)) return false;
    }
    return true;
  }
};

TEST(OnlineRun, every_trace_is_served_legally_and_on_time) {
  for (const auto& id : kBoards) {
    const auto states = states_of(id);
    for (const auto rule : {Rule::best_fit, Rule::potential}) {
      const Scores scores(states, policy_of(states, rule));
      EXPECT_TRUE(rc::check([&] {
        const auto seed = *rc::gen::arbitrary<std::uint32_t>();
        Mix mix{std::vector<double>(states.profiles().size(), 1.0), 1.2, *rc::gen::inRange<std::uint32_t>(1, 8), 0.6};
        const auto trace = make_trace(states, mix, 200, seed);
        RunOptions options;
        options.gpus = mix.gpus;
        options.patience = *rc::gen::element(0.0, 0.5);
        const int migration = *rc::gen::inRange(0, 3);
        if (migration > 0) options.migration = Migration{0.05, migration > 1 ? std::optional(0.1) : std::nullopt};
        Checker checker(states, trace, migration > 0 ? 0.05 : 0, mix.gpus);
        const auto result = run(states, scores, trace, options, [&](const RunEvent& event) {
          checker.see(event);
          // A request and the move that makes room for it are two events of one change.
          if (event.is != RunEvent::Is::moved && !checker.legal()) checker.wrong = "not a legal layout";
        });
        RC_ASSERT(checker.wrong == "");
        std::int64_t accepted = 0, asked = 0;
        for (const auto& served : result.profiles) {
          accepted += served.accepted;
          asked += served.asked;
        }
        RC_ASSERT(asked == 200);
        RC_ASSERT(accepted == checker.placed);
        RC_ASSERT(result.moves == checker.moved);
        RC_ASSERT(result.moves <= accepted);
      })) << id
          << " " << name(rule);
    }
  }
}

// The rules of waiting, read word by word: all that ends at a moment ends, then the oldest that finds room is served.
struct PlainRun {
  const GpuStates& states;
  const std::vector<Request>& trace;
  Rule rule;
  std::vector<std::vector<std::pair<plan::Placed, double>>> gpus;  // what is held, and until when
  std::vector<std::size_t> line;
  std::vector<std::optional<double>> placed_at;

  std::optional<Spot> spot_for(std::size_t profile) const {
    std::optional<std::pair<int, Spot>> best;
    for (std::uint32_t g = 0; g < gpus.size(); ++g) {
      std::vector<plan::Placed> held;
      for (const auto& [placed, until] : gpus[g]) held.push_back(placed);
      const auto state = states.find(held).value();
      const int key = rule == Rule::first_fit ? 0 : -states.compute_used(state);
      for (const auto& place : states.places(state, profile))
        if (!best || key < best->first) best = {key, {g, place.start}};
    }
    return best ? std::optional(best->second) : std::nullopt;
  }

  bool serve(std::size_t i, double now) {
    const auto spot = spot_for(trace[i].profile);
    if (!spot) return false;
    gpus[spot->gpu].push_back({{states.profiles()[trace[i].profile], spot->start}, now + trace[i].duration});
    placed_at[i] = now;
    return true;
  }

  std::optional<double> next_end() const {
    std::optional<double> next;
    for (const auto& gpu : gpus)
      for (const auto& [placed, until] : gpu) next = std::min(next.value_or(until), until);
    return next;
  }

  void end(double now, double patience) {
    for (auto& gpu : gpus) std::erase_if(gpu, [&](const auto& held) { return held.second <= now; });
    std::erase_if(line, [&](std::size_t i) { return trace[i].arrival + patience < now; });
    for (auto i = line.begin(); i != line.end(); i = line.begin()) {
      i = std::ranges::find_if(line, [&](std::size_t each) { return serve(each, now); });
      if (i == line.end()) return;
      line.erase(i);
    }
  }

  void run(double patience) {
    placed_at.resize(trace.size());
    for (std::size_t i = 0; i < trace.size(); ++i) {
      for (auto next = next_end(); next && *next <= trace[i].arrival; next = next_end()) end(*next, patience);
      if (!serve(i, trace[i].arrival) && patience > 0) line.push_back(i);
    }
    for (auto next = next_end(); next && !line.empty(); next = next_end()) end(*next, patience);
  }
};

TEST(OnlineRun, waiting_follows_its_rules_where_much_happens_at_once) {
  const auto states = states_of("a100-sxm4-40gb");
  for (const auto rule : {Rule::first_fit, Rule::best_fit}) {
    const Scores scores(states, Policy{rule});
    EXPECT_TRUE(rc::check([&] {
      const auto pick = [](std::initializer_list<double> of) { return *rc::gen::elementOf(std::vector<double>(of)); };
      std::vector<Request> trace(40);
      double now = 0;
      for (auto& request : trace) {
        request.arrival = now += pick({0, 0, 1, 2, 7});
        request.duration = pick({0, 1, 3, 10, 10, 30});
        request.profile = *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(states.profiles().size()));
      }
      RunOptions options;
      options.gpus = *rc::gen::inRange<std::uint32_t>(1, 4);
      options.patience = pick({0, 5, 50, 1000});
      PlainRun expected{states, trace, rule, {}, {}, {}};
      expected.gpus.resize(options.gpus);
      expected.run(options.patience);
      std::vector<std::optional<double>> placed_at(trace.size());
      run(states, scores, trace, options, [&](const RunEvent& event) {
        if (event.is == RunEvent::Is::placed) placed_at[event.request] = event.time;
      });
      RC_ASSERT(placed_at == expected.placed_at);
    })) << name(rule);
  }
}

// Positions in states.profiles() of an A100.
constexpr std::uint32_t k1g = 0, k3g = 3, k4g = 4, k7g = 5;

TEST(OnlineRun, a_move_makes_room_for_what_waits_too) {
  const auto states = states_of("a100-sxm4-40gb");
  const Scores scores(states, Policy{Rule::first_fit});
  // The small one is in the way of the 4g, and has no other place before the 3g ends.
  const std::vector<Request> trace{{0, 1000, k1g, true}, {1, 10, k3g}, {2, 20, k4g}, {12, 20, k4g}};
  RunOptions options{.patience = 100, .migration = Migration{}};
  std::vector<std::pair<std::size_t, double>> placed;
  const auto result = run(states, scores, trace, options, [&](const RunEvent& event) {
    if (event.is == RunEvent::Is::placed) placed.emplace_back(event.request, event.time);
  });
  const std::vector<std::pair<std::size_t, double>> expected{{0, 0}, {1, 1}, {2, 11}, {3, 31}};
  EXPECT_EQ(placed, expected) << "who came first is served first";
  EXPECT_EQ(result.moves, 1);
}

TEST(OnlineRun, who_gave_up_does_not_wait) {
  const auto states = states_of("a100-sxm4-40gb");
  const Scores scores(states, Policy{Rule::first_fit});
  const std::vector<Request> trace{{0, 1000, k7g}, {1, 1, k7g}, {100, 1, k7g}};
  RunOptions options{.patience = 5, .samples = 50};
  for (const auto& sample : run(states, scores, trace, options).samples)
    EXPECT_EQ(sample.waiting, sample.time > 1 && sample.time <= 6 ? 1 : 0) << sample.time;
}

// Every single move, tried: is there one after which the request fits, and which is best?
std::optional<double> best_room_by_hand(const OnlineFleet& fleet, std::size_t profile, const Movable& movable) {
  const auto& states = fleet.states();
  const auto value = [&](StateId s) { return fleet.scores().value(s); };
  std::optional<double> best;
  for (std::uint32_t a = 0; a < fleet.gpus(); ++a) {
    for (const auto& victim : states.placed(fleet.state(a))) {
      if (!movable({a, victim.start})) continue;
      const auto q =
          static_cast<std::size_t>(std::ranges::find(states.profiles(), victim.profile) - states.profiles().begin());
      for (const auto& mine : states.places(states.without(fleet.state(a), victim.start), profile)) {
        for (std::uint32_t b = 0; b < fleet.gpus(); ++b) {
          for (const auto& target : states.places(a == b ? mine.then : fleet.state(b), q)) {
            const double gain =
                a == b ? value(target.then) - value(fleet.state(a))
                       : value(mine.then) - value(fleet.state(a)) + value(target.then) - value(fleet.state(b));
            if (!best || gain > *best) best = gain;
          }
        }
      }
    }
  }
  return best;
}

TEST(Migrate, room_is_made_whenever_one_move_can_and_by_the_best_one) {
  for (const auto& id : kBoards) {
    const auto states = states_of(id);
    const Scores scores(states, policy_of(states, Rule::potential));
    int made = 0;
    EXPECT_TRUE(rc::check([&] {
      const auto seed = *rc::gen::arbitrary<std::uint32_t>();
      std::mt19937 random(seed);
      const auto gpus = *rc::gen::inRange<std::uint32_t>(1, 5);
      OnlineFleet fleet(states, scores, gpus);
      std::vector<Spot> held;
      for (int round = 0; round < 10; ++round) {
        for (int step = 0; step < 60; ++step) {
          if (random() % 3 == 0 && !held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            fleet.take(held.back());
            held.pop_back();
          } else if (const auto spot = fleet.place(random() % states.profiles().size())) {
            held.push_back(*spot);
          }
        }
        const Movable movable = [&](const Spot& spot) {
          return (spot.gpu * 7 + static_cast<std::uint32_t>(spot.start) + seed) % 3 != 0;
        };
        for (std::size_t p = 0; p < states.profiles().size(); ++p) {
          if (fleet.choose(p)) continue;
          const auto room = make_room(fleet, p, movable);
          const auto expected = best_room_by_hand(fleet, p, movable);
          RC_ASSERT(room.has_value() == expected.has_value());
          if (!room) continue;
          ++made;
          RC_ASSERT(std::abs(room->move.gain - *expected) < 1e-6);
          RC_ASSERT(movable(room->move.from));
          OnlineFleet after = fleet;
          const auto count = [&](const OnlineFleet& f) {
            std::size_t sum = 0;
            for (std::uint32_t g = 0; g < f.gpus(); ++g) sum += states.placed(f.state(g)).size();
            return sum;
          };
          const auto before = count(after);
          carry_out(after, p, *room);
          RC_ASSERT(count(after) == before + 1);
        }
      }
    }));
    if (id == "a100-sxm4-40gb") {
      EXPECT_GT(made, 40);
    }
  }
}

TEST(Online, cost_does_not_grow_with_the_fleet) {
  const auto states = states_of("a100-sxm4-40gb");
  const Scores scores(states, policy_of(states, Rule::potential));
  OnlineFleet fleet(states, scores, 1'000'000);
  std::mt19937 random(1);
  for (int i = 0; i < 200'000; ++i) ASSERT_TRUE(fleet.place(random() % states.profiles().size()));
  EXPECT_LT(fleet.present().size(), 723U);
}

// The targets in small: one cell each, on seeds that weights were not tuned on.
TEST(Policy, the_potential_is_above_all_others_where_it_was_tuned_for) {
  const auto states = states_of("a100-sxm4-40gb");
  for (const auto& shares : {std::vector<double>{1, 1, 1, 1, 1, 1}, std::vector<double>{30, 25, 20, 10, 10, 5}}) {
    const Mix mix{shares, 1.0, 100, 0};
    const auto trace = make_trace(states, mix, 100'000, 99);
    RunOptions options;
    options.gpus = mix.gpus;
    options.from = trace[10'000].arrival;
    const auto accepted_by = [&](Rule rule) {
      std::int64_t count = 0, slices = 0;
      const auto result = run(states, Scores(states, policy_of(states, rule)), trace, options);
      for (std::size_t p = 0; p < result.profiles.size(); ++p) {
        count += result.profiles[p].accepted;
        slices += result.profiles[p].accepted * states.memory_of(p);
      }
      return std::pair(count, slices);
    };
    const auto tuned = accepted_by(Rule::potential);
    for (const auto rule : {Rule::first_fit, Rule::best_fit, Rule::tight_fit, Rule::least_fragmentation}) {
      const auto other = accepted_by(rule);
      EXPECT_GT(tuned.first, other.first) << name(rule);
      EXPECT_GT(tuned.second, other.second) << name(rule);
    }
  }
}

}  // namespace
}  // namespace partita::fleet
