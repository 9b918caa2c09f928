#include <algorithm>

#include "api/json.h"
#include "base/text.h"
#include "cli/common.h"
#include "cli/draw/draw.h"
#include "cli/verbs/run.h"

namespace partita::cli {
namespace {

Result<int> list(const Parsed& parsed, Format format, catalog::Catalog& catalog,
                 const std::vector<catalog::BoardEntry>& entries) {
  if (format != Format::table) {
    TRY_VOID(print_json(format, api::to_json(entries)));
    return 0;
  }
  std::vector<std::shared_ptr<const catalog::Board>> boards;
  for (const auto& entry : entries) boards.push_back(TRY(catalog.board(entry.id)));
  TRY_VOID(print(draw_boards(output_look(parsed), boards)));
  return 0;
}

}  // namespace

Result<int> run_boards(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  auto catalog = TRY(open_catalog(parsed));
  const auto asked = parsed.text("BOARD");
  if (!asked) return list(parsed, format, catalog, catalog.boards());

  const auto id = lower(*asked);
  std::vector<catalog::BoardEntry> matching;
  for (const auto& entry : catalog.boards())
    if (entry.id == id) {
      matching = {entry};
      break;
    } else if (entry.id.starts_with(id)) {
      matching.push_back(entry);
    }
  if (matching.size() > 1) return list(parsed, format, catalog, matching);
  const auto board = TRY(catalog.board(matching.empty() ? *asked : matching.front().id));
  if (format == Format::table)
    TRY_VOID(print(draw_board(output_look(parsed), *board)));
  else
    TRY_VOID(print_json(format, api::to_json(*board)));
  return 0;
}

}  // namespace partita::cli
