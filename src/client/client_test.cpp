#include "client/client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

#include "base/test_folder.h"
#include "client/progress_line.h"

namespace partita::client {
namespace {

TEST(Client, NobodyAnswersIsUnavailable) {
  const auto node = connect(std::filesystem::path("/nonexistent/partita.sock"));
  ASSERT_TRUE(node);
  const auto status = (*node)->status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::unavailable);
  EXPECT_NE(status.error().message.find("/nonexistent/partita.sock"), std::string::npos);
}

TEST(Client, SaysWhyADaemonCannotBeReached) {
  const TestFolder folder;
  const auto plain = folder.path() / "plain", left = folder.path() / "left";
  std::ofstream(plain) << "text";
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{AF_UNIX, {}};
  left.native().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(socket);  // as a daemon that was killed leaves it
  for (const auto& [path, why] : {std::pair(folder.path() / "none", "no such socket"), std::pair(plain, "is no socket"),
                                  std::pair(left, "nobody answers: the daemon has ended")})
    EXPECT_NE(connect(path).value()->status().error().message.find(why), std::string::npos) << path;
}

TEST(Client, LongSocketPathsAreRefused) {
  const auto node = connect(std::filesystem::path("/" + std::string(200, 'a')));
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().code, ErrorCode::invalid);
}

TEST(Client, OnlyTlsAddressesAreTaken) {
  for (const auto* url : {"http://node7:8443", "node7", "https://", "https://node7:0", "https://node7:65536",
                          "https://node7:84x", "https://user@node7", "https://node7/path", "https://[::1"}) {
    const auto node = connect(Remote{url, "partita_x", std::nullopt});
    ASSERT_FALSE(node) << url;
    EXPECT_EQ(node.error().code, ErrorCode::invalid) << url;
  }
  for (const auto* url : {"https://node7", "https://node7:8443/", "https://[::1]:8443"})
    EXPECT_TRUE(connect(Remote{url, "partita_x", std::nullopt})) << url;
  EXPECT_FALSE(connect(Remote{"https://node7", "two\nlines", std::nullopt}));
}

struct Told final : Progress {
  std::vector<std::string> lines;
  void step(int done, int total, std::string_view what) override {
    lines.push_back(std::to_string(done) + "/" + std::to_string(total) + " " + std::string(what));
  }
  void note(std::string_view line) override { lines.emplace_back(line); }
};

TEST(Client, ProgressLinesAreTold) {
  Told told;
  EXPECT_FALSE(tell_line(R"({"step": 1, "steps": 3, "what": "GPU 3: create"})", told));
  EXPECT_FALSE(tell_line(R"({"note": "waiting"})", told));
  EXPECT_FALSE(tell_line("no JSON", told));
  EXPECT_FALSE(tell_line(R"({"step": "x"})", told));
  EXPECT_EQ(told.lines, (std::vector<std::string>{"1/3 GPU 3: create", "waiting", "0/0 "}));
  const auto result = tell_line(R"({"result": {"a": 1}})", told);
  ASSERT_TRUE(result && *result);
  EXPECT_EQ(**result, R"({"a":1})");
  const auto error = tell_line(R"({"error": {"code": "busy", "message": "held", "details": []}})", told);
  ASSERT_TRUE(error && !*error);
  EXPECT_EQ(error->error().code, ErrorCode::busy);
}

}  // namespace
}  // namespace partita::client
