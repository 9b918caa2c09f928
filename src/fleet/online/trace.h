// A trace of requests as text: who came when, for how long, and how much of a GPU. Text in, struct out.
//
// Columns arrival (seconds, at least 0), duration (seconds) and profile, perhaps movable (true or false). Other files
// are read by a mapping from these words to their columns, "arrival=creation_time,end=deletion_time,...", with
//   end     instead of duration, when it ended
//   share   instead of profile, how much of a GPU, above 0 to 1: the smallest profile without attributes that has at
//   least
//           this share of the board's compute slices and of its memory slices; "share=gpu_milli/1000" divides
//   gpus    how many: rows with 0 ask for no GPU and are left out, rows with several are as many requests for a whole
//   GPU
// "openb" is the mapping for Alibaba's GPU trace of 2023
// (github.com/alibaba/clusterdata, cluster-trace-gpu-v2023, openb_pod_list_*.csv).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "catalog/board.h"
#include "fleet/online/online_run.h"

namespace partita::fleet {

struct TraceColumn {
  std::string name;  // "": not there
  double divisor = 1;
};
struct TraceColumns {
  TraceColumn arrival{"arrival"}, duration{"duration"}, end, profile{"profile"}, share, gpus, movable;
};
// `invalid` names the word that is wrong.
Result<TraceColumns> parse_trace_columns(std::string_view text);

struct Trace {
  std::vector<int> profiles;      // those asked for, ascending: indices in Board::profiles
  std::vector<Request> requests;  // by arrival; Request::profile is a position in `profiles`
  std::size_t without_gpu = 0;    // rows left out
  std::size_t split = 0;          // rows that became several requests
  bool by_share = false;          // sizes were shares of a GPU
};

inline constexpr std::size_t kMostRequests = 2'000'000;
inline constexpr std::size_t kMostTraceBytes = std::size_t{512} << 20;

// `invalid` names file, line and column: cells that are empty or no numbers, negative times, an end before the arrival,
// a share out of range, more than kMostRequests. `not_found`: profiles that the board does not have.
Result<Trace> read_trace(std::string_view text, const std::string& file, const catalog::Board& board,
                         const TraceColumns& columns);

// The profile for a share of a GPU, or nullopt when no profile is that large.
std::optional<int> profile_for(const catalog::Board& board, double share);

}  // namespace partita::fleet
