#include "lease/choose.h"

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

void Geometries::trim() {
  constexpr std::size_t kMost = 64;  // a driver session gives each GPU a board of its own
  if (known_.size() > kMost) known_.clear();
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
