#include "lease/choose.h"

#include <algorithm>

#include "fleet/online/policy_file.h"

#include "lease/refusal.h"
#include "lease/search.h"
#include "lease/shapes.h"

namespace partita::lease {

const plan::Geometry& Geometries::of(const std::shared_ptr<const catalog::Board>& board) {
  for (const auto& [known, geometry] : known_)
    if (known == board) return *geometry;
  known_.emplace_back(board, std::make_unique<plan::Geometry>(*board));
  return *known_.back().second;
}

double Geometries::value_of(const std::shared_ptr<const catalog::Board>& board, std::span<const plan::Placed> placed) {
  auto worth = std::ranges::find(worths_, board, &Worth::board);
  if (worth == worths_.end()) {
    fleet::Features features(board);
    const auto alike =
        std::ranges::find(worths_, features.names(), [](const Worth& one) { return one.features.names(); });
    auto weights =
        alike != worths_.end()
            ? alike->weights
            : fleet::shipped_weights(features).value_or(fleet::Potential{std::vector<double>(features.names().size())});
    worths_.push_back({board, std::move(features), std::move(weights)});
    worth = worths_.end() - 1;
  }
  return worth->features.value(placed, worth->weights);
}

void Geometries::trim() {
  constexpr std::size_t kMost = 64;  // a driver session gives each GPU a board of its own
  if (known_.size() > kMost) known_.clear();
  if (worths_.size() > kMost) worths_.clear();
}

Result<std::optional<Choice>> find_place(const layout::NodeState& state, const api::Requirement& requirement,
                                         const Constraints& constraints, Geometries& geometries) {
  geometries.trim();
  Shapes shapes = TRY(shapes_of(state, requirement, constraints.same_gpu));
  keep_within(shapes, state, constraints.most);
  return search(state, requirement, constraints, shapes, geometries);
}

Result<Choice> choose(const layout::NodeState& state, const api::Requirement& requirement,
                      const Constraints& constraints, Geometries& geometries) {
  geometries.trim();
  Shapes shapes = TRY(shapes_of(state, requirement, constraints.same_gpu));
  keep_within(shapes, state, constraints.most);
  if (auto choice = TRY(search(state, requirement, constraints, shapes, geometries))) return std::move(*choice);
  return std::unexpected(explain_no_place(state, requirement, constraints, shapes, geometries));
}

Result<Choice> choose(const layout::NodeState& state, const api::Requirement& requirement,
                      const Constraints& constraints) {
  Geometries geometries;
  return choose(state, requirement, constraints, geometries);
}

}  // namespace partita::lease
