// Weights of a potential as text. Text in, struct out.
//
//   version: v1
//   source: partita policy tune --board a100-sxm4-40gb --seed 1
//   weights:                 # one for each feature of the board (fleet/potential.h)
//     free 0-3: 3.34
//     one 4-7: -1.89
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "catalog/board.h"
#include "fleet/online/potential.h"

namespace partita::fleet {

// `invalid` names file, line and key; a feature without weight, or a weight for no feature, too.
Result<Potential> read_weights(std::string_view text, const std::string& file, const Features& features);
std::string write_weights(const Features& features, const Potential& potential, const std::string& source);

// The weights that the program carries (data/policies/) for boards with these features. `not_found` says how to make
// some.
Result<Potential> shipped_weights(const Features& features);

}  // namespace partita::fleet
