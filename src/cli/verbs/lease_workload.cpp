// --workload: the smallest profile of the node that is predicted to be enough.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/verbs/lease_options.h"
#include "cli/verbs/predict_options.h"

namespace partita::cli {
namespace {

struct Candidate {
  Recommended recommended;
  double share = 1;  // of the GPU's memory slices
};

// The boards of the node's GPUs, each once; with --board only that one.
Result<std::vector<std::shared_ptr<const catalog::Board>>> boards_here(const Parsed& parsed, Session& session) {
  const auto state = TRY(session.node->state());
  const auto asked = parsed.text("board");
  std::vector<std::shared_ptr<const catalog::Board>> out;
  for (const auto& gpu : state.gpus) {
    if (!gpu.board || !gpu.board->has_mig() || (asked && gpu.board->id != *asked)) continue;
    if (std::ranges::none_of(out, [&](const auto& each) { return each->id == gpu.board->id; }))
      out.push_back(gpu.board);
  }
  if (out.empty())
    return fail(ErrorCode::not_found, asked ? "no GPU of this node is a " + *asked : "no GPU of this node has MIG");
  return out;
}

std::string words_of(const std::string& workload, const predict::Table& table, const predict::TableRow& row) {
  return fmt::format("{} at batch {} is predicted to make {:.3g} {}/s on a {}, {:.3g} ms per step", workload, row.batch,
                     row.prediction.throughput.median, table.unit, row.name, row.prediction.step_ms.median);
}

}  // namespace

Result<Recommended> recommended(const Parsed& parsed, Session& session) {
  auto asked = parsed;
  asked.values["WORKLOAD"] = parsed.all("workload");
  const auto constants = TRY(constants_of(asked));
  const auto request = TRY(predict_request(asked, constants));
  const auto workload = TRY(workload_of(asked, request.settings.sequence));
  std::optional<Candidate> best;
  std::vector<std::string> details;
  for (const auto& board : TRY(boards_here(parsed, session))) {
    const auto table = TRY(predict::predict_table(constants, workload, request.settings, *board, request.query));
    // Without a need, what fits is enough.
    auto need = request.need;
    constexpr double kAny = 1e-9;
    if (!request.needs()) need.throughput = kAny;
    const auto choice = TRY(predict::smallest_that_meets(table, need));
    if (!choice.row) {
      for (const auto& line : choice.rejected) details.push_back(board->id + ": " + line);
      continue;
    }
    const auto& row = table.rows[*choice.row];
    const auto& profile = board->profiles[static_cast<std::size_t>(row.partition.profile.value_or(0))];
    const double share = static_cast<double>(profile.memory_slices) / std::max(1, board->memory_slices);
    if (!best || share < best->share)
      best = Candidate{{row.name, board->id, words_of(workload.name, table, row)}, share};
  }
  if (best) return best->recommended;
  return fail(ErrorCode::impossible, "no profile of this node is predicted to be enough for " + workload.name,
              std::move(details));
}

}  // namespace partita::cli
