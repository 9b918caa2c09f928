// What keeps one caller from taking everything: rates, streams; and what readers share.
#include <functional>

#include "serve/rate.h"
#include "serve/status_cache.h"
#include "serve/streams.h"
#include "serve/test_support.h"

namespace partita::serve {
namespace {

using std::chrono::milliseconds;

TEST(RateLimit, gives_bursts_and_fills_steadily) {
  ManualClock clock;
  RateLimit limit(clock, 10);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(limit.take("a")) << i;
  EXPECT_EQ(limit.take("a"), milliseconds(100));
  EXPECT_FALSE(limit.take("b"));
  clock.time += milliseconds(250);
  EXPECT_FALSE(limit.take("a"));
  EXPECT_FALSE(limit.take("a"));
  EXPECT_EQ(limit.take("a"), milliseconds(50));
  clock.time -= std::chrono::hours(1);  // a clock that is set back takes nothing away
  EXPECT_TRUE(limit.take("a"));
}

TEST(RateLimit, zero_is_no_limit) {
  ManualClock clock;
  RateLimit limit(clock, 0);
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(limit.take("a"));
}

TEST(RateLimit, forgets_callers_who_rest) {
  ManualClock clock;
  RateLimit limit(clock, 10);
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(limit.take(std::to_string(i)));
  clock.time += std::chrono::seconds(10);
  ASSERT_FALSE(limit.take("one more"));
}

TEST(Streams, are_bounded_for_all_and_for_each) {
  Streams streams(3, 2);
  auto a = value(streams.enter("a")), again = value(streams.enter("a"));
  EXPECT_EQ(streams.enter("a").error().code, ErrorCode::unavailable);
  auto b = value(streams.enter("b"));
  EXPECT_EQ(streams.enter("c").error().code, ErrorCode::unavailable);
  again.reset();
  EXPECT_EQ(streams.open(), 2);
  EXPECT_TRUE(streams.enter("c"));
}

TEST(StatusCache, reads_again_after_a_change_and_when_old) {
  NodeInMemory node;
  StatusCache cache(node);
  const auto first = value(cache.get());
  EXPECT_EQ(value(cache.get()), first);
  EXPECT_EQ(node.status_calls, 1);
  node.mode = true;
  cache.changed();
  const auto second = value(cache.get());
  EXPECT_NE(second->etag, first->etag);
  EXPECT_EQ(node.status_calls, 2);
}

TEST(StatusCache, many_readers_share_readings) {
  NodeInMemory node;
  StatusCache cache(node);
  constexpr int kThreads = 8, kReads = 200;
  std::vector<std::jthread> readers;
  for (int i = 0; i < kThreads; ++i)
    readers.emplace_back([&] {
      for (int n = 0; n < kReads; ++n) {
        cache.changed();
        ASSERT_TRUE(cache.get());
      }
    });
  readers.clear();
  EXPECT_LE(node.status_calls, kThreads * kReads);
}

TEST(Server, slows_down_a_user_and_not_an_administrator) {
  Options slow;
  slow.requests_per_second = 5;
  const RunningServer running(slow);
  if (::getuid() != 0) GTEST_SKIP() << "needs root to be an administrator";
  for (int i = 0; i < 50; ++i) ASSERT_THAT(running.ask("GET", "/v1/health"), ::testing::StartsWith("HTTP/1.1 200"));
}

TEST(Server, knows_users_by_the_kernel) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  Options slow;
  slow.requests_per_second = 5;
  const RunningServer running(slow);
  std::filesystem::permissions(running.folder.path(), std::filesystem::perms::all);
  EXPECT_TRUE(as_nobody([&] {
    const auto apply = running.ask("POST", "/v1/apply", R"({"demand": {"1g.5gb": 1}})");
    const auto spoofed = running.ask("POST", "/v1/leases",
                                     R"({"holder": {"uid": 0, "user": "root"}, "requirement": {"profile": "1g.5gb"}})");
    const auto lease = running.ask("POST", "/v1/leases", R"({"requirement": {"profile": "1g.5gb"}})");
    return apply.starts_with("HTTP/1.1 403") && spoofed.starts_with("HTTP/1.1 403") &&
           lease.find("\"uid\": 65534") != std::string::npos;
  }));
  EXPECT_TRUE(as_nobody([&] {
    for (int i = 0; i < 20; ++i)
      if (const auto answer = running.ask("GET", "/v1/health"); answer.starts_with("HTTP/1.1 429"))
        return answer.find("Retry-After: 1\r\n") != std::string::npos;
    return false;
  }));
}

}  // namespace
}  // namespace partita::serve
