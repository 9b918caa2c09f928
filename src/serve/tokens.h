// Tokens for callers over TCP: shown once when made, kept as hashes, scoped to a role and a user, revocable, with an
// end. One SQLite database, shared by `partita token` and the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/caller.h"
#include "base/clock.h"
#include "base/error.h"

namespace partita::serve {

enum class Role { viewer, user, administrator };

struct Token {
  std::int64_t id = 0;
  std::string name;  // "ci-runner"
  Role role = Role::viewer;
  std::string user;  // acts as this user; quotas and leases are theirs
  Time made;
  std::optional<Time> expires, revoked, last_used;
};

struct NewToken {
  Token token;
  std::string secret;  // "partita_..." 32 random bytes; never shown again
};

Result<NewToken> create_token(const std::filesystem::path& file, const Token& wanted, Time now);
Result<std::vector<Token>> list_tokens(const std::filesystem::path& file);
Result<void> revoke_token(const std::filesystem::path& file, std::string_view name_or_id, Time now);
// Who a secret stands for; `denied` when unknown, revoked or expired (the same message for all: nothing is given away).
Result<api::Caller> caller_of(const std::filesystem::path& file, std::string_view secret, Time now);

}  // namespace partita::serve
