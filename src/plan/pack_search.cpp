// The number destroyed is raised until the need can be met, then the number of GPUs touched; both by depth-first
// search over maximal options only, with bounds and a memory of failed states. Within these two budgets a second
// search over all options, with a memory of the best completion of each state, settles the rest.
#include "plan/pack_search.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>

#include "plan/fit_search.h"
#include "plan/pack_bounds.h"
#include "plan/pack_options.h"

namespace partita::plan {

namespace {

using Groups = std::vector<std::vector<OptionGroup>>;  // per bin

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;
constexpr int kGuess = 3;  // after this many destroyed in vain, ask whether any number would do

struct State {
  Need need{};
  std::int16_t bin = 0, destroyed = 0, touched = 0;
  bool operator==(const State&) const = default;
};

struct StateHash {
  std::size_t operator()(const State& state) const {
    const auto rest = static_cast<std::size_t>(state.bin) << 32 | static_cast<std::size_t>(state.destroyed) << 16 |
                      static_cast<std::size_t>(state.touched);
    return hash(state.need) ^ rest * 0x9E3779B97F4A7C15ULL;
  }
};

class Search {
 public:
  explicit Search(const PackProblem& problem)
      : problem_(problem),
        kinds_(static_cast<int>(problem.kinds.size())),
        bins_(static_cast<int>(problem.bins.size())) {
    for (const auto& bin : problem.bins) idle_ += static_cast<int>(bin.idle.size());
    find_losses();
  }

  bool feasible() {
    prepare(idle_);
    return feasible_with(idle_, bins_);
  }

  std::optional<std::vector<Option>> combine() {
    const auto destroyed = fewest_destroyed();
    if (!destroyed) return std::nullopt;
    int touched = 0;
    while (!feasible_with(*destroyed, touched)) ++touched;
    return best_within(*destroyed, touched);
  }

 private:
  // Most needs are met without destroying anything, and that is cheap to find out.
  std::optional<int> fewest_destroyed() {
    prepare(0);
    if (feasible_with(0, bins_)) return 0;
    prepare(idle_);
    for (int destroyed = 1; destroyed <= idle_; ++destroyed) {
      if (!bounds_->may_meet(problem_.need, 0, destroyed, bins_)) continue;
      if (feasible_with(destroyed, bins_)) return destroyed;
      if (destroyed == kGuess && !feasible_with(idle_, bins_)) return std::nullopt;
    }
    return std::nullopt;
  }

  // losses_[g][k]: how much supply of kind k the bins from g on could lose at most.
  void find_losses() {
    losses_.resize(static_cast<std::size_t>(bins_ + 1));
    for (int g = bins_; g-- > 0;) {
      losses_[static_cast<std::size_t>(g)] = losses_[static_cast<std::size_t>(g + 1)];
      const auto& bin = problem_.bins[static_cast<std::size_t>(g)];
      for (const auto& choices : bin.choices) {
        if (choices.front().kind >= 0)
          ++losses_[static_cast<std::size_t>(g)][static_cast<std::size_t>(choices.front().kind)];
        recuts_ |= choices.size() > 1;
      }
    }
  }

  // How many of each kind may be worth creating when at most `destroyed` instances go.
  Need most_created(int destroyed) const {
    Need most{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(kinds_); ++k) {
      const int loss = recuts_ ? losses_[0][k] : std::min<int>(losses_[0][k], destroyed);
      most[k] = static_cast<std::int16_t>(std::max(problem_.need[k] + loss, 0));
    }
    return most;
  }

  // Of twins, only the first has groups.
  Groups make_groups(int destroyed, bool maximal_only) {
    const Need most = most_created(destroyed);
    Groups groups(problem_.bins.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto& bin = problem_.bins[g];
      if (bin.twin_of >= 0) continue;
      groups[g] = OptionMaker(bin, refills_for(bin)).make(destroyed, most, maximal_only);
      if (maximal_only) drop_dominated(groups[g], static_cast<std::size_t>(kinds_));
      untouched_last(groups[g]);
    }
    return groups;
  }

  RefillTable& refills_for(const Bin& bin) {
    for (auto& table : refills_)
      if (table->serves(bin)) return *table;
    return *refills_.emplace_back(std::make_unique<RefillTable>(bin, most_created(idle_)));
  }

  static void untouched_last(std::vector<OptionGroup>& groups) {
    std::ranges::stable_partition(groups, [](const OptionGroup& group) { return group.touched; });
  }

  // For questions about at most so many destroyed.
  void prepare(int destroyed) {
    maximal_ = make_groups(destroyed, true);
    bounds_ = std::make_unique<PackBounds>(problem_, maximal_, destroyed);
    failed_.clear();
  }

  bool feasible_with(int destroyed, int touched) {
    return meets({problem_.need, 0, static_cast<std::int16_t>(destroyed), static_cast<std::int16_t>(touched)});
  }

  bool met(const Need& need) const {
    for (int k = 0; k < kinds_; ++k)
      if (need[static_cast<std::size_t>(k)] > 0) return false;
    return true;
  }

  // The state after taking `group` at state.bin. Leaving one GPU alone leaves its twins behind it alone too.
  State after(const State& state, const OptionGroup& group) const {
    State next = state;
    const auto twin = twin_key(state.bin);
    ++next.bin;
    if (!group.touched && is_nothing(group))
      while (next.bin < bins_ && twin_key(next.bin) == twin) ++next.bin;
    next.destroyed = static_cast<std::int16_t>(next.destroyed - group.destroyed);
    next.touched = static_cast<std::int16_t>(next.touched - (group.touched ? 1 : 0));
    for (std::size_t k = 0; k < static_cast<std::size_t>(kinds_); ++k) {
      const int need = state.need[k] - group.delta[k];
      // More to spare than can ever be lost is as good as just that.
      next.need[k] = static_cast<std::int16_t>(std::max<int>(need, -losses_[static_cast<std::size_t>(next.bin)][k]));
    }
    return next;
  }

  std::size_t twin_key(int bin) const {
    const auto twin = problem_.bins[static_cast<std::size_t>(bin)].twin_of;
    return static_cast<std::size_t>(twin >= 0 ? twin : bin);
  }

  bool is_nothing(const OptionGroup& group) const {
    for (int k = 0; k < kinds_; ++k)
      if (group.delta[static_cast<std::size_t>(k)] != 0) return false;
    return group.destroyed == 0;
  }

  bool affordable(const State& state, const OptionGroup& group) const {
    return group.destroyed <= state.destroyed && (!group.touched || state.touched > 0);
  }

  // Can the bins from state.bin on meet the need within the budgets?
  bool meets(const State& state) {
    if (met(state.need)) return true;
    if (state.bin == bins_ || !bounds_->may_meet(state.need, state.bin, state.destroyed, state.touched)) return false;
    if (failed_.contains(state)) return false;
    for (const auto& group : maximal_[twin_key(state.bin)])
      if (affordable(state, group) && meets(after(state, group))) return true;
    failed_.emplace(state, true);
    return false;
  }

  struct Step {
    std::int64_t cost = kNever;
    int group = -1;  // none: leave all remaining bins alone
  };

  std::vector<Option> best_within(int destroyed, int touched) {
    all_ = make_groups(destroyed, false);
    for (std::size_t g = 0; g < all_.size(); ++g) drop_wasteful(all_[g], maximal_[g], static_cast<std::size_t>(kinds_));
    open_now_.clear();
    for (const auto& bin : problem_.bins) open_now_.push_back(openness(bin, untouched(bin)));
    best_option_.resize(all_.size());
    for (std::size_t g = 0; g < all_.size(); ++g) best_option_[g].assign(all_[g].size(), {kNever, -1});
    State state{problem_.need, 0, static_cast<std::int16_t>(destroyed), static_cast<std::int16_t>(touched)};
    best(state);
    return follow(state);
  }

  std::vector<Option> follow(State state) {
    std::vector<Option> chosen;
    for (const auto& bin : problem_.bins) chosen.push_back(untouched(bin));
    while (state.bin < bins_ && !met(state.need)) {
      const auto step = best(state);
      const auto g = static_cast<std::size_t>(state.bin);
      const auto& group = all_[twin_key(state.bin)][static_cast<std::size_t>(step.group)];
      const auto pick = cost_of(state.bin, step.group).group;
      chosen[g] = group.options[static_cast<std::size_t>(pick)];
      state = after(state, group);
    }
    return chosen;
  }

  // The cheapest way on from `state`: whole GPUs used up, then compute instances destroyed, then placements closed.
  Step best(const State& state) {
    if (met(state.need)) return {0, -1};
    if (state.bin == bins_ || !bounds_->may_meet(state.need, state.bin, state.destroyed, state.touched)) return {};
    if (const auto known = best_.find(state); known != best_.end()) return known->second;
    Step best_step;
    if (!failed_.contains(state)) {
      const auto& groups = all_[twin_key(state.bin)];
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (!affordable(state, groups[i]) || overshoots(state, groups[i])) continue;
        const auto rest = best(after(state, groups[i])).cost;
        if (rest >= kNever) continue;
        const auto cost = rest + cost_of(state.bin, static_cast<int>(i)).cost;
        if (cost < best_step.cost) best_step = {cost, static_cast<int>(i)};
      }
    }
    best_.emplace(state, best_step);
    return best_step;
  }

  // Creates more of some kind than could ever be needed: creating fewer is never worse.
  bool overshoots(const State& state, const OptionGroup& group) const {
    const auto& created = group.options.front().created;
    for (std::size_t k = 0; k < static_cast<std::size_t>(kinds_); ++k)
      if (created[k] > 0 && state.need[k] - group.delta[k] < -losses_[static_cast<std::size_t>(state.bin) + 1][k])
        return true;
    return false;
  }

  // The best option of a group, found when first asked for. Step::group is the option's index here.
  const Step& cost_of(int bin_index, int group_index) {
    const auto g = twin_key(bin_index);
    auto& known = best_option_[g][static_cast<std::size_t>(group_index)];
    if (known.group >= 0) return known;
    const auto& bin = problem_.bins[g];
    const auto& group = all_[g][static_cast<std::size_t>(group_index)];
    for (std::size_t i = 0; i < group.options.size(); ++i) {
      const auto& option = group.options[i];
      const std::int64_t used_up = group.touched && bin.empty() ? 1 : 0;
      const std::int64_t closed = group.touched ? open_now_[g] - openness(bin, option) : 0;
      const auto cost = used_up * (std::int64_t{1} << 40) + option.compute_destroyed * (std::int64_t{1} << 20) + closed;
      if (known.group < 0 || cost < known.cost) known = {cost, static_cast<int>(i)};
    }
    return known;
  }

  static int openness(const Bin& bin, const Option& option) {
    const auto stands = standing(bin, option);
    const auto placing = best_fit(*bin.geometry, stands.placed, stands.counts);
    return placing ? placing->open : 0;
  }

  static Option untouched(const Bin& bin) {
    Option option;
    for (std::size_t i = 0; i < bin.choices.size(); ++i) option.fates[i] = bin.choices[i].front();
    return option;
  }

  const PackProblem& problem_;
  int kinds_;
  int bins_;
  int idle_ = 0;
  bool recuts_ = false;
  std::vector<Need> losses_;
  std::vector<std::unique_ptr<RefillTable>> refills_;
  Groups maximal_;
  std::unique_ptr<PackBounds> bounds_;
  std::unordered_map<State, bool, StateHash> failed_;
  Groups all_;
  std::vector<int> open_now_;
  std::vector<std::vector<Step>> best_option_;
  std::unordered_map<State, Step, StateHash> best_;
};

}  // namespace

std::optional<std::vector<Option>> combine(const PackProblem& problem) { return Search(problem).combine(); }

bool feasible(const PackProblem& problem) { return Search(problem).feasible(); }

}  // namespace partita::plan
