#include "cli/verbs/fleet_predict.h"

#include <cmath>
#include <map>
#include <set>

#include "predict/constants.h"
#include "predict/library.h"
#include "predict/model.h"

namespace partita::cli {
namespace {

constexpr double kSigmasOfInterval = 1.645;  // a prediction's interval holds 90 %

std::vector<int> plain_profiles(const catalog::Board& board) {
  std::vector<int> out;
  for (std::size_t p = 0; p < board.profiles.size(); ++p)
    if (board.profiles[p].attributes == catalog::Attributes{}) out.push_back(static_cast<int>(p));
  return out;
}

// Each board of the fleet once.
std::vector<const catalog::Board*> boards_of(const fleet::Fleet& fleet) {
  std::vector<const catalog::Board*> out;
  std::set<std::string> seen;
  for (const auto& kind : fleet.kinds)
    if (seen.insert(kind.board->id).second) out.push_back(kind.board.get());
  return out;
}

// The points of one board are those of the least profile of each size: that is what serves.
bool least_of_its_size(const catalog::Board& board, int p) {
  const auto& one = board.profiles[static_cast<std::size_t>(p)];
  for (const int q : plain_profiles(board)) {
    const auto& other = board.profiles[static_cast<std::size_t>(q)];
    if (other.compute_slices == one.compute_slices && other.memory_slices < one.memory_slices) return false;
  }
  return true;
}

Result<void> points_on(const catalog::Board& board, const std::string& model, const predict::Constants& constants,
                       const predict::Workload& workload, std::vector<fleet::ServicePoint>& into) {
  for (int processes = 1; processes <= 3; ++processes) {
    predict::Settings settings;
    settings.processes = processes;
    const auto predictor = TRY(predict::Predictor::make(constants, workload, settings, board));
    for (const int p : plain_profiles(board)) {
      if (!least_of_its_size(board, p)) continue;
      for (int batch = 1; batch <= 64; batch *= 2) {
        predict::Partition partition;
        partition.board = &board;
        partition.profile = p;
        partition.busy_neighbours = 1;  // the plan fills the GPU
        const auto made = TRY(predictor.predict(partition, batch));
        if (made.fit != predict::Fit::fits) break;
        into.push_back({model, board.id, board.profiles[static_cast<std::size_t>(p)].compute_slices, batch, processes,
                        made.throughput.median, made.step_ms.median,
                        std::log(made.step_ms.high / made.step_ms.median) / kSigmasOfInterval});
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<fleet::ServicePoint>> predicted_points(const fleet::DemandFile& file, const fleet::Fleet& fleet) {
  const auto constants = TRY(predict::shipped_constants());
  std::vector<fleet::ServicePoint> out;
  std::set<std::string> done;
  for (const auto& service : file.services) {
    if (!done.insert(service.model).second) continue;
    const auto workload = TRY(predict::shipped_workload(service.model));
    for (const auto* board : boards_of(fleet)) TRY_VOID(points_on(*board, service.model, *constants, workload, out));
  }
  return out;
}

Result<void> predict_jobs(fleet::BatchFile& file, const fleet::Fleet& fleet) {
  if (file.predicted.empty()) return {};
  const auto constants = TRY(predict::shipped_constants());
  using What = std::tuple<std::string, bool, int>;
  std::map<What, std::vector<fleet::JobWay>> rates;  // seconds: of one sample
  for (const auto& work : file.predicted) {
    auto [at, fresh] = rates.try_emplace(What{work.workload, work.training, work.batch});
    if (fresh) {
      const auto workload = TRY(predict::shipped_workload(work.workload));
      predict::Settings settings;
      settings.mode = work.training ? predict::Mode::training : predict::Mode::inference;
      settings.batch = work.batch;
      for (std::size_t k = 0; k < fleet.kinds.size(); ++k) {
        const auto& board = *fleet.kinds[k].board;
        const auto predictor = TRY(predict::Predictor::make(*constants, workload, settings, board));
        for (const int p : plain_profiles(board)) {
          predict::Partition partition;
          partition.board = &board;
          partition.profile = p;
          partition.busy_neighbours = 1;
          const auto made = TRY(predictor.predict(partition, work.batch));
          if (made.fit == predict::Fit::fits)
            at->second.push_back({static_cast<int>(k), p, 1 / made.throughput.median});
        }
      }
    }
    auto& job = file.jobs[work.job];
    job.ways = at->second;
    for (auto& way : job.ways) way.seconds *= work.samples;
    if (job.ways.empty())
      return fail(ErrorCode::impossible, "job " + job.name + ": " + work.workload +
                                             " fits on no profile of the fleet with batch " +
                                             std::to_string(work.batch));
    for (const auto& way : job.ways)
      if (way.seconds > fleet::kMostSeconds)
        return fail(ErrorCode::invalid, "job " + job.name + " would take more than 1e7 s: split it up");
  }
  return {};
}

}  // namespace partita::cli
