// Any bytes from a client: each request gets one answer with a length, none of them blames us, and the connection ends.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "fuzz.h"
#include "serve/engine.h"

using namespace partita;

namespace {

class Echo final : public serve::Application {
 public:
  std::optional<serve::Response> refuse(const serve::Request& head, const serve::Peer&) override {
    if (head.path == "/") return std::nullopt;
    return serve::problem({ErrorCode::not_found, "nothing here", {}});
  }
  serve::Response answer(const serve::Request& request, const serve::Peer&) override {
    fuzz::require(request.body.size() <= most_body_bytes() + (64u << 10), "the body is bounded");
    return {};
  }
  std::size_t most_body_bytes() const override { return 1024; }
};

std::string answers_to(std::string_view bytes) {
  static Echo echo;
  static serve::Engine engine(echo, {});
  int ends[2];
  fuzz::require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0, "a pair of sockets");
  (void)!::send(ends[0], bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ::shutdown(ends[0], SHUT_WR);
  {
    serve::Connection connection(ends[1], {0, "unix"}, nullptr);
    while (connection.advance() == serve::Connection::State::ready) {
      if (!engine.answer(connection)) connection.end_when_sent();
    }
  }
  std::string out(1u << 16, '\0');
  const ssize_t got = ::recv(ends[0], out.data(), out.size(), 0);
  ::close(ends[0]);
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 16u << 10;
  const auto answers = answers_to(fuzz::text_of(data, std::min(size, kMost)));
  if (answers.empty()) return 0;
  fuzz::require(answers.starts_with("HTTP/1.1 "), "an answer is HTTP");
  fuzz::require(answers.find("HTTP/1.1 5") == std::string::npos, "bad bytes are no fault of ours");
  return 0;
}
