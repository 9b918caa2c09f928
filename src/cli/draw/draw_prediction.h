// Predictions drawn for people: no input, no decisions.
#pragma once

#include <string>
#include <vector>

#include "api/predict.h"
#include "cli/draw/terminal.h"

namespace partita::cli {

std::string draw_prediction(const Look& look, const api::PredictAnswer& answer);
std::string draw_two_points(const Look& look, const api::TwoPointAnswer& answer);
std::string draw_workloads(const Look& look, const std::vector<api::WorkloadRow>& workloads);

// "250 images/s and a step of at most 20 ms".
std::string need_in_words(const api::PredictAnswer& answer);
// The partition of a board that lacks least memory: "a100-sxm4-40gb: 7g.40gb lacks least: 61.2 of 39.4 GiB at batch
// 512".
std::string nearest_fit(const api::BoardPrediction& board);
// The row that comes nearest to the need.
std::string nearest_row(const api::PredictRequest& request, const api::BoardPrediction& board);

}  // namespace partita::cli
