#include <fmt/format.h>

#include "base/csv.h"
#include "catalog/embedded.h"
#include "study/scenario_file.h"

namespace partita::study {

Result<ReconfigureTimes> reconfigure_times(const catalog::Board& board, int profile) {
  const std::string file = "mig_reconfig_times.csv";
  const auto text = catalog::embedded_file("measured/" + file);
  if (!text) return fail(ErrorCode::internal, file + " is not in the program");
  const CsvTable table = TRY(parse_csv(*text, file));
  const std::size_t gpu = TRY(table.require("gpu")), slices = TRY(table.require("gpc_slices"));
  const std::size_t create = TRY(table.require("create_s")), destroy = TRY(table.require("destroy_s"));
  const auto& wanted = board.profiles[static_cast<std::size_t>(profile)];
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (board.product.find(table.rows[row][gpu]) == std::string::npos) continue;
    if (TRY(table.number(row, slices)) != wanted.compute_slices) continue;
    return ReconfigureTimes{TRY(table.number(row, create)).value_or(0), TRY(table.number(row, destroy)).value_or(0)};
  }
  return fail(ErrorCode::invalid, fmt::format("{}: no times to create and destroy {} are known (data/measured/{})",
                                              board.product, wanted.name, file));
}

}  // namespace partita::study
