// Profiles of a fleet by name.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "fleet/exact/fleet.h"

namespace partita::fleet {

// The profile of a board that may be planned with: GPU instances alone, no compute instances inside ("1c.3g.20gb" is
// `invalid`). `not_found` as layout::find_profile.
Result<int> profile_by_name(const catalog::Board& board, const std::string& name);

// Kind and profile of each board that has it, each of weight 1; `boards`: only these, empty: all. A board where another
// spelling is meant ("1g.6gb" where the driver prints "1g.5gb") counts only where no board spells it so: a fleet's
// boards have names in common, and what is asked for is not less elsewhere. `not_found` where none has it.
Result<std::vector<Server>> servers_by_name(const Fleet& fleet, const std::string& name,
                                            const std::set<std::string>& boards = {});

}  // namespace partita::fleet
