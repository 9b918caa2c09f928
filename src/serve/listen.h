// Sockets that clients connect to.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "serve/hub.h"
#include "serve/server.h"

namespace partita::serve {

// A Unix socket at a path, mode 0666. `unavailable` when a server answers there; a left-over file is replaced.
Result<Descriptor> listen_unix(const std::filesystem::path& path);

// What a path names, to be told apart from what may take its place; nullopt: nothing is there.
using FileId = std::pair<dev_t, ino_t>;
std::optional<FileId> file_at(const std::filesystem::path& path);

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
// What clients will refuse it for: "the certificate has expired"; "" when its time is right.
std::string out_of_time(const Tls& tls);

}  // namespace partita::serve
