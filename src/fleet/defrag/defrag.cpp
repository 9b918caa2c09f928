#include "fleet/defrag/defrag.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "fleet/online/online_states.h"
#include "fleet/solver/minimise.h"

namespace partita::fleet {

namespace {

using Is = DefragInstance::Is;

// How many of each profile of a board leave (negative) or come.
using Balance = std::vector<int>;

// One way to treat a GPU of a kind.
struct Way {
  std::uint32_t leave = 0;  // bits over the kind's instances
  StateId then = 0;
  Balance balance;
  int value = 0;  // room afterwards
  int open = 0;   // room for all profiles: between plans that are equal else
  int held = 0, moves = 0;
};

struct Kind {
  std::shared_ptr<const catalog::Board> board;
  std::vector<DefragInstance> instances;
  std::optional<int> wanted;
  std::vector<int> gpus;
  int family = 0;  // GPUs of one board
  StateId stands = 0;
  std::vector<Way> ways;
};

struct Family {
  std::shared_ptr<const catalog::Board> board;
  GpuStates states;
  Balance movable;  // of each profile, on all GPUs of the family
};

std::vector<int> placeable(const catalog::Board& board) {
  std::vector<int> out;
  for (std::size_t p = 0; p < board.profiles.size(); ++p)
    if (!board.profiles[p].placements.empty()) out.push_back(static_cast<int>(p));
  return out;
}

class Defragmenter {
 public:
  Defragmenter(const std::vector<DefragGpu>& gpus, const DefragGoal& goal, const WorkLimits& limits)
      : gpus_(gpus), goal_(goal), limits_(limits) {}

  Result<DefragPlan> run() {
    TRY_VOID(sort_into_kinds());
    for (auto& kind : kinds_) find_ways(kind);
    return plan(choose());
  }

 private:
  Result<int> family_of(const DefragGpu& gpu) {
    for (std::size_t f = 0; f < families_.size(); ++f)
      if (families_[f].board->id == gpu.board->id && families_[f].board->profiles.size() == gpu.board->profiles.size())
        return static_cast<int>(f);
    auto states = TRY(GpuStates::of(gpu.board, placeable(*gpu.board)));
    const auto profiles = states.profiles().size();
    families_.push_back({gpu.board, std::move(states), Balance(profiles)});
    return static_cast<int>(families_.size()) - 1;
  }

  Result<void> sort_into_kinds() {
    using Key = std::tuple<int, std::vector<DefragInstance>, std::optional<int>>;
    std::map<Key, std::size_t> known;
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      const auto& gpu = gpus_[g];
      const int family = TRY(family_of(gpu));
      auto& [board, states, movable] = families_[static_cast<std::size_t>(family)];
      std::vector<plan::Placed> placed;
      for (const auto& instance : gpu.instances) placed.push_back(instance.placed);
      const auto stands = states.find(placed);
      if (!stands)
        return fail(ErrorCode::invalid,
                    fmt::format("GPU number {} holds instances that {} does not allow together", g, board->id));
      for (const auto& instance : gpu.instances)
        if (instance.is != Is::fixed) ++movable[states.position(instance.placed.profile)];
      const auto [entry, fresh] = known.try_emplace(Key{family, gpu.instances, gpu.wanted}, kinds_.size());
      if (fresh) kinds_.push_back({gpu.board, gpu.instances, gpu.wanted, {}, family, *stands, {}});
      kinds_[entry->second].gpus.push_back(static_cast<int>(g));
    }
    return {};
  }

  int value(const Kind& kind, const GpuStates& states, StateId state) const {
    if (goal_.named) return kind.wanted ? states.room(state, states.position(*kind.wanted)) : 0;
    return open(states, state);
  }

  static int open(const GpuStates& states, StateId state) {
    int sum = 0;
    for (std::size_t p = 0; p < states.profiles().size(); ++p)
      if (states.board().profiles[static_cast<std::size_t>(states.profiles()[p])].attributes == catalog::Attributes{})
        sum += states.room(state, p) * states.memory_of(p);
    return sum;
  }

  // All subsets that leave, with all that could come beside the rest; of those with the same balance, leaving and
  // coming, only those that none beats in room, held and moves.
  void find_ways(Kind& kind) const {
    const auto& family = families_[static_cast<std::size_t>(kind.family)];
    std::vector<std::uint32_t> movable;
    for (std::size_t i = 0; i < kind.instances.size(); ++i)
      if (kind.instances[i].is != Is::fixed) movable.push_back(std::uint32_t{1} << i);
    std::map<Balance, std::vector<Way>> found;
    for (std::uint32_t subset = 0; subset < (std::uint32_t{1} << movable.size()); ++subset) {
      Way way;
      for (std::size_t i = 0; i < movable.size(); ++i)
        if (((subset >> i) & 1U) != 0) way.leave |= movable[i];
      add_ways(kind, family, way, found);
    }
    for (auto& [balance, ways] : found)
      for (auto& way : ways) kind.ways.push_back(std::move(way));
  }

  void add_ways(const Kind& kind, const Family& family, Way way, std::map<Balance, std::vector<Way>>& found) const {
    const auto& states = family.states;
    way.balance.assign(states.profiles().size(), 0);
    std::vector<plan::Placed> standing;
    for (std::size_t i = 0; i < kind.instances.size(); ++i) {
      const auto& instance = kind.instances[i];
      if (((way.leave >> i) & 1U) == 0) {
        standing.push_back(instance.placed);
        continue;
      }
      --way.balance[states.position(instance.placed.profile)];
      ++way.moves;
      way.held += instance.is == Is::held ? 1 : 0;
    }
    if (goal_.most_moves >= 0 && way.moves > goal_.most_moves) return;
    const auto rest = states.find(standing);
    if (!rest) return;  // cannot be: it is a part of what may stand together
    std::vector<StateId> reached{*rest};
    std::vector<Balance> balances{way.balance};
    std::map<StateId, bool> seen{{reached.front(), true}};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      way.then = reached[i];
      way.balance = balances[i];
      way.value = value(kind, states, way.then);
      way.open = open(states, way.then);
      keep(found[way.balance], way);
      for (std::size_t p = 0; p < states.profiles().size(); ++p) {
        if (!may_come(family, balances[i], way, p)) continue;
        for (const auto& place : states.places(reached[i], p)) {
          if (!seen.try_emplace(place.then, true).second) continue;
          reached.push_back(place.then);
          balances.push_back(balances[i]);
          ++balances.back()[p];
        }
      }
    }
  }

  // Is there one of this profile that could come, within the number of moves?
  bool may_come(const Family& family, const Balance& balance, const Way& way, std::size_t profile) const {
    if (balance[profile] >= family.movable[profile]) return false;
    if (goal_.most_moves < 0) return true;
    const int came = std::accumulate(balance.begin(), balance.end(), way.moves);
    return came < goal_.most_moves;
  }

  static void keep(std::vector<Way>& ways, const Way& way) {
    const auto beats = [](const Way& a, const Way& b) {
      return a.value >= b.value && a.held <= b.held && a.moves <= b.moves &&
             (a.open >= b.open || a.value > b.value || a.held < b.held || a.moves < b.moves);
    };
    if (std::ranges::any_of(ways, [&](const Way& other) { return beats(other, way); })) return;
    std::erase_if(ways, [&](const Way& other) { return beats(way, other); });
    ways.push_back(way);
  }

  // ---- The program: how many GPUs of each kind take which way.

  struct Choice {
    std::vector<std::vector<std::int64_t>> counts;  // [kind][way]
    bool proven = true;
  };

  IntegerProgram constraints(std::vector<std::vector<int>>& columns) const {
    IntegerProgram out;
    std::vector<std::vector<IntegerProgram::Row>> balance;
    for (const auto& family : families_) {
      auto& rows = balance.emplace_back(family.states.profiles().size());
      for (auto& row : rows) row.lower = row.upper = 0;
    }
    IntegerProgram::Row moves;
    if (goal_.most_moves >= 0) moves.upper = static_cast<double>(goal_.most_moves);
    for (const auto& kind : kinds_) {
      const auto count = static_cast<double>(kind.gpus.size());
      IntegerProgram::Row all{count, count, {}};
      auto& mine = columns.emplace_back();
      for (const auto& way : kind.ways) {
        const int column = out.add_column({0, 0, count});
        mine.push_back(column);
        all.terms.push_back({column, 1});
        if (way.moves > 0) moves.terms.push_back({column, static_cast<double>(way.moves)});
        auto& rows = balance[static_cast<std::size_t>(kind.family)];
        for (std::size_t p = 0; p < rows.size(); ++p)
          if (way.balance[p] != 0) rows[p].terms.push_back({column, static_cast<double>(way.balance[p])});
      }
      out.add_row(std::move(all));
    }
    for (auto& rows : balance)
      for (auto& row : rows)
        if (!row.terms.empty()) out.add_row(std::move(row));
    if (goal_.most_moves >= 0 && !moves.terms.empty()) out.add_row(std::move(moves));
    return out;
  }

  template <class Of>
  void for_each_way(const std::vector<std::vector<int>>& columns, const Of& of) const {
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      for (std::size_t w = 0; w < kinds_[k].ways.size(); ++w) of(columns[k][w], kinds_[k].ways[w]);
  }

  // Everything stays: the known solution to start from.
  std::vector<double> nothing(const IntegerProgram& program, const std::vector<std::vector<int>>& columns) const {
    std::vector<double> out(program.columns.size(), 0.0);
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      for (std::size_t w = 0; w < kinds_[k].ways.size(); ++w)
        if (kinds_[k].ways[w].moves == 0 && still(kinds_[k].ways[w]))
          out[static_cast<std::size_t>(columns[k][w])] = static_cast<double>(kinds_[k].gpus.size());
    return out;
  }
  static bool still(const Way& way) {
    return std::ranges::all_of(way.balance, [](int n) { return n == 0; });
  }

  Choice choose() const {
    Choice out;
    std::vector<std::vector<int>> columns;
    auto program = constraints(columns);
    auto best = nothing(program, columns);
    // Room, a column of its own where more than enough is worth nothing.
    IntegerProgram::Row room{0, kUnbounded, {}};
    for_each_way(columns, [&](int column, const Way& way) {
      if (way.value > 0) room.terms.push_back({column, static_cast<double>(way.value)});
    });
    const double now = std::accumulate(room.terms.begin(), room.terms.end(), 0.0, [&](double sum, const auto& term) {
      return sum + (term.value * best[static_cast<std::size_t>(term.column)]);
    });
    const double most = goal_.named && goal_.enough >= 0 ? static_cast<double>(goal_.enough) : kUnbounded;
    const int reached = program.add_column({-1, 0, most});
    room.terms.push_back({reached, -1});
    program.add_row(std::move(room));
    best.push_back(std::min(now, most));
    settle(program, best, out.proven);
    const double value = best[static_cast<std::size_t>(reached)];
    program.columns[static_cast<std::size_t>(reached)].lower = value;
    program.columns[static_cast<std::size_t>(reached)].upper = value;
    struct Level {
      int Way::* of;
      int sign;
    };
    for (const auto& [of, sign] : {Level{&Way::held, 1}, Level{&Way::moves, 1}, Level{&Way::open, -1}}) {
      for (auto& column : program.columns) column.cost = 0;
      IntegerProgram::Row limit;
      for_each_way(columns, [&](int column, const Way& way) {
        program.columns[static_cast<std::size_t>(column)].cost = sign * (way.*of);
        if (way.*of != 0) limit.terms.push_back({column, static_cast<double>(sign * (way.*of))});
      });
      bool also_proven = true;  // of the last level nothing is said
      settle(program, best, of == &Way::open ? also_proven : out.proven);
      limit.upper = 0;
      for (const auto& term : limit.terms) limit.upper += term.value * best[static_cast<std::size_t>(term.column)];
      if (!limit.terms.empty()) program.add_row(std::move(limit));
    }
    for (const auto& mine : columns) {
      auto& counts = out.counts.emplace_back();
      for (const int column : mine) counts.push_back(static_cast<std::int64_t>(best[static_cast<std::size_t>(column)]));
    }
    return out;
  }

  void settle(const IntegerProgram& program, std::vector<double>& best, bool& proven) const {
    auto found = minimise(program, limits_, 1, best);
    proven = proven && found.status == IntegerSolution::Status::optimal;
    if (!found.values.empty()) best = std::move(found.values);
  }

  // ---- Who goes where.

  struct Leaving {
    int gpu = 0;
    DefragInstance instance;
  };
  struct Coming {
    int gpu = 0;
    plan::Placed placed;
  };

  DefragPlan plan(const Choice& choice) const {
    DefragPlan out;
    out.proven = choice.proven;
    std::map<std::pair<int, int>, std::pair<std::vector<Leaving>, std::vector<Coming>>> exchange;  // family, profile
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const auto& kind = kinds_[k];
      const auto& states = families_[static_cast<std::size_t>(kind.family)].states;
      auto gpu = kind.gpus.begin();
      for (std::size_t w = 0; w < kind.ways.size(); ++w)
        for (auto n = choice.counts[k][w]; n > 0 && gpu != kind.gpus.end(); --n, ++gpu) {
          const auto& way = kind.ways[w];
          out.room_after += way.value;
          out.room_before += value(kind, states, kind.stands);
          std::vector<plan::Placed> rest = states.placed(way.then);
          for (std::size_t i = 0; i < kind.instances.size(); ++i) {
            const auto& instance = kind.instances[i];
            if (((way.leave >> i) & 1U) != 0)
              exchange[{kind.family, instance.placed.profile}].first.push_back({*gpu, instance});
            else
              rest.erase(std::ranges::find(rest, instance.placed));
          }
          for (const auto& placed : rest) exchange[{kind.family, placed.profile}].second.push_back({*gpu, placed});
        }
    }
    for (auto& [key, both] : exchange) pair_up(both.first, both.second, out);
    std::ranges::sort(out.moves, {}, [](const DefragMove& move) { return std::pair(move.from, move.before.start); });
    return out;
  }

  // Within a GPU where that is possible, else in order.
  static void pair_up(std::vector<Leaving>& leaving, std::vector<Coming>& coming, DefragPlan& out) {
    const auto move = [&](const Leaving& from, const Coming& to) {
      out.moves.push_back({from.gpu, to.gpu, from.instance.placed, to.placed, from.instance.is});
      out.held_moved += from.instance.is == Is::held ? 1 : 0;
    };
    std::erase_if(leaving, [&](const Leaving& from) {
      const auto to = std::ranges::find(coming, from.gpu, &Coming::gpu);
      if (to == coming.end()) return false;
      move(from, *to);
      coming.erase(to);
      return true;
    });
    for (std::size_t i = 0; i < leaving.size(); ++i) move(leaving[i], coming[i]);
  }

  const std::vector<DefragGpu>& gpus_;
  const DefragGoal& goal_;
  const WorkLimits& limits_;
  std::vector<Family> families_;
  std::vector<Kind> kinds_;
};

}  // namespace

Result<DefragPlan> defragment(const std::vector<DefragGpu>& gpus, const DefragGoal& goal, const WorkLimits& limits) {
  return Defragmenter(gpus, goal, limits).run();
}

}  // namespace partita::fleet
