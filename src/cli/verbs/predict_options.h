// What partita predict is asked for, read from its options. Inside the verb_predict*.cpp files only.
#pragma once

#include <memory>
#include <vector>

#include "api/predict.h"
#include "cli/common.h"
#include "predict/constants.h"

namespace partita::cli {

// Constants of --constants, or those of this program.
Result<predict::Constants> constants_of(const Parsed& parsed);

// Settings, batches and needs. Points into `constants`, which must stay.
Result<api::PredictRequest> predict_request(const Parsed& parsed, const predict::Constants& constants);

// WORKLOAD: a shipped name, a file, or - for standard input.
Result<predict::Workload> workload_of(const Parsed& parsed, std::optional<int> sequence);

// --board, or the boards of --emulate or of this machine, each once.
Result<std::vector<std::shared_ptr<const catalog::Board>>> boards_of(const Parsed& parsed);

// The rows of --measured for this board and workload ("": of any), and in words what was not used.
struct MeasuredPoints {
  std::vector<predict::Point> points;
  std::vector<std::string> notes;
};
// Columns profile, batch, and latency_ms or throughput; `board`, `workload` and the settings fill in what the
// documented format asks beside these.
Result<MeasuredPoints> measured_points(const std::string& path, const catalog::Board& board,
                                       const std::string& workload, const api::PredictRequest& request);

}  // namespace partita::cli
