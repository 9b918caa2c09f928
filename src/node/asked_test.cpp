// Requests with a key: asked again, the same leases are answered.
#include "node/lease_test_support.h"

namespace partita::node {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

api::LeaseRequest once(api::LeaseRequest request, const std::string& key, const std::string& text) {
  request.once = api::Once{key, text};
  return request;
}

TEST(Asked, TheSameKeyGivesTheSameLeases) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  api::LeaseRequest request = once(world.ask("1g.5gb"), "alice k1", "two of 1g");
  request.count = 2;
  const auto first = value(daemon->lease(request));
  for (int restart = 0; restart < 2; ++restart) {
    const auto again = value(daemon->lease(request));
    ASSERT_THAT(again, SizeIs(2));
    for (std::size_t i : {0U, 1U}) {
      EXPECT_EQ(again[i].id, first[i].id);
      EXPECT_EQ(again[i].state, api::LeaseState::active);
    }
    EXPECT_THAT(value(daemon->leases({})), SizeIs(2));
    daemon.reset();
    daemon = world.open_daemon();
  }
  // Of another text, or by another: another request.
  EXPECT_EQ(daemon->lease(once(world.ask("1g.5gb"), "alice k1", "one of 1g")).error().code, ErrorCode::invalid);
  EXPECT_GT(value(daemon->lease(once(world.ask("1g.5gb"), "bob k1", "two of 1g"))).at(0).id, first[1].id);
}

TEST(Asked, WhatHasEndedMeanwhileIsToldAsEnded) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  const auto request = once(world.ask("1g.5gb"), "alice k1", "t");
  const std::string name = value(daemon->lease(request)).at(0).name;
  value(daemon->release(world.change(name)));
  daemon.reset();
  daemon = world.open_daemon();
  const api::Lease ended = value(daemon->lease(request)).at(0);
  EXPECT_EQ(ended.state, api::LeaseState::ended);
  EXPECT_THAT(ended.cause, HasSubstr("released"));
  EXPECT_THAT(value(daemon->leases({})), SizeIs(0));
  world.clock.time += kAskedKept + std::chrono::hours(1);
  value(daemon->lease(once(world.ask("1g.5gb"), "alice k2", "t")));  // forgets what is old
  EXPECT_EQ(value(daemon->lease(request)).at(0).state, api::LeaseState::active);
}

// It changed nothing: the next try may succeed.
TEST(Asked, ARefusalIsNotKept) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("7g.40gb", "whole")));
  auto request = once(world.ask("1g.5gb"), "alice k1", "t");
  request.no_wait = true;
  EXPECT_EQ(daemon->lease(request).error().code, ErrorCode::no_space);
  value(daemon->release(world.change("whole")));
  EXPECT_EQ(value(daemon->lease(request)).at(0).state, api::LeaseState::active);
}

// One that waits keeps its place.
TEST(Asked, WhoWaitsKeepsTheirPlace) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("7g.40gb", "whole")));
  const auto request = once(world.ask("1g.5gb"), "alice k1", "t");
  const std::int64_t id = value(daemon->lease(request)).at(0).id;
  daemon.reset();
  daemon = world.open_daemon();
  EXPECT_EQ(value(daemon->lease(request)).at(0).id, id);
  EXPECT_THAT(value(daemon->leases({})), SizeIs(2));
}

// If-Match and the like: asked once the node is ours, before anything is touched.
TEST(OnlyIf, AnErrorOfItEndsAnApplyThatDidNothing) {
  EmulatedWorld world("a30x2");
  auto request = world.cut("[0]", "\"1g.6gb\": 4", {.hooks = {}});
  bool asked = false;
  request.only_if = [&](const layout::NodeState& state) -> Result<void> {
    asked = state.gpus.size() == 2;
    return fail(ErrorCode::differs, "another one was faster");
  };
  const auto refused = world.apply(request);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(asked);
  EXPECT_EQ(refused.error().code, ErrorCode::differs);
  EXPECT_EQ(world.draw(0), "off");
}

}  // namespace
}  // namespace partita::node
