#include "fleet/schedule/deadline.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita::fleet {

namespace {

// An instance that is there and may serve need not be created.
bool there(const Room& room, const JobWay& way) {
  for (std::size_t k = 0; k < room.origin.size(); ++k)
    if (room.origin[k] == way.kind)
      for (const auto& each : room.fleet.kinds[k].state)
        if (!each.pinned && each.placed.profile == way.profile) return true;
  return false;
}

}  // namespace

Result<void> check_deadline(const Room& room, const BatchFile& file,
                            const std::vector<std::vector<ReconfigureTime>>& times) {
  if (!file.deadline_s) return {};
  for (const auto& job : file.jobs) {
    double least = 1e30;
    for (const auto& way : job.ways) {
      const double create =
          there(room, way) ? 0
                           : times[static_cast<std::size_t>(way.kind)][static_cast<std::size_t>(way.profile)].create_s;
      least = std::min(least, std::max(job.release_s, create) + way.seconds);
    }
    if (least > *file.deadline_s + 1e-6)
      return std::unexpected(
          Error{ErrorCode::no_space,
                fmt::format("job {} ends at {:.1f} s at the earliest, after the deadline of {:.12g} s", job.name, least,
                            *file.deadline_s),
                {"no GPU more helps: give a later deadline, an earlier release, or a faster size"}});
  }
  return {};
}

}  // namespace partita::fleet
