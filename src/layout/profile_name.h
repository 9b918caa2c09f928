// Profile names: the grammar [<C>c.]<G>g.<M>gb[+attr...|-attr...], computed from memory and matched by slices and
// attributes, never by text alone (grammar and GB formula: go-nvlib pkg/nvlib/device/mig_profile.go).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "catalog/board.h"

namespace partita::layout {

struct ProfileName {
  std::optional<int> compute_slices_of_ci;  // C; nullopt when not written
  int compute_slices = 0;                   // G
  int gb = 0;                               // M
  catalog::Attributes attributes;
  bool operator==(const ProfileName&) const = default;
};

// Reads a name, "+" attributes separated by "," or a further "+", "." for "+" as Kubernetes labels spell it
// ("1g.24gb.me.all", "1g.24gb-me"). `invalid` says what was expected.
Result<ProfileName> parse_profile_name(std::string_view text);
std::string to_string(const ProfileName& name);

// The GB number a driver prints for a profile of `memory` on a GPU that reports `total`:
// round( ceil(memory/total*8)/8 * ceil(total/GiB) ).
int name_gb(Bytes memory, Bytes total);

// A name found on a board: which GPU instance profile and which compute instance profile (index in
// Profile::compute; the default one when C is not written or C = G).
struct ProfileMatch {
  int profile = 0;
  int compute = 0;
  // Set when the text differs from the board's own spelling ("1g.23gb" where the driver prints "1g.24gb").
  std::optional<std::string> spelled_here;
};

// Finds a name on a board: first by exact spelling, then by the catalog's (drivers of other branches print other GB
// parts for the same id), then by slices and attributes where the GB part is within the
// drift drivers show (same G and attributes, GB within 6 % or 1 of that profile's, and no other profile of that G
// nearer). `not_found` says the board, what it has, and the nearest names.
Result<ProfileMatch> find_profile(const catalog::Board& board, std::string_view text);

}  // namespace partita::layout
