// Boards from JSON. Inside api/ only.
#pragma once

#include <string>
#include <string_view>

#include "api/json_in.h"
#include "catalog/board.h"

namespace partita::api {

catalog::Board read_board(Reading& reading, const Json& json, const std::string& path);
// The index of the profile of that name, or -1.
int profile_called(const catalog::Board* board, std::string_view name);

}  // namespace partita::api
