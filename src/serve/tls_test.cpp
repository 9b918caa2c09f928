// TCP: only with TLS and a token.
#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <openssl/ssl.h>

#include <array>
#include <cstdlib>

#include "serve/test_support.h"
#include "serve/tokens.h"

namespace partita::serve {
namespace {

using ::testing::HasSubstr;

struct Tls : ::testing::Test {
  static Options with_certificate(const std::filesystem::path& folder) {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj "
        "/CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout " +
        (folder / "key.pem").string() + " -out " + (folder / "cert.pem").string() + " >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("openssl made no certificate");
    Options options;
    options.tcp = TcpOptions{"127.0.0.1:0", folder / "cert.pem", folder / "key.pem"};
    return options;
  }
  std::string token(Role role) {
    Token wanted;
    wanted.name = "t" + std::to_string(++tokens);
    wanted.role = role;
    wanted.user = "root";
    return value(create_token(running.options.tokens, wanted, running.clock.now())).secret;
  }
  std::unique_ptr<httplib::SSLClient> client(const std::string& secret = "") {
    auto out = std::make_unique<httplib::SSLClient>("127.0.0.1", running.server->tcp_port());
    out->set_ca_cert_path((certificates.path() / "cert.pem").c_str());
    out->enable_server_certificate_verification(true);
    if (!secret.empty()) out->set_bearer_token_auth(secret.c_str());
    return out;
  }

  TestFolder certificates;
  RunningServer running{with_certificate(certificates.path())};
  int tokens = 0;
};

TEST_F(Tls, needs_a_token) {
  const auto refused = client()->Get("/v1/gpus");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 401);
  EXPECT_EQ(refused->get_header_value("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(client("partita_1_00")->Get("/v1/gpus")->status, 401);
  EXPECT_EQ(client(token(Role::viewer))->Get("/v1/gpus")->status, 200);
  EXPECT_EQ(client()->Get("/v1/health")->status, 200);
  EXPECT_EQ(client()->Get("/metrics")->status, 401);
}

TEST_F(Tls, keeps_roles_apart) {
  const std::string lease = R"({"requirement": {"profile": "1g.5gb"}})", apply = R"({"demand": {"1g.5gb": 1}})";
  const auto status = [&](Role role, const std::string& path, const std::string& body) {
    return client(token(role))->Post(path.c_str(), body, "application/json")->status;
  };
  EXPECT_EQ(status(Role::viewer, "/v1/plan", apply), 200);
  EXPECT_EQ(status(Role::viewer, "/v1/leases", lease), 403);
  EXPECT_EQ(status(Role::user, "/v1/leases", lease), 201);
  EXPECT_EQ(status(Role::user, "/v1/apply", apply), 403);
  EXPECT_EQ(status(Role::administrator, "/v1/apply", apply), 200);
}

TEST_F(Tls, a_revoked_token_ends_at_once) {
  const auto secret = token(Role::user);
  auto one = client(secret);
  one->set_keep_alive(true);
  EXPECT_EQ(one->Get("/v1/leases")->status, 200);
  value(revoke_token(running.options.tokens, "t1", running.clock.now()));
  EXPECT_EQ(one->Get("/v1/leases")->status, 401);
}

TEST_F(Tls, strangers_are_slowed_down) {
  auto stranger = client("partita_1_" + std::string(64, '0'));
  stranger->set_keep_alive(true);
  int last = 0;
  for (int i = 0; i < 200 && last != 429; ++i) last = stranger->Get("/v1/gpus")->status;
  EXPECT_EQ(last, 429);
}

TEST_F(Tls, hooks_and_processes_stay_local) {
  const auto secret = token(Role::administrator);
  const auto hooks = client(secret)->Post(
      "/v1/apply", R"({"demand": {"1g.5gb": 1}, "options": {"hooks": {"apply-start": [{"command": "true"}]}}})",
      "application/json");
  EXPECT_EQ(hooks->status, 403);
  EXPECT_EQ(running.node.hooks, 0U);
  const auto attach = client(secret)->Post("/v1/leases/a/attach", R"({"process": {"pid": 1, "start_time_ticks": 1}})",
                                           "application/json");
  EXPECT_EQ(attach->status, 403);
}

// A connection that says so many bytes and then nothing.
class Silent {
 public:
  Silent(int port, const std::string& said) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect");
    (void)!::send(socket_, said.data(), said.size(), MSG_NOSIGNAL);
  }
  ~Silent() { ::close(socket_); }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;
  int get() const { return socket_; }

 private:
  int socket_;
};

TEST_F(Tls, who_agrees_on_no_keys_holds_nobody_up) {
  std::vector<std::unique_ptr<Silent>> silent;
  const std::string hello_begins("\x16\x03\x01\x02\x00\x01", 6);
  for (int i = 0; i < 200; ++i)
    silent.push_back(std::make_unique<Silent>(running.server->tcp_port(), i % 2 == 0 ? "" : hello_begins));
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(client(token(Role::viewer))->Get("/v1/gpus")->status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
}

// Over one connection each, with keys agreed on: half a head, half a body, answers that nobody takes.
TEST_F(Tls, who_is_slow_with_keys_agreed_on_holds_nobody_up) {
  const auto secret = token(Role::user);
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(::SSL_CTX_new(::TLS_client_method()), ::SSL_CTX_free);
  std::vector<std::unique_ptr<Silent>> sockets;
  std::vector<std::unique_ptr<SSL, void (*)(SSL*)>> slow;
  const std::string authorized = "Authorization: Bearer " + secret + "\r\n";
  std::string many;
  for (int i = 0; i < 200; ++i) many += RunningServer::text("GET", "/v1/openapi", "", authorized);
  const std::array<std::string, 3> said{
      "GET /v1/health HTTP/1.1\r\nHo",
      "POST /v1/leases HTTP/1.1\r\n" + authorized + "Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
      many};
  for (std::size_t i = 0; i < 150; ++i) {
    sockets.push_back(std::make_unique<Silent>(running.server->tcp_port(), ""));
    slow.emplace_back(::SSL_new(context.get()), ::SSL_free);
    ::SSL_set_fd(slow.back().get(), sockets.back()->get());
    ASSERT_EQ(::SSL_connect(slow.back().get()), 1);
    const auto& text = said[i % said.size()];
    ASSERT_GT(::SSL_write(slow.back().get(), text.data(), static_cast<int>(text.size())), 0);
  }
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(client(token(Role::viewer))->Get("/v1/gpus")->status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
}

TEST_F(Tls, plain_text_gets_nothing) {
  httplib::Client plain("127.0.0.1", running.server->tcp_port());
  EXPECT_FALSE(plain.Get("/v1/health"));
  EXPECT_EQ(client()->Get("/v1/health")->status, 200);
}

}  // namespace
}  // namespace partita::serve
