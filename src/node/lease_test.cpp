// Leases on an emulated node, without a daemon and with one.
#include <thread>

#include "node/lease_test_support.h"

namespace partita::node {
namespace {

using api::LeaseState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Lease, CutsGivesAndReleases) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 2}]\n");
  world.must_apply(world.exactly({{0, {}}, {1, {}}}));
  auto node = world.open();
  const api::Lease lease = value(node->lease(world.ask("1g.5gb", "a"))).at(0);
  EXPECT_EQ(lease.state, LeaseState::active);
  EXPECT_TRUE(lease.recut);
  ASSERT_TRUE(lease.grant);
  ASSERT_THAT(lease.grant->devices, SizeIs(1));
  EXPECT_EQ(lease.grant->devices[0].profile, "1g.5gb");
  EXPECT_EQ(lease.grant->cuda_visible_devices, lease.grant->devices[0].uuid);
  EXPECT_THAT(lease.grant->nodes, SizeIs(5));
  EXPECT_THAT(value(node->leases({})), SizeIs(1));
  EXPECT_THAT(world.pins(0), ElementsAre(HasSubstr("lease a (root")));

  const api::Lease ended = value(node->release(world.change("a")));
  EXPECT_EQ(ended.state, LeaseState::ended);
  EXPECT_EQ(ended.cause, "released by root");
  EXPECT_THAT(value(node->leases({})), IsEmpty());
  EXPECT_THAT(world.pins(0), IsEmpty());
  // The instance stays, idle, and serves the next.
  const api::Lease next = value(node->lease(world.ask("1g.5gb", "b"))).at(0);
  EXPECT_FALSE(next.recut);
  EXPECT_EQ(next.grant->devices[0].uuid, lease.grant->devices[0].uuid);
}

TEST(LeaseDaemon, ServesManyThreads) {
  LeaseWorld world("dgx-a100");
  std::map<int, std::vector<std::string>> empty;
  for (int gpu = 0; gpu < 8; ++gpu) empty[gpu] = {};
  world.must_apply(world.exactly(empty));
  auto daemon = world.open_daemon();
  EXPECT_EQ(daemon_socket(world.options), world.root.path() / "socket");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int n = 0; n < 20; ++n) {
        const std::string name = "t" + std::to_string(t);
        auto leases = daemon->lease(world.ask(n % 3 == 0 ? "2g.10gb" : "1g.5gb", name));
        ASSERT_TRUE(leases) << all_of(leases.error());
        EXPECT_EQ(leases->at(0).state, LeaseState::active);
        auto ended = daemon->release(world.change(name));
        ASSERT_TRUE(ended) << all_of(ended.error());
        EXPECT_EQ(ended->state, LeaseState::ended);
      }
    });
  threads.clear();
  EXPECT_THAT(value(daemon->leases({})), IsEmpty());
  api::LeaseQuery ended;
  ended.ended = true;
  EXPECT_THAT(value(daemon->leases(ended)), SizeIs(160));
  daemon.reset();
  EXPECT_THAT(value(world.open()->leases(ended)), SizeIs(160));
  EXPECT_EQ(daemon_socket(world.options), std::nullopt);
}

}  // namespace
}  // namespace partita::node
