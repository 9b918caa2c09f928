// Memory does not depend on how long is simulated: not even the number of allocations does.
#include "study/simulator_cases.h"

namespace partita::study {

std::size_t bytes_allocated();  // counted_new_test.cpp

namespace {

using namespace cases;

std::size_t allocated(const Scenario& scenario) {
  const std::size_t before = bytes_allocated();
  run(scenario);
  return bytes_allocated() - before;
}

TEST(Simulator, MemoryIsFlatInSimulatedTime) {
  for (const Sharing sharing : {Sharing::exclusive, Sharing::time_slice, Sharing::mps, Sharing::vgpu_equal_share}) {
    Scenario s;
    s.servers = {server(sharing)};
    s.tenants = {poisson("a", 30, 0.01, 1), closed("b", 4, 0.2, 0.01, 0.5), poisson("c", 10, 0.01)};
    s.tenants[2].batching = {4, 0.01};
    s.tenants[2].service.batch_s = {0.01, 0.012, 0.014, 0.016};
    s.tenants[0].service.gpu_s = {0.004};
    s.duration_s = 500;
    const std::size_t brief = allocated(s);
    s.duration_s = 20'000;
    const std::size_t lasting = allocated(s);
    std::printf("[   FIGURE ] allocated in 500 s: %zu bytes, in 20,000 s: %zu bytes\n", brief, lasting);
    EXPECT_LT(lasting, brief + 16'384);  // longer queues, rarer latencies
  }
}

}  // namespace
}  // namespace partita::study
