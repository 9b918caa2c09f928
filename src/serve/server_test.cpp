#include "serve/server.h"

#include "serve/test_support.h"

namespace partita::serve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kLease = R"({"requirement": {"profile": "1g.5gb"}})";

auto is(int status) { return StartsWith("HTTP/1.1 " + std::to_string(status) + " "); }

TEST(Server, serves_the_node_on_its_socket) {
  const RunningServer running;
  EXPECT_THAT(running.ask("GET", "/v1/gpus"), AllOf(is(200), HasSubstr("GPU-0"), HasSubstr("ETag: ")));
  EXPECT_THAT(running.ask("GET", "/v1/layouts"), AllOf(is(200), HasSubstr("mig-configs")));
  EXPECT_THAT(running.ask("GET", "/v1/health"), AllOf(is(200), HasSubstr("ok")));
  EXPECT_THAT(running.ask("GET", "/v1/policy"), is(200));
  EXPECT_THAT(running.ask("GET", "/v1/doctor"), is(200));
  EXPECT_THAT(running.ask("GET", "/v1/openapi"), AllOf(is(200), HasSubstr("openapi: 3.1")));
  EXPECT_THAT(running.ask("GET", "/metrics"), AllOf(is(200), HasSubstr("partita_leases{state=\"active\"} 0")));
  auto client = running.connect();
  client.send(RunningServer::text("HEAD", "/v1/health"));
  EXPECT_THAT(client.receive("\r\n\r\n"), AllOf(is(200), HasSubstr("Content-Length: "), Not(HasSubstr("status"))));
}

TEST(Server, leases_and_releases) {
  const RunningServer running;
  EXPECT_THAT(running.ask("POST", "/v1/leases", R"({"name": "a", "requirement": {"profile": "1g.5gb"}})"),
              AllOf(is(201), HasSubstr("Location: /v1/leases/a\r\n"), HasSubstr("\"active\"")));
  EXPECT_THAT(running.ask("GET", "/v1/leases"), AllOf(is(200), HasSubstr("\"a\"")));
  EXPECT_THAT(running.ask("GET", "/v1/leases/a"), AllOf(is(200), HasSubstr("\"a\"")));
  EXPECT_THAT(running.ask("GET", "/v1/leases/aa"), AllOf(is(404), HasSubstr("did you mean a?")));
  EXPECT_THAT(running.ask("POST", "/v1/leases/a/renew", R"({"duration_ms": 1000})"), AllOf(is(409), HasSubstr("busy")));
  EXPECT_THAT(running.ask("DELETE", "/v1/leases/a"), AllOf(is(200), HasSubstr("\"ended\"")));
  EXPECT_THAT(running.ask("DELETE", "/v1/leases/a"), is(404));
}

TEST(Server, answers_many_requests_on_one_connection) {
  const RunningServer running;
  auto client = running.connect();
  for (int i = 0; i < 100; ++i) {
    client.send(RunningServer::text("POST", "/v1/leases", kLease));
    ASSERT_THAT(client.answer(), is(201)) << i;
    client.send(RunningServer::text("GET", "/v1/health"));
    ASSERT_THAT(client.answer(), is(200)) << i;
  }
  const auto one = RunningServer::text("GET", "/v1/health");
  client.send(one + one + one);  // without waiting for answers
  for (int i = 0; i < 3; ++i) EXPECT_THAT(client.answer(), is(200)) << i;
}

TEST(Server, gives_pages) {
  const RunningServer running;
  for (int i = 0; i < 5; ++i) ASSERT_THAT(running.ask("POST", "/v1/leases", kLease), is(201));
  const auto first = running.ask("GET", "/v1/leases?limit=2&user=a%20b");
  EXPECT_THAT(first, HasSubstr("Link: </v1/leases?after=2&limit=2&user=a%20b>; rel=\"next\""));
  EXPECT_THAT(running.ask("GET", "/v1/leases?limit=2&after=3"), AllOf(Not(HasSubstr("Link")), HasSubstr("lease-5")));
}

TEST(Server, refuses_what_is_wrong) {
  const RunningServer running;
  const auto problem = HasSubstr("Content-Type: application/problem+json");
  EXPECT_THAT(running.ask("GET", "/v2/gpus"), AllOf(is(404), problem, HasSubstr("not_found")));
  EXPECT_THAT(running.ask("GET", "/v1/leases/a/b/c"), AllOf(is(404), problem));
  EXPECT_THAT(running.ask("PUT", "/v1/leases", kLease),
              AllOf(is(405), problem, HasSubstr("Allow: GET, HEAD, POST\r\n")));
  EXPECT_THAT(running.ask("TRACE", "/v1/gpus"), AllOf(is(405), problem));
  EXPECT_THAT(running.ask("QUERY", "/v1/gpus?x=1"), AllOf(is(405), problem, HasSubstr("Allow: GET, HEAD\r\n")));
  EXPECT_THAT(running.ask("POST", "/v1/leases", kLease, "Idempotency-Key: a b\r\n"), AllOf(is(400), problem));
  EXPECT_THAT(running.ask("POST", "/v1/leases", "{"), AllOf(is(400), problem, HasSubstr("\"invalid\"")));
  EXPECT_THAT(running.ask("POST", "/v1/leases", "{}"), AllOf(is(400), problem));
  EXPECT_THAT(running.ask("POST", "/v1/leases", R"({"requirement": {"profile": "9g.90gb"}})"),
              AllOf(is(409), problem, HasSubstr("no_space"), HasSubstr("GPU 0: full")));
  EXPECT_THAT(running.ask("POST", "/v1/leases", R"({"requirement": {"profile": "throw"}})"), AllOf(is(500), problem));
  EXPECT_THAT(running.ask("GET", "/v1/leases?limit=-1"), AllOf(is(400), problem, HasSubstr("limit")));
  EXPECT_THAT(running.ask("GET", "/v1/leases?limit=1&limit=2"), AllOf(is(400), problem, HasSubstr("twice")));
  EXPECT_THAT(running.ask("GET", "/v1/leases?ende=true"), AllOf(is(400), problem, HasSubstr("did you mean ended?")));
  EXPECT_THAT(running.ask("GET", "/v1/events?after=99999999999999999999"), AllOf(is(400), problem));
  EXPECT_THAT(running.ask("POST", "/v1/leases"), AllOf(is(415), problem));
  EXPECT_THAT(running.ask("POST", "/v1/leases", "", "Content-Type: text/plain\r\nContent-Length: 0\r\n"),
              AllOf(is(415), problem));
}

TEST(Server, survives_hostile_bytes) {
  Options small;
  small.most_body_bytes = 1000;
  const RunningServer running(small);
  const auto raw = [&](const std::string& text) {
    auto client = running.connect();
    client.send(text);
    return client.answer();
  };
  EXPECT_THAT(running.ask("POST", "/v1/leases", std::string(2000, ' ')), AllOf(is(413), HasSubstr("1000 bytes")));
  EXPECT_THAT(
      raw("POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{}"),
      is(413));
  std::string chunked =
      "POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 80; ++i) chunked += "400\r\n" + std::string(1024, ' ') + "\r\n";
  EXPECT_THAT(raw(chunked), is(413));
  EXPECT_THAT(raw("GET /v1/health HTTP/1.1\r\nX: " + std::string(20'000, 'a')), is(431));
  EXPECT_THAT(raw("GET /v1/health HTTP/1.1\r\nX: " + std::string(9000, 'a') + "\r\n\r\n"),
              AllOf(is(431), HasSubstr("a header is longer than 8192 bytes")));
  EXPECT_THAT(raw("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n"), is(414));
  EXPECT_THAT(raw("GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n\r\n"), AllOf(is(414), HasSubstr("8192")));
  EXPECT_THAT(raw(std::string(20'000, 'a')), is(414));
  EXPECT_THAT(raw("GET /v1/leases/" + std::string(3000, 'a') + " HTTP/1.1\r\n\r\n"), is(414));
  EXPECT_THAT(raw("nonsense\r\n\r\n"), is(400));
  EXPECT_THAT(raw("GET /v1/health HTTP/9.9\r\n\r\n"), is(400));
  EXPECT_THAT(raw("POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: x\r\n\r\n"), is(400));
  EXPECT_THAT(raw("POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n{}"),
              is(400));
  EXPECT_THAT(running.ask("GET", "/v1/health"), is(200));
}

TEST(Server, a_slow_client_holds_no_thread) {
  Options few;
  few.threads = 6;
  const RunningServer running(few);
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 50; ++i) {
    slow.push_back(std::make_unique<RawClient>(running.options.socket));
    slow.back()->send("GET /v1/health HTTP/1.1\r\nHo");
  }
  EXPECT_THAT(running.ask("GET", "/v1/health"), is(200));
  slow.front()->send("st: node\r\n\r\n");
  EXPECT_THAT(slow.front()->answer(), is(200));
}

TEST(Server, an_idempotency_key_does_it_once) {
  const RunningServer running;
  const std::string key = "Idempotency-Key: k1\r\n";
  const auto first = running.ask("POST", "/v1/leases", kLease, key);
  const auto again = running.ask("POST", "/v1/leases", kLease, key);
  EXPECT_THAT(first, AllOf(is(201), HasSubstr("lease-1"), Not(HasSubstr("Idempotent-Replayed"))));
  EXPECT_THAT(again, AllOf(is(201), HasSubstr("lease-1"), HasSubstr("Idempotent-Replayed: true")));
  EXPECT_THAT(running.ask("POST", "/v1/leases", R"({"name": "b", "requirement": {"profile": "1g.5gb"}})", key),
              is(422));
  EXPECT_THAT(running.ask("GET", "/v1/leases"), Not(HasSubstr("lease-2")));
}

// So that it knows the request again after a restart, whoever else uses that key.
TEST(Server, the_node_is_told_the_key_of_a_request_for_leases) {
  const RunningServer running;
  running.ask("POST", "/v1/leases", kLease);
  EXPECT_FALSE(running.node.once);
  running.ask("POST", "/v1/leases", kLease, "Idempotency-Key: k1\r\n");
  const auto first = running.node.once;
  running.ask("POST", "/v1/leases", R"({"name": "b", "requirement": {"profile": "1g.5gb"}})",
              "Idempotency-Key: k2\r\n");
  const auto second = running.node.once;
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->key, "uid " + std::to_string(::geteuid()) + " k1");
  EXPECT_EQ(second->key, "uid " + std::to_string(::geteuid()) + " k2");
  EXPECT_NE(first->text, second->text);
}

TEST(Server, if_match_guards_a_layout) {
  const RunningServer running;
  const std::string demand = R"({"demand": {"1g.5gb": 1}})";
  const auto before = running.ask("GET", "/v1/layouts");
  const auto at = before.find("ETag: ") + 6;
  const auto etag = before.substr(at, before.find("\r\n", at) - at);
  EXPECT_THAT(running.ask("GET", "/v1/layouts", "", "If-None-Match: " + etag + "\r\n"), is(304));
  EXPECT_THAT(running.ask("POST", "/v1/apply", demand, "If-Match: \"other\"\r\n"), is(412));
  EXPECT_FALSE(running.node.mode);
  EXPECT_THAT(running.ask("POST", "/v1/apply", demand, "If-Match: " + etag + "\r\n"), is(200));
  EXPECT_TRUE(running.node.mode);
  EXPECT_THAT(running.ask("POST", "/v1/apply", demand, "If-Match: " + etag + "\r\n"), is(412));
}

// Another one changed it between the look at the beginning and the change.
TEST(Server, of_two_with_the_same_layout_one_changes_it) {
  RunningServer running;
  const auto before = running.ask("GET", "/v1/layouts");
  const auto at = before.find("ETag: ") + 6;
  const auto match = "If-Match: " + before.substr(at, before.find("\r\n", at) - at) + "\r\n";
  running.node.before_apply = [&] { running.node.mode = true; };
  const auto refused = running.ask("POST", "/v1/apply", R"({"demand": {"1g.5gb": 1}})", match);
  EXPECT_THAT(refused, AllOf(is(412), HasSubstr("\"differs\""), HasSubstr("ETag: \"")));
  running.node.mode = false;
  auto client = running.connect();
  client.send(RunningServer::text("POST", "/v1/apply", R"({"demand": {"1g.5gb": 1}})",
                                  match + "Accept: application/x-ndjson\r\n"));
  EXPECT_THAT(client.receive("\r\n0\r\n\r\n"), AllOf(HasSubstr("\"differs\""), Not(HasSubstr("\"result\""))));
}

// By a hand that clears /run, say.
TEST(Server, a_socket_that_was_removed_is_made_again) {
  RunningServer running;
  const auto socket = running.options.socket;
  auto client = running.connect();
  std::filesystem::remove(socket);
  for (int i = 0; i < 500 && !std::filesystem::exists(socket); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_THAT(running.ask("GET", "/v1/health"), is(200));
  client.send(RunningServer::text("GET", "/v1/health"));
  EXPECT_THAT(client.answer(), is(200)) << "who was connected stays so";
}

TEST(Server, what_took_the_place_of_its_socket_is_left_alone) {
  RunningServer running;
  const auto socket = running.options.socket;
  std::filesystem::remove(socket);
  running.folder.write("s", "another's");
  running.stop();
  running.server.reset();
  EXPECT_TRUE(std::filesystem::is_regular_file(socket));
}

TEST(Server, apply_tells_its_steps_when_asked) {
  const RunningServer running;
  auto client = running.connect();
  client.send(
      RunningServer::text("POST", "/v1/apply", R"({"demand": {"1g.5gb": 1}})", "Accept: application/x-ndjson\r\n"));
  const auto text = client.receive("\r\n0\r\n\r\n");
  EXPECT_THAT(text, AllOf(is(200), HasSubstr("application/x-ndjson"), HasSubstr("{\"step\":1,\"steps\":1,\"what\":"),
                          HasSubstr("{\"result\":")));
  client.send(RunningServer::text("GET", "/v1/health"));
  EXPECT_THAT(client.answer(), is(200));
}

TEST(Server, streams_events_as_they_come) {
  const RunningServer running;
  ASSERT_THAT(running.ask("POST", "/v1/leases", kLease), is(201));
  ASSERT_THAT(running.ask("POST", "/v1/leases", kLease), is(201));
  auto client = running.connect();
  client.send(RunningServer::text("GET", "/v1/events", "", "Accept: text/event-stream\r\nLast-Event-ID: 1\r\n"));
  const auto text = client.receive("granted\"}\n\n");
  EXPECT_THAT(text, AllOf(HasSubstr("id: 2\nevent: lease.active\ndata: {"), Not(HasSubstr("id: 1\n"))));
}

TEST(Server, streams_are_bounded_and_end_with_the_server) {
  Options few;
  few.threads = 12;  // six streams, two per caller
  few.everyone_administers = true;
  RunningServer running(few);
  const auto stream = RunningServer::text("GET", "/v1/events", "", "Accept: text/event-stream\r\n");
  auto a = running.connect(), b = running.connect(), c = running.connect();
  for (auto* client : {&a, &b}) {
    client->send(stream);
    EXPECT_THAT(client->receive(": partita events\n\n"), AllOf(is(200), HasSubstr("text/event-stream")));
  }
  c.send(stream);
  EXPECT_THAT(c.answer(), AllOf(is(503), HasSubstr("Retry-After")));
  running.stop();
  EXPECT_TRUE(a.ended());
  EXPECT_TRUE(running.result.has_value());
  EXPECT_FALSE(std::filesystem::exists(running.options.socket) && (running.server.reset(), true) &&
               std::filesystem::exists(running.options.socket));
}

TEST(Server, a_long_poll_waits_for_the_first_event) {
  const RunningServer running;
  auto client = running.connect();
  client.send(RunningServer::text("GET", "/v1/events?wait_ms=5000"));
  ASSERT_THAT(running.ask("POST", "/v1/leases", kLease), is(201));
  EXPECT_THAT(client.answer(), AllOf(is(200), HasSubstr("lease.active")));
}

TEST(Server, two_servers_do_not_share_a_socket) {
  RunningServer running;
  NodeInMemory node;
  const auto second = Server::open(node, running.clock, running.options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_THAT(running.ask("GET", "/v1/health"), is(200));
}

TEST(Server, replaces_what_an_ended_server_left) {
  const TestFolder folder;
  Options options;
  options.socket = folder.path() / "s";
  const int left = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, options.socket.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(left, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(left);
  NodeInMemory node;
  const SystemClock clock;
  EXPECT_TRUE(Server::open(node, clock, options));
  folder.write("f", "text");
  options.socket = folder.path() / "f";
  const auto in_the_way = Server::open(node, clock, options);
  ASSERT_FALSE(in_the_way);
  EXPECT_THAT(in_the_way.error().message, HasSubstr("in the way"));
}

TEST(Server, no_tcp_without_tls) {
  const TestFolder folder;
  Options options;
  options.socket = folder.path() / "s";
  options.tcp = TcpOptions{"127.0.0.1:0", "", ""};
  NodeInMemory node;
  const SystemClock clock;
  const auto opened = Server::open(node, clock, options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::invalid);
  EXPECT_THAT(opened.error().message, HasSubstr("no TCP without TLS"));
}

}  // namespace
}  // namespace partita::serve
