// Sockets that clients connect to.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "serve/hub.h"
#include "serve/server.h"

namespace partita::serve {

// A Unix socket at a path, mode 0666. `unavailable` when a server answers there; a left-over file is replaced.
Result<Descriptor> listen_unix(const std::filesystem::path& path);

struct TcpListening {
  Descriptor socket;
  int port = 0;
};
// "127.0.0.1:8443", "[::]:8443", "node7:0".
Result<TcpListening> listen_tcp(const std::string& address);

struct FreeTls {
  void operator()(ssl_ctx_st* tls) const;
};
using Tls = std::unique_ptr<ssl_ctx_st, FreeTls>;
// TLS 1.2 and later.
Result<Tls> open_tls(const TcpOptions& options);

}  // namespace partita::serve
