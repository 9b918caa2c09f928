// When a daemon may begin, and what it tells while nothing can be written.
#include <set>
#include <thread>

#include "node/lease_test_support.h"
#include "node/lock.h"
#include "node/paths.h"
#include "node/schema.h"

namespace partita::node {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Lets go of what is in its way once it tells that it waits.
struct LetGo final : Progress {
  explicit LetGo(Lock taken) : lock(std::move(taken)) {}
  void step(int, int, std::string_view) override {}
  void note(std::string_view line) override {
    told = line;
    lock.reset();
  }
  std::optional<Lock> lock;
  std::string told;
};

TEST(DaemonStart, WaitsForACommandThatHasTheNode) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  SilentProgress silent;
  LetGo let_go(value(take_lock(lock_file(world.options), "partita apply", true, {}, silent)));
  const auto daemon = open_daemon(world.catalog, world.clock, world.options, world.root.path() / "socket", &let_go);
  ASSERT_TRUE(daemon);
  EXPECT_THAT(let_go.told, HasSubstr("(partita apply)"));
}

TEST(DaemonStart, NamesAnotherDaemonAtOnce) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  const auto first = world.open_daemon();
  const auto second = open_daemon(world.catalog, world.clock, world.options, world.root.path() / "other");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_THAT(second.error().message, HasSubstr("it is a daemon, which answers at"));
}

// As on a disk that is full: nothing that was told gets lost, and nothing is told that is not so.
TEST(DaemonStart, TellsNothingThatCouldNotBeStored) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {"1g.5gb@0", "1g.5gb@1"}}}));
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("1g.5gb", "a")));
  auto other = value(Database::open(ledger_file(world.options), Database::Access::write, kMigrations));
  value(other.run("CREATE TRIGGER full BEFORE INSERT ON lease BEGIN SELECT RAISE(ABORT, 'no room'); END"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(daemon->lease(world.ask("1g.5gb", "b")).error().message, HasSubstr("no room"));
    EXPECT_FALSE(daemon->release(world.change("a")));
    const auto leases = value(daemon->leases({}));
    ASSERT_THAT(leases, SizeIs(1));
    EXPECT_EQ(leases[0].name, "a");
    EXPECT_EQ(leases[0].state, api::LeaseState::active);
    EXPECT_TRUE(leases[0].grant);
  }
  value(other.run("DROP TRIGGER full"));
  value(daemon->lease(world.ask("1g.5gb", "b")));
  EXPECT_THAT(value(daemon->leases({})), SizeIs(2));
  EXPECT_EQ(value(daemon->release(world.change("a"))).state, api::LeaseState::ended);
}

// What it is just making is not somebody else's, whoever looks and when.
TEST(DaemonStart, ShowsNothingOfItsOwnAsForeign) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  DaemonNode* asked = nullptr;
  std::set<std::string> foreign;
  int looks = 0;
  const auto look = [&](const layout::NodeState& state) {
    ++looks;
    for (const layout::GpuInstance& instance : state.gpus.at(0).instances)
      for (const layout::Pin& pin : instance.pins)
        if (pin.reason == layout::Pin::Reason::foreign) foreign.insert(pin.holder);
  };
  world.options.on_event = [&](std::string_view) {
    if (asked == nullptr) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(120));  // what was told last is old by then
    look(value(asked->status()).state);
    look(world.state());  // as a command sees it that asks no daemon
  };
  auto daemon = world.open_daemon();
  asked = daemon.get();
  value(daemon->lease(world.ask("3g.20gb", "a")));
  asked = nullptr;
  EXPECT_GT(looks, 2);
  EXPECT_EQ(foreign.size(), 0U) << *foreign.begin();
  world.make_foreign(0, "1g.5gb@0", false);
  for (int tries = 0; tries < 100 && foreign.empty(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    look(value(daemon->status()).state);
  }
  EXPECT_EQ(foreign.size(), 1U) << "others' are shown";
}

}  // namespace
}  // namespace partita::node
