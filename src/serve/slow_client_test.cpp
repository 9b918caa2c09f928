// Clients that are slow, or mean to be: they hold up nobody but themselves.
#include <fcntl.h>

#include <chrono>

#include "serve/test_support.h"

namespace partita::serve {
namespace {

using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kLease = R"({"requirement": {"profile": "1g.5gb"}})";

auto is(int status) { return StartsWith("HTTP/1.1 " + std::to_string(status) + " "); }

Options few_threads() {
  Options out;
  out.threads = 6;
  return out;
}

using Clients = std::vector<std::unique_ptr<RawClient>>;

Clients connect(const RunningServer& running, int count, const std::string& said) {
  Clients out;
  for (int i = 0; i < count; ++i) {
    out.push_back(std::make_unique<RawClient>(running.options.socket));
    out.back()->send(said);
  }
  return out;
}

void expect_prompt(const RunningServer& running) {
  const auto begun = steady_clock::now();
  EXPECT_THAT(running.ask("GET", "/v1/health"), is(200));
  EXPECT_THAT(running.ask("POST", "/v1/leases", kLease), is(201));
  EXPECT_LT(steady_clock::now() - begun, std::chrono::seconds(1));
}

std::string many(int count, const std::string& one) {
  std::string out;
  for (int i = 0; i < count; ++i) out += one;
  return out;
}

TEST(SlowClients, who_never_reads_holds_nobody_up) {
  const RunningServer running(few_threads());
  const auto clients = connect(running, 100, many(200, RunningServer::text("GET", "/v1/openapi")));
  expect_prompt(running);
}

TEST(SlowClients, who_never_ends_a_head_holds_nobody_up) {
  const RunningServer running(few_threads());
  auto clients = connect(running, 100, "GET /v1/health HTTP/1.1\r\nHo");
  for (const char byte : std::string("st: no"))
    for (auto& client : clients) client->send({byte});
  expect_prompt(running);
  clients.front()->send("de\r\n\r\n");
  EXPECT_THAT(clients.front()->answer(), is(200));
}

TEST(SlowClients, who_never_ends_a_body_holds_nobody_up) {
  const RunningServer running(few_threads());
  const auto whole = RunningServer::text("POST", "/v1/leases", kLease);
  auto clients = connect(running, 100, whole.substr(0, whole.size() - 5));
  for (auto& client : clients) client->send(whole.substr(whole.size() - 5, 3));
  expect_prompt(running);
  clients.front()->send(whole.substr(whole.size() - 2));
  EXPECT_THAT(clients.front()->answer(), is(201));
}

// One user's bodies of unknown length hold threads; others' threads they do not get.
TEST(SlowClients, who_holds_threads_leaves_some_to_others) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const RunningServer running(few_threads());
  std::filesystem::permissions(running.folder.path(), std::filesystem::perms::all);
  int holds[2], done[2];
  ASSERT_EQ(::pipe2(holds, O_CLOEXEC) + ::pipe2(done, O_CLOEXEC), 0);
  std::jthread other([&] {
    EXPECT_TRUE(as_nobody([&] {
      const auto clients = connect(running, 50,
                                   "POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\n"
                                   "Transfer-Encoding: chunked\r\n\r\n1\r\n");
      ::close(done[1]);
      char byte = 0;
      return ::write(holds[1], "h", 1) == 1 && ::read(done[0], &byte, 1) == 0;
    }));
  });
  char byte = 0;
  ASSERT_EQ(::read(holds[0], &byte, 1), 1);
  expect_prompt(running);
  for (const int end : {holds[0], holds[1], done[0], done[1]}) ::close(end);
}

TEST(SlowClients, answers_come_whole_however_late_they_are_taken) {
  const RunningServer running(few_threads());
  constexpr int kAnswers = 50;
  auto clients = connect(running, 1, many(kAnswers, RunningServer::text("GET", "/v1/openapi")));
  const auto whole = running.ask("GET", "/v1/openapi");
  for (int i = 0; i < kAnswers; ++i) ASSERT_EQ(clients.front()->answer(), whole) << i;
  clients.front()->send(RunningServer::text("GET", "/v1/health"));
  EXPECT_THAT(clients.front()->answer(), is(200));
}

TEST(SlowClients, a_server_that_ends_does_not_wait_for_who_never_reads) {
  RunningServer running(few_threads());
  const auto clients = connect(running, 100, many(200, RunningServer::text("GET", "/v1/openapi")));
  expect_prompt(running);
  const auto begun = steady_clock::now();
  running.stop();
  EXPECT_LT(steady_clock::now() - begun, std::chrono::seconds(5));
  EXPECT_TRUE(running.result.has_value());
}

TEST(SlowClients, an_answer_refused_before_its_body_comes_whole) {
  const RunningServer running;
  RawClient client(running.options.socket);
  client.send("POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n{");
  EXPECT_THAT(client.answer(), is(413));
  EXPECT_TRUE(client.ended());
}

// Most send it whole before they look.
TEST(SlowClients, who_sends_a_body_that_is_refused_reads_why) {
  const RunningServer running;
  RawClient client(running.options.socket);
  client.send("POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n");
  int sent = 0;
  for (; sent < 50 && client.send(std::string(100'000, ' ')); ++sent)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(sent, 50);
  EXPECT_THAT(client.answer(), is(413));
  EXPECT_TRUE(client.ended());
}

// Not even on a thread that has nothing else to do.
TEST(SlowClients, who_goes_on_after_a_refusal_is_ended_in_time) {
  const RunningServer running;
  RawClient client(running.options.socket);
  client.send("POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n");
  const auto begun = steady_clock::now();
  while (client.send(" ") && steady_clock::now() - begun < std::chrono::seconds(6))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_LT(steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST(SlowClients, who_waits_to_be_told_to_send_the_body_is_told) {
  const RunningServer running;
  RawClient client(running.options.socket);
  const auto begun = steady_clock::now();
  client.send("POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: " +
              std::to_string(kLease.size()) + "\r\n\r\n");
  EXPECT_THAT(client.receive("\r\n\r\n"), is(100));
  client.send(kLease);
  EXPECT_THAT(client.answer(), is(201));
  EXPECT_LT(steady_clock::now() - begun, std::chrono::seconds(2));
}

TEST(SlowClients, who_connects_without_end_holds_nobody_up) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const RunningServer running;
  std::filesystem::permissions(running.folder.path(), std::filesystem::perms::all);
  const auto end = steady_clock::now() + std::chrono::seconds(2);
  std::vector<std::jthread> flood;
  for (int i = 0; i < 3; ++i)
    flood.emplace_back([&] {
      EXPECT_TRUE(as_nobody([&] {
        while (steady_clock::now() < end) const RawClient one(running.options.socket);
        return true;
      }));
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  expect_prompt(running);
}

TEST(SlowClients, of_too_many_connections_the_oldest_idle_ones_go) {
  Options few;
  few.connections = 20;  // fifteen for one user alone
  const RunningServer running(few);
  auto clients = connect(running, 40, "");
  EXPECT_TRUE(clients.front()->ended());
  clients.back()->send(RunningServer::text("GET", "/v1/health"));
  EXPECT_THAT(clients.back()->answer(), is(200));
  if (::getuid() != 0) return;
  std::filesystem::permissions(running.folder.path(), std::filesystem::perms::all);
  EXPECT_TRUE(as_nobody([&] { return running.ask("GET", "/v1/health").starts_with("HTTP/1.1 200 "); }));
  clients.back()->send(RunningServer::text("GET", "/v1/health"));
  EXPECT_THAT(clients.back()->answer(), is(200)) << "another user's connection takes none of root's";
}

// Each holds almost a megabyte.
TEST(SlowClients, of_too_much_that_is_kept_the_oldest_goes) {
  const RunningServer running;
  const auto whole = RunningServer::text("POST", "/v1/leases", std::string((1u << 20) - 100, ' ') + kLease);
  auto clients = connect(running, 60, whole.substr(0, whole.size() - 1));
  EXPECT_TRUE(clients.front()->ended());
  clients.back()->send("}");
  EXPECT_THAT(clients.back()->answer(), is(201));
}

}  // namespace
}  // namespace partita::serve
