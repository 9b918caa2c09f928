#include "fleet/online/online_mix.h"

#include <cmath>
#include <numeric>
#include <random>

namespace partita::fleet {

std::vector<Request> make_trace(const GpuStates& states, const Mix& mix, std::size_t requests, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };  // [0, 1)
  const double sum = std::accumulate(mix.shares.begin(), mix.shares.end(), 0.0);
  double slices = 0;  // of a request, in the mean
  for (std::size_t p = 0; p < mix.shares.size(); ++p) slices += mix.shares[p] / sum * states.memory_of(p);
  const double rate = mix.load * states.board().memory_slices * mix.gpus / slices;
  std::vector<Request> out(requests);
  double now = 0;
  for (auto& request : out) {
    now += -std::log1p(-uniform()) / rate;
    request.arrival = now;
    request.duration = -std::log1p(-uniform());
    double rest = uniform() * sum;
    while (request.profile + 1 < mix.shares.size() && rest >= mix.shares[request.profile])
      rest -= mix.shares[request.profile++];
    request.movable = uniform() < mix.movable;
  }
  return out;
}

}  // namespace partita::fleet
