#include "fleet/exact/by_name.h"

#include "base/text.h"
#include "layout/profile_name.h"

namespace partita::fleet {

namespace {

struct Found {
  int profile = 0;
  bool spelled_so = false;
};

Result<Found> find(const catalog::Board& board, const std::string& name) {
  const auto match = TRY(layout::find_profile(board, name));
  if (const auto parsed = layout::parse_profile_name(name); parsed && parsed->compute_slices_of_ci)
    return fail(ErrorCode::invalid, quote(name) + ": a fleet is planned in GPU instances; give " +
                                        board.profiles[static_cast<std::size_t>(match.profile)].name);
  return Found{match.profile, !match.spelled_here};
}

}  // namespace

Result<int> profile_by_name(const catalog::Board& board, const std::string& name) {
  return TRY(find(board, name)).profile;
}

Result<std::vector<Server>> servers_by_name(const Fleet& fleet, const std::string& name,
                                            const std::set<std::string>& boards) {
  std::vector<Server> spelled_so, else_meant;
  Error last;
  for (std::size_t k = 0; k < fleet.kinds.size(); ++k) {
    const auto& board = *fleet.kinds[k].board;
    if (!boards.empty() && !boards.contains(board.id)) continue;
    auto found = find(board, name);
    if (found)
      (found->spelled_so ? spelled_so : else_meant).push_back({static_cast<int>(k), found->profile, 1});
    else if (found.error().code == ErrorCode::invalid)
      return std::unexpected(std::move(found.error()));
    else
      last = std::move(found.error());
  }
  if (!spelled_so.empty()) return spelled_so;
  if (!else_meant.empty()) return else_meant;
  return std::unexpected(std::move(last));
}

}  // namespace partita::fleet
