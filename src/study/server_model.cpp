#include "study/server_model.h"

#include <algorithm>

namespace partita::study {

std::vector<double> frame_shares(Sharing sharing, const std::vector<Resident>& residents) {
  std::vector<double> shares;
  double sum = 0;
  for (const auto& resident : residents) sum += resident.weight;
  for (const auto& resident : residents)
    shares.push_back(sharing == Sharing::vgpu_fixed_share ? resident.weight / std::max(1.0, sum)
                                                          : 1 / static_cast<double>(residents.size()));
  return shares;
}

std::unique_ptr<ServerModel> make_server_model(const Server& server, const std::vector<Resident>& residents) {
  switch (server.sharing) {
    case Sharing::exclusive:
      return make_exclusive_server(residents.size());
    case Sharing::time_slice:
    case Sharing::vgpu_best_effort:
      return make_time_slice_server(residents.size(), server.quantum_s, server.switch_s);
    case Sharing::mps:
      return make_mps_server(residents, server.contention, server.saturation);
    case Sharing::vgpu_equal_share:
    case Sharing::vgpu_fixed_share:
      return make_frame_server(frame_shares(server.sharing, residents), server.quantum_s, server.switch_s);
  }
  return make_exclusive_server(residents.size());
}

}  // namespace partita::study
