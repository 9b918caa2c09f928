// The words for a profile's attributes in data files, checkpoints and JSON: me, me_all, gfx, no_me.
#pragma once

#include <string_view>
#include <vector>

#include "catalog/board.h"

namespace partita::catalog {

// In that order.
std::vector<std::string_view> attribute_words(const Attributes& attributes);

// Sets the attribute called `word`; false when there is none.
bool set_attribute(Attributes& attributes, std::string_view word);

}  // namespace partita::catalog
