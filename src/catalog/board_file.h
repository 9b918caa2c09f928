// One board's YAML: text in, Board out. Schema: data/schemas/board.schema.json.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "catalog/board.h"

namespace partita::catalog {

Result<Board> read_board(std::string_view text, const std::string& file);

}  // namespace partita::catalog
