// From a request to a route: who asks, may they, how often; and what every answer goes through. One per thread; what
// they share is thread safe.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "serve/engine.h"
#include "serve/idempotency.h"
#include "serve/login.h"
#include "serve/rate.h"
#include "serve/route.h"
#include "serve/token_table.h"

namespace partita::serve {

// Tokens as the server asks for them; the file may appear later.
class TokenBook {
 public:
  TokenBook(std::filesystem::path file, const Clock& clock) : file_(std::move(file)), clock_(clock) {}
  Result<api::Caller> caller_of(std::string_view secret);

 private:
  std::filesystem::path file_;
  const Clock& clock_;
  std::mutex mutex_;
  std::optional<TokenTable> table_;
};

struct Shared {
  Service service;
  Login login;
  TokenBook tokens;
  RateLimit rate, strangers;
  Idempotency idempotency;
  std::size_t most_body_bytes;
};

class Session final : public Application {
 public:
  explicit Session(Shared& shared) : shared_(shared) {}
  std::optional<Response> refuse(const Request& head, const Peer& peer) override;
  Response answer(const Request& request, const Peer& peer) override;
  std::size_t most_body_bytes() const override { return shared_.most_body_bytes; }

 private:
  std::optional<Response> refuse_head(const Request& head, const Peer& peer);
  std::optional<Response> identify(const Request& head, const Peer& peer);
  Response run(const Request& request, const Peer& peer);

  Shared& shared_;
  Match match_;
  api::Caller caller_;
  std::string who_;
};

}  // namespace partita::serve
