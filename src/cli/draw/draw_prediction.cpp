#include "cli/draw/draw_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/draw/table.h"

namespace partita::cli {
namespace {

using api::BoardPrediction;
using predict::Fit;

constexpr int kIndent = 2;

Tone tone_of(Fit fit) { return fit == Fit::fits ? Tone::good : fit == Fit::uncertain ? Tone::warning : Tone::bad; }
std::string_view answer_of(Fit fit) { return fit == Fit::fits ? "yes" : fit == Fit::uncertain ? "uncertain" : "no"; }

// A rate with three digits: predictions have no more.
std::string figure(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string range(const predict::Estimate& estimate) { return figure(estimate.low) + "-" + figure(estimate.high); }

std::string gib(double mib) {
  return mib < 100 * 1024 ? fmt::format("{:.1f}", mib / 1024) : fmt::format("{:.0f}", mib / 1024);
}

std::string memory_text(const predict::Prediction& found) {
  return gib(found.memory_mib.median) + " of " + (found.capacity_mib > 0 ? gib(found.capacity_mib) : "?");
}

// "training, batch 64, 128 tokens, fp16".
std::string how_it_runs(const api::PredictRequest& request) {
  const auto& settings = request.settings;
  const auto& batches = request.query.batches;
  std::vector<std::string> out = {std::string(api::word_of(api::kModeWords, settings.mode))};
  out.push_back(batches.size() == 1 ? fmt::format("batch {}", batches.front())
                                    : fmt::format("batch {} to {}", batches.front(), batches.back()));
  if (settings.sequence) out.push_back(fmt::format("{} tokens", *settings.sequence));
  out.emplace_back(api::word_of(api::kPrecisionWords, settings.matmul));
  if (settings.framework != predict::Framework::eager_overlapped)
    out.emplace_back(settings.framework == predict::Framework::graph ? "replayed graph" : "host waits for each kernel");
  if (settings.copy_inside_step) out.emplace_back("copy inside the step");
  if (settings.processes > 1) out.push_back(fmt::format("{} processes", settings.processes));
  if (request.query.busy_neighbours > 0)
    out.push_back(fmt::format("rest of the GPU {:.0f} % busy", 100 * request.query.busy_neighbours));
  if (request.query.virtualised) out.emplace_back("in a VM");
  return join(out, ", ");
}

bool extrapolated(const BoardPrediction& board) {
  return std::ranges::any_of(board.table.rows, [](const auto& row) { return row.prediction.extrapolated; });
}

std::string heading(const Look& look, const BoardPrediction& board) {
  std::string kind = extrapolated(board) ? "extrapolated, not measured" : "predicted, not measured";
  if (board.calibration) kind += fmt::format(", calibrated with {}", count_of(board.calibration->points, "own point"));
  return '\n' + paint(look, Tone::strong, board.board->id) + "  " +
         paint(look, extrapolated(board) ? Tone::warning : Tone::faint, kind) + '\n';
}

std::string rows_table(const Look& look, const BoardPrediction& board) {
  Table table({{"profile"},
               {"GiB of GiB", true},
               {"fits"},
               {board.table.unit + "/s", true},
               {"90 %", true},
               {"ms/step", true},
               {"bound by"}});
  for (const auto& row : board.table.rows) {
    const auto& found = row.prediction;
    const bool runs = found.fit != Fit::does_not_fit;
    table.add({{row.name, Tone::strong},
               {memory_text(found)},
               {std::string(answer_of(found.fit)), tone_of(found.fit)},
               {runs ? figure(found.throughput.median) : "-", runs ? Tone::plain : Tone::faint},
               {runs ? range(found.throughput) : "-", Tone::faint},
               {runs ? figure(found.step_ms.median) : "-", runs ? Tone::plain : Tone::faint},
               {runs ? std::string(predict::name(found.bound)) : "-", runs ? Tone::plain : Tone::faint}});
  }
  return table.draw(look, kIndent);
}

// Batches down, profiles across: throughput, with the knee of each marked.
std::string batch_grid(const Look& look, const BoardPrediction& board) {
  const auto& table = board.table;
  const auto batches = table.batches.size();
  std::vector<Column> columns = {{"batch", true}};
  for (std::size_t i = 0; i < table.rows.size(); i += batches) columns.push_back({table.rows[i].name, true});
  Table grid(std::move(columns));
  for (std::size_t b = 0; b < batches; ++b) {
    std::vector<Cell> cells = {{std::to_string(table.batches[b]), Tone::strong}};
    for (std::size_t i = b, p = 0; i < table.rows.size(); i += batches, ++p) {
      const auto& row = table.rows[i];
      const bool knee = p < board.knees.size() && board.knees[p].batch == row.batch;
      if (row.prediction.fit == Fit::does_not_fit) {
        cells.push_back({"- ", Tone::faint});
        continue;
      }
      const bool uncertain = row.prediction.fit == Fit::uncertain;
      cells.push_back({figure(row.prediction.throughput.median) + (knee        ? "*"
                                                                   : uncertain ? "?"
                                                                               : " "),
                       knee        ? Tone::good
                       : uncertain ? Tone::warning
                                   : Tone::plain});
    }
    grid.add(std::move(cells));
  }
  return "  " + table.unit + "/s by batch\n" + grid.draw(look, kIndent);
}

const predict::TableRow* row_of(const predict::Table& table, std::string_view name, int batch) {
  const auto found =
      std::ranges::find_if(table.rows, [&](const auto& row) { return row.name == name && row.batch == batch; });
  return found == table.rows.end() ? nullptr : &*found;
}

std::string knee_table(const Look& look, const BoardPrediction& board) {
  Table table({{"profile"},
               {"knee at", true},
               {board.table.unit + "/s", true},
               {"of best", true},
               {"ms/step", true},
               {"bound by"},
               {"largest batch", true}});
  for (const auto& knee : board.knees) {
    const auto* row = knee.batch ? row_of(board.table, knee.name, *knee.batch) : nullptr;
    if (!row || !knee.largest_batch) {
      table.add({{knee.name, Tone::strong}, {"-"}, {"-"}, {"-"}, {"-"}, {"-"}, {"none fits", Tone::bad}});
      continue;
    }
    const bool more = knee.largest_batch == board.table.batches.back();
    table.add({{knee.name, Tone::strong},
               {std::to_string(row->batch), Tone::good},
               {figure(knee.throughput)},
               {fmt::format("{:.0f} %", 100 * knee.throughput / knee.best_throughput)},
               {figure(row->prediction.step_ms.median)},
               {std::string(predict::name(row->prediction.bound))},
               {std::to_string(*knee.largest_batch) + (more ? " or more" : "")}});
  }
  return table.draw(look, kIndent);
}

std::string paragraph(const Look& look, std::string_view text, Tone tone = Tone::plain) {
  const int columns = std::min(look.width, 100);
  return "  " + paint(look, tone, wrapped(printable(text), columns, 2, 2)) + '\n';
}

std::string choice_text(const Look& look, const api::PredictAnswer& answer, const BoardPrediction& board) {
  if (!board.choice || !board.choice->row) return {};
  const auto& row = board.table.rows[*board.choice->row];
  std::string at = answer.request.batch_range ? fmt::format(" at batch {}", row.batch) : "";
  std::string out =
      '\n' + paragraph(look,
                       fmt::format("{} is the smallest profile that delivers {}{}: {} {}/s, {} ms", row.name,
                                   need_in_words(answer), at, figure(row.prediction.throughput.median),
                                   board.table.unit, figure(row.prediction.step_ms.median)),
                       Tone::good);
  for (const auto& doubt : board.choice->doubts) out += paragraph(look, doubt, Tone::warning);
  for (const auto& reason : board.choice->rejected) out += paragraph(look, reason);
  return out + paragraph(look, board.choice->larger);
}

std::string percent(double spread) { return fmt::format("{:.1f} %", 100 * (std::exp(1.645 * spread) - 1)); }

std::string calibration_text(const Look& look, const BoardPrediction& board) {
  if (!board.calibration) return {};
  const auto& [file, points, found, next] = *board.calibration;
  std::string out =
      '\n' + paragraph(look, fmt::format("{}: your device takes {:.2f}, the memory {:.2f} and the host {:.2f} "
                                         "times as long as predicted without it",
                                         file, found.device, found.bandwidth, found.host));
  if (next)
    out += paragraph(look,
                     fmt::format("measure next: {} at batch {}; the mean 90 % interval would go from +{} to +{}",
                                 next->profile, next->batch, percent(next->spread_before), percent(next->spread_after)),
                     Tone::strong);
  else
    out += paragraph(look, "no single further point would narrow the intervals by much");
  return out;
}

std::string notes_text(const Look& look, const BoardPrediction& board) {
  std::vector<std::string> notes;
  for (const auto& row : board.table.rows)
    for (const auto& note : row.prediction.notes)
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
  std::string out;
  for (const auto& note : notes) out += paragraph(look, "note: " + note, Tone::faint);
  return out.empty() ? out : '\n' + out;
}

std::string legend(const api::PredictAnswer& answer) {
  if (answer.request.batch_range) return "\n  * knee: 90 % of the best   ? memory uncertain   - does not fit\n";
  return "\n  90 %: interval of throughput   uncertain: memory within 10 % of what there is\n";
}

double missing(const api::PredictRequest& request, const predict::Table& table, std::size_t row) {
  const auto& found = table.rows[row].prediction;
  if (found.fit == Fit::does_not_fit) return 1e9 + found.memory_mib.median / std::max(1.0, found.capacity_mib);
  double worst = 0;
  if (request.need.throughput) worst = std::max(worst, *request.need.throughput / found.throughput.median);
  if (request.need.latency_ms) worst = std::max(worst, found.step_ms.median / *request.need.latency_ms);
  return worst;
}

}  // namespace

std::string need_in_words(const api::PredictAnswer& answer) {
  const auto& need = answer.request.need;
  const std::string unit = answer.boards.empty() ? "samples" : answer.boards.front().table.unit;
  std::vector<std::string> parts;
  if (need.throughput) parts.push_back(fmt::format("{:.6g} {}/s", *need.throughput, unit));
  if (need.latency_ms) parts.push_back(fmt::format("a step of at most {:.6g} ms", *need.latency_ms));
  if (need.share) parts.push_back(fmt::format("{:.3g} % of the largest profile", 100 * *need.share));
  return join(parts, " and ");
}

std::string nearest_fit(const api::BoardPrediction& board) {
  const auto lack = [](const predict::TableRow& row) {
    return row.prediction.memory_mib.median / std::max(1.0, row.prediction.capacity_mib);
  };
  const auto& row = *std::ranges::min_element(board.table.rows, {}, lack);
  return fmt::format("{}: {} comes nearest: {} GiB at batch {}", board.board->id, row.name, memory_text(row.prediction),
                     row.batch);
}

std::string nearest_row(const api::PredictRequest& request, const api::BoardPrediction& board) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < board.table.rows.size(); ++i)
    if (missing(request, board.table, i) < missing(request, board.table, best)) best = i;
  const auto& row = board.table.rows[best];
  return fmt::format("{}: {} comes nearest at batch {}: {} {}/s, {} ms a step", board.board->id, row.name, row.batch,
                     figure(row.prediction.throughput.median), board.table.unit, figure(row.prediction.step_ms.median));
}

std::string draw_prediction(const Look& look, const api::PredictAnswer& answer) {
  std::string out = paint(look, Tone::strong, printable(answer.title)) + "  " + how_it_runs(answer.request) + '\n';
  for (const auto& board : answer.boards) {
    out += heading(look, board);
    out +=
        answer.request.batch_range ? batch_grid(look, board) + '\n' + knee_table(look, board) : rows_table(look, board);
    out += choice_text(look, answer, board) + calibration_text(look, board) + notes_text(look, board);
  }
  return out + paint(look, Tone::faint, legend(answer));
}

std::string draw_two_points(const Look& look, const api::TwoPointAnswer& answer) {
  std::string out = paint(look, Tone::strong, answer.board->id) +
                    fmt::format("  batch {}, from the two points of {}; no architecture is known\n\n",
                                answer.points.largest.batch, printable(answer.file));
  Table table({{"profile"}, {"ms/step", true}, {"90 %", true}, {"known as"}});
  for (const auto& row : answer.rows)
    table.add({{row.profile, Tone::strong},
               {figure(row.step_ms.median)},
               {row.measured ? "" : range(row.step_ms), Tone::faint},
               {row.measured ? "measured"
                : row.beyond ? "beyond the points: its interval"
                             : "predicted",
                row.measured ? Tone::good : Tone::plain}});
  return out + table.draw(look, kIndent);
}

std::string draw_workloads(const Look& look, const std::vector<api::WorkloadRow>& workloads) {
  Table table({{"workload"}, {"sample"}, {"tokens", true}, {"GMACs", true}, {"parameters", true}, {"title"}});
  for (const auto& each : workloads)
    table.add({{each.name, Tone::strong},
               {each.unit},
               {each.sequence ? std::to_string(*each.sequence) : ""},
               {figure(each.macs / 1e9)},
               {fmt::format("{:.1f} M", each.parameters / 1e6)},
               {each.title}});
  return table.draw(look);
}

}  // namespace partita::cli
