// The HTTP API of a node, /v1, described by openapi.yaml: on a Unix socket (callers known by peer credentials) and,
// when asked, on TCP with TLS and tokens. Metrics at /metrics. Exposes any api::Node that many threads may call.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "api/node.h"
#include "base/clock.h"
#include "base/error.h"

namespace partita::serve {

struct TcpOptions {
  std::string address;                     // "127.0.0.1:8443", "[::]:8443", port 0: any
  std::filesystem::path certificate, key;  // PEM; both needed: there is no TCP without TLS
};

struct Options {
  std::filesystem::path socket;  // made with mode 0666: who may do what is decided per caller
  std::optional<TcpOptions> tcp;
  std::filesystem::path tokens;       // database of hashed tokens
  bool everyone_administers = false;  // emulated nodes: every local user is an administrator
  std::size_t most_body_bytes = 1u << 20;
  int requests_per_second = 2000;  // per caller, bursts of twice as many; beyond: 429
  int threads = 96;
  int connections = 4096;                        // at most; fewer where the process may open fewer files
  std::function<void(std::string_view)> note{};  // told what happens to the server itself
};

class Server {
 public:
  // Binds the socket (`unavailable` when another server answers on it; a left-over file is replaced), then TCP.
  static Result<std::unique_ptr<Server>> open(api::Node& node, const Clock& clock, const Options& options);
  virtual ~Server() = default;
  // Serves until `stop` is asked, anew where its Unix socket was removed; then no new requests, and those under way are
  // answered.
  virtual Result<void> run(std::stop_token stop) = 0;
  virtual int tcp_port() const = 0;  // 0: none
};

}  // namespace partita::serve
