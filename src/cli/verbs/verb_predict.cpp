// partita predict: what each partition would deliver.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/json.h"
#include "base/text.h"
#include "cli/draw/draw_prediction.h"
#include "cli/verbs/predict_options.h"
#include "cli/verbs/run.h"

namespace partita::cli {
namespace {

using api::BoardPrediction;

Result<int> list(const Parsed& parsed, Format format) {
  if (parsed.flag("WORKLOAD"))
    return fail(ErrorCode::invalid, "predict --list lists all shipped workloads: leave WORKLOAD out");
  std::vector<api::WorkloadRow> rows;
  for (const auto& entry : predict::shipped_workloads()) {
    const auto workload = TRY(predict::shipped_workload(entry.name));
    api::WorkloadRow row{entry.name,          entry.title, workload.unit, predict::totals(workload.operations).macs,
                         workload.parameters, std::nullopt};
    if (workload.has_sequence) row.sequence = workload.default_sequence;
    rows.push_back(std::move(row));
  }
  if (format == Format::table)
    TRY_VOID(print(draw_workloads(output_look(parsed), rows)));
  else
    TRY_VOID(print_json(format, api::to_json(rows)));
  return 0;
}

// Own points applied: the factors, and where one more point would help most.
Result<api::AppliedCalibration> calibrated(const Parsed& parsed, const predict::Predictor& predictor,
                                           const predict::Workload& workload, const api::PredictRequest& request,
                                           const catalog::Board& board) {
  const auto path = parsed.text("measured").value_or("");
  const auto measured = TRY(measured_points(path, board, workload.name, request));
  auto calibration = TRY(predict::calibrate(predictor, measured.points));
  calibration.notes.insert(calibration.notes.end(), measured.notes.begin(), measured.notes.end());
  return api::AppliedCalibration{path, measured.points.size(), std::move(calibration), std::nullopt};
}

std::optional<api::NextMeasurement> measure_next(const predict::Predictor& predictor, const predict::Table& table,
                                                 const predict::Calibration& calibration) {
  std::vector<predict::Point> places;
  std::vector<const predict::TableRow*> rows;
  for (const auto& row : table.rows)
    if (row.prediction.fit == predict::Fit::fits) {
      places.push_back({row.partition, row.batch, 0});
      rows.push_back(&row);
    }
  const auto next = predict::next_point(predictor, places, calibration);
  // Points that contradict each other: one more settles nothing.
  constexpr double kWorthIt = 0.999;
  if (!next || next->spread_after > kWorthIt * next->spread_before) return std::nullopt;
  const auto& row = *rows[next->place];
  return api::NextMeasurement{row.name, row.batch, next->spread_before, next->spread_after};
}

Result<BoardPrediction> predict_board(const Parsed& parsed, const predict::Constants& constants,
                                      const predict::Workload& workload, const api::PredictRequest& request,
                                      std::shared_ptr<const catalog::Board> board) {
  BoardPrediction out;
  predict::Calibration calibration;
  const auto predictor =
      TRY(predict::Predictor::make(constants, workload, request.settings, *board, request.query.host));
  if (parsed.flag("measured")) {
    out.calibration = TRY(calibrated(parsed, predictor, workload, request, *board));
    calibration = out.calibration->calibration;
  }
  out.table = TRY(predict::predict_table(constants, workload, request.settings, *board, request.query, calibration));
  if (out.calibration) out.calibration->next = measure_next(predictor, out.table, calibration);
  if (request.batch_range) out.knees = predict::knees(out.table);
  if (request.needs()) out.choice = TRY(predict::smallest_that_meets(out.table, request.need));
  out.board = std::move(board);
  return out;
}

// Exit status 3, where nothing fits or meets the need: what is nearest.
std::optional<Error> unmet(const api::PredictAnswer& answer, Format format) {
  const auto fits = [](const BoardPrediction& each) {
    return std::ranges::any_of(each.table.rows,
                               [](const auto& row) { return row.prediction.fit != predict::Fit::does_not_fit; });
  };
  const auto meets = [](const BoardPrediction& each) { return each.choice && each.choice->row; };
  const auto name = answer.title;
  if (std::ranges::none_of(answer.boards, fits)) {
    Error error{ErrorCode::impossible, name + " fits on no profile", {}};
    for (const auto& each : answer.boards) error.details.push_back(nearest_fit(each));
    return error;
  }
  if (!answer.request.needs() || std::ranges::any_of(answer.boards, meets)) return std::nullopt;
  Error error{ErrorCode::impossible, fmt::format("no profile delivers {} with {}", need_in_words(answer), name), {}};
  for (const auto& each : answer.boards) {
    error.details.push_back(nearest_row(answer.request, each));
    if (format == Format::table) continue;  // the table says the rest
    for (const auto& reason : each.choice->rejected) error.details.push_back(reason);
  }
  return error;
}

// No architecture: the times on the largest and the smallest profile give those between.
Result<int> two_points(const Parsed& parsed, Format format) {
  for (const auto* option : {"batch", "training", "sequence", "precision", "framework", "copy-inside", "throughput",
                             "latency", "share", "compute-instances"})
    if (parsed.flag(option))
      return fail(ErrorCode::invalid,
                  fmt::format("option --{} needs a WORKLOAD: two points alone say nothing about it", option));
  const auto constants = TRY(constants_of(parsed));
  const auto request = TRY(predict_request(parsed, constants));
  const auto boards = TRY(boards_of(parsed));
  if (boards.size() > 1) return fail(ErrorCode::invalid, "this node has several boards: choose one with --board");
  api::TwoPointAnswer answer{boards.front(), parsed.text("measured").value_or(""), {}, {}};
  const auto points = TRY(measured_points(answer.file, *answer.board, "", request)).points;
  if (points.size() != 2)
    return fail(ErrorCode::invalid,
                fmt::format("{}: without a WORKLOAD, expected two points of one batch (the largest and the smallest "
                            "profile), found {}",
                            answer.file, count_of(points.size(), "point")));
  const auto size = [&](const predict::Point& point) -> Result<double> {
    return TRY(predict::device_of(constants, point.partition)).multiprocessors;
  };
  const double first = TRY(size(points[0])), second = TRY(size(points[1]));
  answer.points = {points[first < second], points[first >= second]};
  const auto beyond = [&](const predict::Partition& partition) -> Result<bool> {
    const double here = TRY(predict::device_of(constants, partition)).multiprocessors;
    return here < std::min(first, second) || here > std::max(first, second);
  };
  for (std::size_t i = 0; i < answer.board->profiles.size(); ++i) {
    auto partition = points[0].partition;
    partition.profile = static_cast<int>(i);
    partition.compute.reset();
    const auto name = predict::partition_name(partition);
    const auto estimate = TRY(predict::from_two_points(constants, answer.points, partition));
    const auto point = std::ranges::find_if(points, [&](const auto& each) { return each.partition.profile == i; });
    if (std::ranges::any_of(answer.rows, [&](const auto& row) { return row.step_ms.median == estimate.median; }) &&
        point == points.end() && name.find('+') != std::string::npos)
      continue;  // differs in media engines only
    if (point == points.end())
      answer.rows.push_back({name, false, TRY(beyond(partition)), estimate});
    else
      answer.rows.push_back({name, true, false, {point->step_ms, point->step_ms, point->step_ms}});
  }
  if (format == Format::table)
    TRY_VOID(print(draw_two_points(output_look(parsed), answer)));
  else
    TRY_VOID(print_json(format, api::to_json(answer)));
  return 0;
}

}  // namespace

Result<int> run_predict(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  if (parsed.flag("list")) return list(parsed, format);
  if (!parsed.flag("WORKLOAD") && parsed.flag("measured")) return two_points(parsed, format);
  const auto constants = TRY(constants_of(parsed));
  api::PredictAnswer answer;
  answer.request = TRY(predict_request(parsed, constants));
  const auto workload = TRY(workload_of(parsed, answer.request.settings.sequence));
  answer.workload = workload.name;
  answer.title = workload.title;
  if (workload.has_sequence && !answer.request.settings.sequence)
    answer.request.settings.sequence = workload.default_sequence;
  for (auto& board : TRY(boards_of(parsed)))
    answer.boards.push_back(TRY(predict_board(parsed, constants, workload, answer.request, std::move(board))));
  auto error = unmet(answer, format);
  if (format == Format::table)
    TRY_VOID(print(draw_prediction(output_look(parsed), answer)));
  else if (!error)
    TRY_VOID(print_json(format, api::to_json(answer)));
  if (error) return std::unexpected(*std::move(error));
  return 0;
}

}  // namespace partita::cli
