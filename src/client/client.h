// A node that is served elsewhere: api::Node over HTTP, on a daemon's Unix socket or on TCP with TLS and a token.
// Errors come with their codes as the node gave them. `unavailable` when nobody answers. One request at a time per
// client.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "api/node.h"
#include "base/error.h"

namespace partita::client {

struct Remote {
  std::string url;                                 // "https://node7:8443"
  std::string token;                               // of `partita token create`
  std::optional<std::filesystem::path> authority;  // PEM; nullopt: the system's
};

Result<std::unique_ptr<api::Node>> connect(const std::filesystem::path& socket);
Result<std::unique_ptr<api::Node>> connect(const Remote& remote);

}  // namespace partita::client
