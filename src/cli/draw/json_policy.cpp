// How policies served a trace, for programs.
#include <nlohmann/json.hpp>

#include "cli/draw/policy_answer.h"

namespace partita::cli {

using Json = nlohmann::ordered_json;

namespace {

Json known(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json run_json(const PolicyAnswer& answer, const PolicyRun& run) {
  const auto sum = totals(answer, run);
  Json out{{"policy", run.name},
           {"asked", sum.asked},
           {"accepted", sum.accepted},
           {"accepted_requests", sum.requests},
           {"accepted_memory_slices", sum.slices},
           {"waited", sum.waited},
           {"mean_wait_s", sum.mean_wait},
           {"p99_wait_s", sum.long_wait},
           {"moves", run.result.moves},
           {"memory_slices_in_use", known(sum.used)},
           {"fragmentation", known(sum.fragmentation)},
           {"profiles", Json::array()},
           {"samples", Json::array()}};
  for (std::size_t p = 0; p < run.result.profiles.size(); ++p) {
    const auto& served = run.result.profiles[p];
    const auto& profile = profile_of(answer, p);
    out["profiles"].push_back({{"profile", profile.name},
                               {"memory_slices", profile.memory_slices},
                               {"asked", served.asked},
                               {"accepted", served.accepted},
                               {"waited", served.waited},
                               {"wait_s", served.waiting}});
  }
  for (const auto& sample : run.result.samples)
    out["samples"].push_back({{"time_s", sample.time},
                              {"waiting", sample.waiting},
                              {"memory_slices_in_use", sample.used},
                              {"fragmentation", sample.fragmentation}});
  return out;
}

}  // namespace

std::string to_json(const PolicyAnswer& answer) {
  Json out{{"simulated", true},
           {"trace", answer.file},
           {"board", answer.board->id},
           {"gpus", answer.gpus},
           {"requests", answer.trace.requests.size()},
           {"rows_without_gpu", answer.trace.without_gpu},
           {"rows_for_several_gpus", answer.trace.split},
           {"offered_load", known(offered_load(answer))},
           {"patience_s", answer.patience},
           {"move_pause_s", known(answer.pause)},
           {"runs", Json::array()}};
  for (const auto& run : answer.runs) out["runs"].push_back(run_json(answer, run));
  return out.dump(2) + "\n";
}

}  // namespace partita::cli
